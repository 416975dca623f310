"""Binding names resolve to the measurement that they say, and to nothing else."""

from __future__ import annotations

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace_factory import MS, make_experiment, make_run
from traces import TraceError
from traces.bindings import Measured, Subject


@pytest.fixture(scope="module")
def subject() -> Subject:
    """One request of four tokens."""
    return Subject.exemplar(make_experiment(make_run(tokens=4)), "A")


def test_a_span_id_resolves_to_its_span(subject: Subject) -> None:
    """Every span of the path is found by its id, with its place."""
    for span in subject.path:
        assert subject.resolve(span.id) == Measured(span.duration_ns, span.start_ns)


def test_first_token_and_the_rest_make_the_whole(subject: Subject) -> None:
    """Time to first token and the time after it touch, and sum to the end-to-end time."""
    first, rest, whole = (subject.resolve(f"r7/{name}") for name in ("ttft", "after_first", "e2e"))
    assert (first.start_ns, rest.start_ns, whole.start_ns) == (0, first.value, 0)
    assert first.value + rest.value == whole.value


def test_the_formula_of_the_talk_holds(subject: Subject) -> None:
    """TTFT + (N − 1) × TPOT is the end-to-end time."""
    tpot = subject.resolve("r7/tpot")
    assert tpot.start_ns is None
    assert subject.resolve("r7/ttft").value + 3 * tpot.value == pytest.approx(subject.resolve("r7/e2e").value, abs=1e-3)


def test_token_bindings_are_instants_of_reception(subject: Subject) -> None:
    """Token 0 arrives at TTFT, the last one at the end, and they have no length."""
    tokens = [subject.resolve(f"r7/token/{index}") for index in range(4)]
    assert [token.value for token in tokens] == [0, 0, 0, 0]
    assert tokens[0].start_ns == subject.resolve("r7/ttft").value
    assert tokens[3].start_ns == subject.resolve("r7/e2e").value


def test_sums_by_stage_and_by_name_add_up(subject: Subject) -> None:
    """The sum over all components is the whole; a sum over names counts each span once."""
    stages = "+".join({span.component for span in subject.path})
    assert subject.resolve(f"r7/stages/{stages}") == Measured(subject.path[-1].end_ns, 0)
    decode = [span for span in subject.path if span.name == "decode"]
    assert subject.resolve("r7/names/decode+prefill").value == 850 * MS + sum(span.duration_ns for span in decode)
    assert subject.resolve("r7/names/nothing") == Measured(0, None)


def test_counts_and_beginnings(subject: Subject) -> None:
    """Counts are of spans or tokens; ``before`` ends where the first span of a name starts."""
    assert subject.resolve("r7/count/decode").value == 3
    assert subject.resolve("r7/count/tokens").value == 4
    assert subject.resolve("r7/before/prefill") == Measured(subject.spans_by_id["r7/prefill/0"].start_ns, 0)


def test_an_extent_runs_from_the_first_span_to_the_last(subject: Subject) -> None:
    """What lies between the named spans is inside, so it is at least their sum."""
    extent = subject.resolve("r7/extent/decode")
    steps = [span for span in subject.path if span.name == "decode"]
    assert extent == Measured(steps[-1].end_ns - steps[0].start_ns, steps[0].start_ns)
    assert extent.value > subject.resolve("r7/names/decode").value


def test_a_mean_is_the_sum_over_the_count(subject: Subject) -> None:
    """Mean, count and sum of a span's name agree; there is one interval less than tokens."""
    mean, count, total = (subject.resolve(f"r7/{name}/decode").value for name in ("mean", "count", "names"))
    assert mean * count == pytest.approx(total)
    assert subject.resolve("r7/intervals").value == subject.resolve("r7/count/tokens").value - 1


@pytest.mark.parametrize(
    "binding",
    [
        "",
        "r7",
        "r7/",
        "r8/e2e",
        "r7/decode/3",
        "r7/decode",
        "r7/token/4",
        "r7/token/-1",
        "r7/token/x",
        "r7/before/tea",
        "r7/extent/tea",
        "r7/mean/tea",
    ],
)
def test_a_name_that_names_nothing_is_refused(subject: Subject, binding: str) -> None:
    """The message repeats the name."""
    with pytest.raises(TraceError, match="binding"):
        subject.resolve(binding)


@given(st.text(max_size=20))
def test_any_text_is_resolved_or_refused(text: str) -> None:
    """No name, however odd, ends in anything but a measurement or a TraceError."""
    subject = Subject.exemplar(make_experiment(make_run(tokens=1)), "A")
    for binding in (text, f"r7/{text}"):
        with contextlib.suppress(TraceError):
            assert subject.resolve(binding).value >= 0


def test_a_metric_that_needs_more_tokens_is_refused() -> None:
    """Time per output token does not exist for one token."""
    with pytest.raises(TraceError, match="1 tokens, 2 needed"):
        Subject.exemplar(make_experiment(make_run(tokens=1)), "A").resolve("r7/tpot")


def test_an_unknown_arm_is_named() -> None:
    """An arm that was not recorded says how to record it."""
    with pytest.raises(TraceError, match="no arm 'B'; record it with: spanreel profile"):
        Subject.exemplar(make_experiment(make_run()), "B")


def test_a_measurement_that_was_not_steady_is_known():
    """Odd and even runs that disagree are unstable; runs that agree, and too few to tell, are not."""
    steady = [make_run(decode_ns=95 * MS + n * MS // 10) for n in range(6)]
    drifting = [make_run(decode_ns=(95 if n % 2 else 160) * MS) for n in range(6)]
    assert not Subject.exemplar(make_experiment(*steady), "A").is_unstable
    assert Subject.exemplar(make_experiment(*drifting), "A").is_unstable
    assert not Subject.exemplar(make_experiment(*drifting[:2]), "A").is_unstable


def test_warm_ups_and_failures_are_not_in_the_sample():
    """Only measured requests that were answered stand behind a picture."""
    runs = [make_run() for _ in range(4)]
    runs[0] = _changed(runs[0], phase="warmup")
    runs[1] = _changed(runs[1], finish_reason="error")
    assert len(Subject.exemplar(make_experiment(*runs), "A").sample_ns) == 2


def _changed(run, **changes):
    return msgspec.structs.replace(run, requests=[msgspec.structs.replace(run.requests[0], **changes)])
