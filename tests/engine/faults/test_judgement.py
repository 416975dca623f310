"""How replies and findings are judged: a stream without its one terminal event is never taken for a good one."""

from __future__ import annotations

import json

import pytest

from demo_engine.errors import UsageError
from demo_engine.faults import command
from demo_engine.faults.asking import Reply, ending_of
from demo_engine.faults.findings import Fault, Findings, percentile

TEXT = 'data: {"choices":[{"text":"a","finish_reason":null}]}\n\n'
LAST = 'data: {"choices":[{"text":"","finish_reason":"length"}]}\n\n'
ERROR = 'data: {"error":{"message":"lost"}}\n\n'
DONE = "data: [DONE]\n\n"


@pytest.mark.parametrize(
    ("stream", "ending"),
    [
        (TEXT + LAST + DONE, "finished"),
        (": span {}\n\n" + TEXT + ERROR + DONE, "error"),
        (ERROR + DONE, "error"),
        ("", "0 times [DONE]"),
        (TEXT, "0 times [DONE]"),
        (TEXT + LAST, "0 times [DONE]"),
        (TEXT + LAST + DONE + DONE, "2 times [DONE]"),
        (TEXT + DONE, "0 errors and 0 finish reasons"),
        (TEXT + LAST + ERROR + DONE, "1 errors and 1 finish reasons"),
        (DONE + LAST, "1 times [DONE]"),
    ],
)
def test_a_stream_has_one_terminal_event_and_then_done(stream, ending):
    """Anything else is told in words."""
    assert ending_of(stream) == ending


@pytest.mark.parametrize(
    ("reply", "ending"),
    [
        (Reply(503, "", retry_after="2"), "refused"),
        (Reply(429, "", retry_after="1"), "refused"),
        (Reply(503, ""), "refused for good"),
        (Reply(503, "", retry_after="0"), "refused for good"),
        (Reply(500, "oh"), "status 500: oh"),
        (Reply(0, "reset"), "status 0: reset"),
    ],
)
def test_a_refusal_says_when_to_come_again(reply, ending):
    """Without a time it is another thing, and so is no answer at all."""
    assert reply.ending == ending


def test_a_percentile_is_a_sample_below_which_that_share_lies():
    """Of a hundred samples the 99th percentile is the last but none."""
    samples = [float(number) for number in range(100)]
    assert (percentile(samples, 0.99), percentile(samples, 0.5), percentile([], 0.99)) == (99, 50, 0)


@pytest.mark.parametrize(
    ("findings", "exit_code", "word"),
    [
        (Findings("3 seen"), 0, "| ok"),
        (Findings("3 seen", broken=["a block was left"]), 1, "NOT OK: a block was left"),
        (Findings("3 seen", late=["p99 60 ms"]), 1, "NOT OK: p99 60 ms"),
    ],
)
def test_each_fault_is_one_line_and_a_broken_promise_an_exit_code(findings, exit_code, word, monkeypatch, capsys):
    """What was done, expected and seen stand beside each other, in words or as JSON."""

    async def make(model, size):
        assert (model, size) == ("folder", 5)
        return findings

    monkeypatch.setattr(command, "FAULTS", [Fault("storm", "{} winds", "calm", make, 50, 5)])
    assert command.make_faults("folder", [], quick=True, as_json=False) == exit_code
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("storm: 5 winds | calm | 3 seen | ")
    assert word in line
    assert command.make_faults("folder", ["storm"], quick=True, as_json=True) == exit_code
    assert json.loads(capsys.readouterr().out)["ok"] is findings.ok


def test_a_fault_that_there_is_not_is_a_usage_error():
    """The message has the name and those that there are; nothing is done."""
    with pytest.raises(UsageError, match=r"'storm'; choose from: burst, .*draining"):
        command.make_faults("folder", ["storm"], quick=True, as_json=False)
