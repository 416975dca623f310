"""The invariants of a trace, checked on load, in tests and by ``spanreel traces check``."""

from __future__ import annotations

import itertools
from pathlib import Path

from traces.errors import TraceError
from traces.schema import COMPONENTS, Experiment, Request, Run, SpanRow, Steps
from traces.spans import request_path

UNATTRIBUTED_FLOOR_NS = 1_000_000
UNATTRIBUTED_SHARE = {"one-request": 0.01}
UNATTRIBUTED_SHARE_ELSEWHERE = 0.03
COLUMN_LIMIT = 1_000_000
_OPTIONAL_COLUMNS = frozenset({"mask_ns", "draft_tokens", "accepted_tokens"})


def check_experiment(experiment: Experiment, where: Path) -> None:
    """Check every arm, run and request.

    Args:
        experiment: What was decoded.
        where: The file, for the message.

    Raises:
        TraceError: The first invariant that does not hold.
    """
    try:
        if not experiment.arms:
            raise TraceError("no arm")
        names = [span_type.name for span_type in experiment.span_types]
        if len(set(names)) != len(names):
            raise TraceError("a span type is listed twice")
        for arm in experiment.arms:
            for run in arm.runs:
                _check_run(experiment, run)
            _check_exemplar(arm.runs, arm.exemplar.run, arm.exemplar.request_id)
    except TraceError as error:
        raise TraceError(f"{where}: {error}; record it again with: spanreel profile") from error


def unattributed_limit_ns(experiment: Experiment, e2e_ns: int) -> int:
    """Return how much of a request may stay without a name: max(1 ms, 1 %) for one request, 3 % elsewhere."""
    share = UNATTRIBUTED_SHARE.get(experiment.name, UNATTRIBUTED_SHARE_ELSEWHERE)
    return max(UNATTRIBUTED_FLOOR_NS, int(e2e_ns * share))


def unattributed_faults(experiment: Experiment) -> list[str]:
    """Return one line for each measured request whose unattributed time is above the limit."""
    faults = []
    for arm in experiment.arms:
        for run in arm.runs:
            for request in run.requests:
                path = request_path(experiment, run, request)
                if request.phase != "measure" or not path:
                    continue
                nameless_ns = sum(span.duration_ns for span in path if span.name == "unattributed")
                limit_ns = unattributed_limit_ns(experiment, path[-1].end_ns)
                if nameless_ns > limit_ns:
                    faults.append(
                        f"{experiment.id} arm {arm.id} request {request.id}: "
                        f"{nameless_ns} ns unattributed, limit {limit_ns} ns"
                    )
    return faults


def _check_exemplar(runs: list[Run], index: int, request_id: str) -> None:
    if not 0 <= index < len(runs) or all(request.id != request_id for request in runs[index].requests):
        raise TraceError(f"exemplar {request_id!r} of run {index} does not exist")


def _check_run(experiment: Experiment, run: Run) -> None:
    if run.clock.end_perf_ns < run.clock.start_perf_ns:
        raise TraceError("the run's clock went backwards")
    for steps in run.replica_steps:
        _check_steps(steps)
    ids = [request.id for request in run.requests]
    if len(set(ids)) != len(ids):
        raise TraceError("two requests of a run share an id")
    for request in run.requests:
        _check_request(experiment, run, request)


def _check_steps(steps: Steps) -> None:
    columns = {name: getattr(steps, name) for name in Steps.__struct_fields__ if isinstance(getattr(steps, name), list)}
    lengths = {name: len(column) for name, column in columns.items() if column or name not in _OPTIONAL_COLUMNS}
    if len(set(lengths.values())) > 1:
        raise TraceError(f"step columns differ in length: {lengths}")
    if lengths["start_ns"] > COLUMN_LIMIT:
        raise TraceError(f"more than {COLUMN_LIMIT} steps")
    for name, column in columns.items():
        if column and isinstance(column[0], int) and min(column) < 0:
            raise TraceError(f"negative value in step column {name}")
    end_ns = 0
    for index, start_ns in enumerate(steps.start_ns):
        if start_ns < end_ns:
            raise TraceError(f"step {index} starts before the step before it ends")
        end_ns = start_ns + sum(
            column[index] for column in (steps.plan_ns, steps.forward_ns, steps.sample_ns, steps.emit_ns)
        )


def _check_request(experiment: Experiment, run: Run, request: Request) -> None:
    if request.intended_start_ns < 0:
        raise TraceError(f"request {request.id}: negative intended start")
    if not 0 <= request.replica < len(run.replica_steps):
        raise TraceError(f"request {request.id}: no steps of replica {request.replica}")
    for index, row in enumerate(request.spans):
        _check_row(experiment, request, index, row)
    _check_tokens(run, request)
    path = request_path(experiment, run, request)
    for span in path:
        if span.component not in COMPONENTS:
            raise TraceError(f"request {request.id}: unknown component {span.component!r}")
    if request.phase == "measure" and not path and request.finish_reason not in ("error", "cancelled"):
        raise TraceError(f"request {request.id}: no span")


def _check_row(experiment: Experiment, request: Request, index: int, row: SpanRow) -> None:
    if not 0 <= row.type < len(experiment.span_types):
        raise TraceError(f"request {request.id}: span {index} has unknown type {row.type}")
    name = experiment.span_types[row.type].name
    if row.duration_ns < 0 or row.start_ns < 0:
        raise TraceError(f"request {request.id}: span {name} has start {row.start_ns}, duration {row.duration_ns} ns")
    if row.parent >= 0:
        if row.parent >= len(request.spans) or row.parent == index:
            raise TraceError(f"request {request.id}: span {name} has unknown parent {row.parent}")
        parent = request.spans[row.parent]
        slack_ns = experiment.span_types[row.type].uncertainty_ns
        if (
            row.start_ns < parent.start_ns - slack_ns
            or row.start_ns + row.duration_ns > parent.start_ns + parent.duration_ns + slack_ns
        ):
            raise TraceError(f"request {request.id}: span {name} leaves its parent by more than {slack_ns} ns")


def _check_tokens(run: Run, request: Request) -> None:
    tokens, steps = request.tokens, run.steps_of(request)
    columns = (tokens.step, tokens.sample_ns, tokens.detok_ns, tokens.write_ns, tokens.recv_gap_ns)
    if {len(column) for column in columns} != {request.num_output_tokens}:
        raise TraceError(f"request {request.id}: token columns are not {request.num_output_tokens} long")
    if len(tokens.proxy_ns) not in (0, request.num_output_tokens):
        raise TraceError(f"request {request.id}: token column proxy_ns is neither empty nor whole")
    if request.token_texts is not None and len(request.token_texts) != request.num_output_tokens:
        raise TraceError(f"request {request.id}: token texts are not {request.num_output_tokens}")
    for index, step in enumerate(tokens.step):
        if not 0 <= step < len(steps.start_ns):
            raise TraceError(f"request {request.id}: token {index} names step {step}, which does not exist")
        if request.id not in steps.request_ids[step]:
            raise TraceError(f"request {request.id}: token {index} names step {step}, which did not run it")
    for name in ("step", "sample_ns"):
        column = getattr(tokens, name)
        if any(later < earlier for earlier, later in itertools.pairwise(column)):
            raise TraceError(f"request {request.id}: token column {name} goes backwards")
    if any(gap < 0 for gap in tokens.recv_gap_ns):
        raise TraceError(f"request {request.id}: a token was received before the one before it")
