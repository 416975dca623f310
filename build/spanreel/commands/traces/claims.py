"""``spanreel traces claims``: what the experiments answer, and whether a second set answers alike."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from spanreel import paths
from traces import load_set
from traces.outcomes import CLAIMS, Outcome, outcomes
from traces.outcomes.agreement import Agreement, agreements
from traces.outcomes.foretold import foretold
from traces.outcomes.wording import foretold_line, outcome_line


@click.command("claims")
@click.argument("name", metavar="[SET]", required=False)
@click.argument("other", metavar="[OTHER]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show_claims(name: str | None, other: str | None, as_json: bool) -> None:
    """Show each optimization's gains and costs as a set answers them; with OTHER, whether both sets agree in sign."""
    trace_set = load_set(paths.set_dir(name))
    if other is not None:
        _show_agreement(list(agreements(trace_set, load_set(paths.set_dir(other)))), as_json=as_json)
        return
    found = {
        experiment.id: outcomes(experiment, CLAIMS.get(experiment.id, []))
        for experiment in trace_set.experiments.values()
    }
    if as_json:
        rows = [_row(experiment_id, outcome) for experiment_id, each in found.items() for outcome in each]
        guesses = [
            {"experiment": experiment.id, "hit": arm.is_hit, "ratio": arm.ratio} | asdict(arm)
            for experiment in trace_set.experiments.values()
            for arm in foretold(experiment)
        ]
        click.echo(json.dumps({"set": trace_set.name, "claims": rows, "predictions": guesses, "ok": True}))
        return
    for experiment in trace_set.experiments.values():
        click.echo(f"{experiment.id} {experiment.name}: {experiment.question}")
        arms = foretold(experiment)
        if arms:
            click.echo(f"  {foretold_line(arms)}")
        for outcome in found[experiment.id]:
            click.echo(f"  {outcome_line(outcome)}")


def _show_agreement(found: list[Agreement], *, as_json: bool) -> None:
    num_alike = sum(agreement.holds for agreement in found)
    if as_json:
        rows = [
            {
                "experiment": agreement.experiment_id,
                "first": _row(agreement.experiment_id, agreement.first),
                "second": _row(agreement.experiment_id, agreement.second),
                "agree": agreement.holds,
            }
            for agreement in found
        ]
        click.echo(json.dumps({"claims": rows, "num_alike": num_alike, "num_claims": len(found), "ok": True}))
        return
    for agreement in found:
        if not agreement.holds:
            click.echo(f"{agreement.experiment_id} 1: {outcome_line(agreement.first)}")
            click.echo(f"{agreement.experiment_id} 2: {outcome_line(agreement.second)}")
    click.echo(f"{num_alike} of {len(found)} claims have the same sign in both sets")


def _row(experiment_id: str, outcome: Outcome) -> dict[str, Any]:
    claim = outcome.claim
    return {
        "experiment": experiment_id,
        "role": claim.role,
        "metric": claim.metric.name,
        "unit": claim.metric.unit,
        "meaning": claim.metric.meaning,
        "arms": [claim.first, claim.second],
        "expected": claim.expected,
        "medians": [outcome.first, outcome.second],
        "difference_interval": [outcome.difference.low, outcome.difference.high],
        "n": [outcome.num_first, outcome.num_second],
        "verdict": outcome.verdict,
        "stable": outcome.is_stable,
    }
