"""``spanreel doctor``: what is here, what is missing, what to install."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from spanreel.doctor.finding import PURPOSES, Finding, Purpose, only_missing


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Say what is here, what is missing, and the one command that brings it; exit 4 if the deck cannot be built."""
    from spanreel.doctor.examine import examine

    findings = examine()
    lacking = only_missing(findings, "deck")
    if as_json:
        click.echo(json.dumps({"findings": [asdict(finding) for finding in findings], "ok": not lacking}, indent=1))
    else:
        for finding in findings:
            click.echo(_line(finding))
        click.echo()
        for purpose in PURPOSES:
            click.echo(_advice(findings, purpose))
    ctx.exit(4 if lacking else 0)


def _line(finding: Finding) -> str:
    if finding.ok:
        return f"ok       {finding.name:<17} {_some(finding.found)}"
    return f"missing  {finding.name:<17} {', '.join(finding.missing)}"


def _some(found: tuple[str, ...], shown: int = 4) -> str:
    return ", ".join(found[:shown]) + (f" and {len(found) - shown} more" if len(found) > shown else "")


def _advice(findings: list[Finding], purpose: Purpose) -> str:
    lacking = only_missing(findings, purpose)
    if not lacking:
        return f"{PURPOSES[purpose]}: ready"
    commands = dict.fromkeys(finding.command for finding in lacking)
    return f"{PURPOSES[purpose]}: {'; then '.join(commands)}"
