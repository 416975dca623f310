"""The presenter's client against the real engine: what the fake one imitates is what the engine says."""

from __future__ import annotations

import asyncio

import pytest

from present_kit import make_fast_set
from slides.twin import one_request
from spanreel.present.client import Question
from spanreel.present.engine import engine_command
from spanreel.present.rehearsal import run_once
from spanreel.present.server import Stage
from traces import load_set

pytestmark = [pytest.mark.slow, pytest.mark.engine]
NUM_TOKENS = 6


def test_a_real_run_tells_every_stage_and_token(tmp_path):
    """Stages up to the first token touch from zero on, one decode a further token, all within the request."""
    trace_set = load_set(make_fast_set(tmp_path))
    stage = Stage(
        deck_page=b"",
        question=Question("Name three colours.", NUM_TOKENS),
        span_types={each.name: each for each in trace_set.experiment("e23").span_types},
        recorded_e2e_ns=one_request(trace_set)["e2e_ns"],
        engine_command=engine_command(),
    )
    run = asyncio.run(run_once(stage, lambda _line: None))
    names = [span.name for span in run.spans]
    assert names[:9] == ["prepare", "connect", "request", "receive", "template", "encode", "route", "submit", "queue"]
    ends = [span.start_ns + span.duration_ns for span in run.spans]
    assert [span.start_ns for span in run.spans[:9]] == [0, *ends[:8]]
    assert names.count("decode") == NUM_TOKENS - 1
    assert max(ends) <= run.end.e2e_ns
    assert run.end.ttft_ns == run.tokens[0].t_ns
    assert "".join(token.text for token in run.tokens).strip()
