"""One request in printed words: what titles and speaker notes quote, so that both quote the same digits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import count

from scenes.grammar.stages import stages, waits
from traces import TraceSet
from traces.bindings import Subject
from traces.wording import grouped, per_token, stage, total

EXPERIMENT, ARM = "e23", "A"
"""The one request that the whole talk follows."""

CHAPTERS: dict[str, tuple[str, ...]] = {
    "way_in": ("client", "network", "gateway"),
    "tokens_and_route": ("tokenizer", "router"),
    "queue": ("queue",),
    "prefill": ("prefill",),
    "decode": ("decode",),
    "way_out": ("sampler", "stream"),
}
"""Stages that the speaker takes together, by the word that notes use for them."""

_HERE_SHARE = 0.1
_SECOND_NS, _MS_NS, _US_NS = 1_000_000_000, 1_000_000, 1_000


class Account:
    """The talk's request, stage by stage.

    Args:
        trace_set: The set that holds experiment ``e23``.

    Raises:
        TraceError: The set lacks the experiment or its arm A.
    """

    def __init__(self, trace_set: TraceSet) -> None:
        self.subject = Subject.exemplar(trace_set.experiment(EXPERIMENT), ARM)
        self.num_tokens = self.subject.request.num_output_tokens
        self.e2e_ns = int(self._metric("e2e"))
        self.stages_ns = {part.name: part.duration_ns for part in stages(self.subject.path)}
        """Duration of each stage by the name that a reader knows, in order of first appearance."""

    @property
    def unexplained_ns(self) -> int:
        """Time of the request that no span names."""
        return self.stages_ns.get("unexplained", 0)

    @cached_property
    def largest_first(self) -> list[tuple[str, int]]:
        """The stages by duration; equal ones in order of appearance."""
        return sorted(self.stages_ns.items(), key=lambda item: -item[1])

    @cached_property
    def words(self) -> dict[str, str]:
        """Every quoted value by the name of its placeholder.

        Raises:
            TraceError: The request produced no token.
        """
        words = {
            "e2e": total(self.e2e_ns),
            "n_out": grouped(self.num_tokens),
            "ttft": total(self._metric("ttft")),
            "tpot": per_token(self._metric("tpot")) if self.num_tokens > 1 else "nothing",
            "placed": total(self.e2e_ns - self.unexplained_ns),
            "unexplained": stage(self.unexplained_ns),
            "waited": stage(sum(span.duration_ns for span in self.subject.path if waits(span))),
            "largest": self.largest_first[0][0],
        }
        for chapter, names in CHAPTERS.items():
            sum_ns = sum(self.stages_ns.get(name, 0) for name in names)
            words[chapter] = stage(sum_ns)
            words[f"{chapter}_verdict"] = "Here" if sum_ns >= _HERE_SHARE * self.e2e_ns else "Not here"
        return words

    def _metric(self, name: str) -> float:
        return self.subject.resolve(f"{self.subject.request.id}/{name}").value


def printed_sum(parts_ns: Sequence[int]) -> tuple[str, list[str]]:
    """Print a total and its parts so that the printed parts add up to the printed total.

    All get the digits of a total in ``traces.wording``, or as many more as the smallest part needs in order not to
    print as zero. Each part is rounded up or down: down first, then up where most was lost.

    Args:
        parts_ns: The parts, nanoseconds.

    Returns:
        The total and the parts.
    """
    whole_ns = sum(parts_ns)
    first = _MS_NS * 10 if whole_ns >= _SECOND_NS / 10 else _MS_NS
    for power in count():
        step_ns = max(first // 10**power, 1)
        steps = _apportion(parts_ns, step_ns)
        if step_ns == 1 or all(number > 0 or part_ns == 0 for number, part_ns in zip(steps, parts_ns, strict=True)):
            break
    return _in_steps(sum(steps), step_ns, whole_ns), [_in_steps(number, step_ns, whole_ns) for number in steps]


def _apportion(parts_ns: Sequence[int], step_ns: int) -> list[int]:
    """Return whole steps for each part, adding up to the rounded total (largest remainders)."""
    steps = [part_ns // step_ns for part_ns in parts_ns]
    missing = round(sum(parts_ns) / step_ns) - sum(steps)
    by_loss = sorted(range(len(parts_ns)), key=lambda index: -(parts_ns[index] % step_ns))
    for index in by_loss[:missing]:
        steps[index] += 1
    return steps


def _in_steps(number: int, step_ns: int, whole_ns: int) -> str:
    """Print a number of steps in the unit that suits the total."""
    if step_ns >= 10 * _MS_NS or whole_ns >= _SECOND_NS:
        unit_ns, unit = _SECOND_NS, "s"
    elif whole_ns >= _MS_NS:
        unit_ns, unit = _MS_NS, "ms"
    else:
        unit_ns, unit = _US_NS, "µs"
    decimals = len(str(unit_ns // step_ns)) - 1 if step_ns < unit_ns else 0
    return f"{number * step_ns / unit_ns:.{decimals}f} {unit}"
