"""What an experiment found, in lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from traces import Experiment
from traces.outcomes import CLAIMS, outcomes
from traces.outcomes.foretold import foretold
from traces.outcomes.wording import foretold_line, outcome_line


def outcome_lines(experiment: Experiment) -> Iterator[str]:
    """Yield a line for the prediction, one for each claim that the experiment answers, and one for what failed."""
    arms = foretold(experiment)
    if arms:
        yield foretold_line(arms)
    for outcome in outcomes(experiment, CLAIMS.get(experiment.id, [])):
        yield outcome_line(outcome)
    requests = [request for arm in experiment.arms for run in arm.runs for request in run.requests]
    failed = sum(request.finish_reason == "error" for request in requests)
    if failed:
        yield f"{failed} of {len(requests)} requests were refused or failed"
