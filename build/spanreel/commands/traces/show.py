"""``spanreel traces show``: what a set holds, each arm's exemplar stage by stage and to scale."""

from __future__ import annotations

import json
from typing import Any

import click

from spanreel import paths
from spanreel.commands.traces.listing import heading
from traces import load_set
from traces.bindings import Subject
from traces.metrics import e2e_ns, name_sums_ns, ttft_ns
from traces.wording import stage, total


@click.command("show")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show_set(name: str | None, as_json: bool) -> None:
    """Show what a set holds: its machine, and each arm's exemplar, stage by stage."""
    trace_set = load_set(paths.set_dir(name))
    arms = [
        _arm(Subject.exemplar(experiment, arm.id), trace_set.short_hash(experiment.id))
        for experiment in trace_set.experiments.values()
        for arm in experiment.arms
    ]
    if as_json:
        click.echo(json.dumps(heading(trace_set) | {"arms": arms, "ok": True}))
        return
    click.echo("{name}: {machine}, {model}, {recorded}".format(**heading(trace_set)))
    for arm in arms:
        click.echo("\n{experiment} {arm}  {label}  (trace {hash}, {rule})".format(**arm))
        first = total(arm["ttft_ns"]) if arm["ttft_ns"] is not None else "none"
        click.echo(f"  {arm['request']}: {arm['output_tokens']} tokens, first {first}, end {total(arm['e2e_ns'])}")
        for span, duration_ns in arm["by_name_ns"].items():
            click.echo(f"  {span:<14}{stage(duration_ns):>10}  {duration_ns / arm['e2e_ns']:7.2%}")


def _arm(subject: Subject, short_hash: str) -> dict[str, Any]:
    request = subject.request
    return {
        "experiment": subject.experiment.id,
        "arm": subject.arm.id,
        "label": subject.arm.label,
        "hash": short_hash,
        "rule": subject.arm.exemplar.rule,
        "request": request.id,
        "output_tokens": request.num_output_tokens,
        "ttft_ns": ttft_ns(request) if request.num_output_tokens else None,
        "e2e_ns": e2e_ns(subject.path),
        "by_name_ns": name_sums_ns(subject.path),
    }
