"""The requests that a clip says it draws, found again in the trace set."""

from __future__ import annotations

from collections.abc import Mapping

from scenes.ledger import Clip, Source, Value
from spanreel.verify.faults import Fault
from traces import TraceError, TraceSet
from traces.bindings import Subject
from traces.wording import FORMATS

Subjects = Mapping[str, Subject]
"""Requests by the key that marks and values name."""


def find_subjects(clip: Clip, trace_set: TraceSet) -> tuple[dict[str, Subject], list[Fault]]:
    """Return the requests of a clip, and what is wrong with how it names them."""
    found: dict[str, Subject] = {}
    faults = []
    for source in clip.sources:
        try:
            found[source.key] = _subject(source, trace_set)
        except TraceError as error:
            faults.append(Fault("binding", str(error), mark=f"source {source.key}"))
            continue
        actual = trace_set.sha256[source.experiment]
        if actual != source.sha256:
            faults.append(
                Fault("stale", f"drawn from trace {source.sha256[:8]}", actual[:8], mark=f"source {source.key}")
            )
    return found, faults


def fill(template: str, values: list[Value], subjects: Subjects) -> str:
    """Return a template with its values from the trace, worded as the film words them.

    Raises:
        TraceError: A value names nothing, or the template does not fit its values.
    """
    words = []
    for value in values:
        if value.source not in subjects or value.format not in FORMATS:
            raise TraceError(f"value {value.binding!r} names source {value.source!r}, format {value.format!r}")
        words.append(FORMATS[value.format](subjects[value.source].resolve(value.binding).value))
    try:
        return template.format(*words)
    except (IndexError, KeyError, ValueError) as error:
        raise TraceError(f"template {template!r} does not fit its {len(values)} values") from error


def _subject(source: Source, trace_set: TraceSet) -> Subject:
    experiment = trace_set.experiment(source.experiment)
    for arm in experiment.arms:
        if arm.id == source.arm and 0 <= source.run < len(arm.runs):
            run = arm.runs[source.run]
            for request in run.requests:
                if request.id == source.request:
                    return Subject(experiment, arm, run, request)
    raise TraceError(
        f"experiment {source.experiment!r} has no request {source.request!r} in run {source.run} of arm {source.arm!r}"
    )
