"""A run on several replicas: each request belongs to one, whose steps alone explain its path."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from trace_factory import MS, make_experiment, make_run, make_set
from traces import Run, TraceError, load_set, request_path
from traces.check import check_experiment
from traces.export.perfetto import perfetto_json
from traces.export.selection import select_runs
from traces.schema import Steps


def two_replicas() -> Run:
    """Return a run whose first request was served by the first replica and whose second by another, slower one."""
    fast, slow = make_run(tokens=3), make_run(tokens=3, decode_ns=200 * MS, request_id="r8")
    (moved,) = slow.requests
    return replace(fast, requests=[*fast.requests, replace(moved, replica=1)], more_steps=[slow.steps])


def test_a_path_is_made_of_the_steps_of_its_own_replica() -> None:
    """Each request has the path that it has in a run of its own."""
    alone = [make_run(tokens=3), make_run(tokens=3, decode_ns=200 * MS, request_id="r8")]
    run = two_replicas()
    experiment = make_experiment(run)
    check_experiment(experiment, Path("set"))
    for request, single in zip(run.requests, alone, strict=True):
        assert request_path(experiment, run, request) == request_path(experiment, single, single.requests[0])


@pytest.mark.parametrize("number", [-1, 2])
def test_a_replica_without_steps_is_refused(number: int) -> None:
    """A request that names one says that the trace is not whole."""
    run = two_replicas()
    broken = replace(run, requests=[replace(run.requests[0], replica=number)])
    with pytest.raises(TraceError, match=f"replica {number}"):
        check_experiment(make_experiment(broken), Path("set"))


def test_tokens_must_name_steps_of_their_own_replica() -> None:
    """A request whose tokens come from another replica's steps is refused, and so is a step that overlaps another."""
    run = two_replicas()
    swapped = replace(run, requests=[replace(request, replica=1 - request.replica) for request in run.requests])
    with pytest.raises(TraceError, match="did not run it"):
        check_experiment(make_experiment(swapped), Path("set"))
    overlapping = replace(run.more_steps[0], start_ns=[0] * len(run.more_steps[0].start_ns))
    with pytest.raises(TraceError, match="starts before"):
        check_experiment(make_experiment(replace(run, more_steps=[overlapping])), Path("set"))


def test_a_replica_that_served_nothing_has_no_steps() -> None:
    """The first replica may have been idle."""
    run = two_replicas()
    alone = replace(run, requests=run.requests[1:], steps=Steps())
    check_experiment(make_experiment(alone, request_id="r8"), Path("set"))


def test_each_replica_has_a_track_of_its_own_in_an_export(tmp_path: Path) -> None:
    """Steps of different replicas overlap in time, so they are drawn one under the other, requests below them."""
    trace_set = load_set(make_set(tmp_path, make_experiment(two_replicas())))
    events = json.loads(perfetto_json(trace_set, select_runs(trace_set)))["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert names == {
        1: "engine steps of replica 0", 2: "engine steps of replica 1", 3: "r7 subject", 4: "r8 subject",
    }  # fmt: skip
    steps = [event["tid"] for event in events if event.get("cat") == "step" and event["tid"] in (1, 2)]
    assert steps == [1] * 4 + [2] * 4
    counters = {event["name"] for event in events if event["ph"] == "C"}
    assert {"running of replica 0", "running of replica 1"} <= counters
