"""Titles. A title is a sentence about the data; where it does not hold on a trace, its counter-title stands instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from slides.account import Account, printed_sum
from slides.talk import TITLE_MAX_CHARS, load_talk
from traces import TraceError, TraceSet

Outcome = Literal["holds", "countered", "none"]

UNEXPLAINED_MAX_SHARE = 0.05
SUM_TOLERANCE_NS = 50_000


@dataclass(frozen=True)
class Title:
    """A slide's title, filled from a trace."""

    text: str
    holds: bool | None
    """Whether the claim holds on this trace; None where the title claims nothing."""
    values: dict[str, str] = field(default_factory=dict)
    """What was filled in, by the name of its place."""

    @property
    def outcome(self) -> Outcome:
        """The word for ``holds``."""
        return "none" if self.holds is None else "holds" if self.holds else "countered"


def title(slide_id: str, trace_set: TraceSet) -> Title:
    """Return the title of a slide on a trace set.

    Raises:
        TraceError: The set lacks what the title speaks of, or there is no such slide.
    """
    if slide_id in CLAIMS:
        found = CLAIMS[slide_id](Account(trace_set))
    else:
        typed = next((slide.title for slide in load_talk().slides if slide.id == slide_id), None)
        if typed is None:
            raise TraceError(f"no title for slide {slide_id!r}; titles are in slides/claims.py and slides/talk.toml")
        found = Title(typed, None)
    if len(found.text) > TITLE_MAX_CHARS:
        raise TraceError(f"slide {slide_id!r}: its title has {len(found.text)} characters, {TITLE_MAX_CHARS} fit")
    return found


def _grey_bar(account: Account) -> Title:
    """The hook's question; holds if there is more than one token."""
    values = {name: account.words[name] for name in ("e2e", "n_out")}
    if account.num_tokens >= 2:
        return Title("{e2e} for {n_out} tokens. Where did it go?".format(**values), True, values)
    return Title("One token took {e2e}. Where did it go?".format(**values), False, values)


def _recap(account: Account) -> Title:
    """The recap's answer; holds if the stages make up the whole and at most 5 % has no name."""
    adds_up = abs(sum(account.stages_ns.values()) - account.e2e_ns) <= SUM_TOLERANCE_NS
    if adds_up and account.unexplained_ns <= UNEXPLAINED_MAX_SHARE * account.e2e_ns:
        return _where_it_went(account)
    e2e, (placed, unexplained) = printed_sum([account.e2e_ns - account.unexplained_ns, account.unexplained_ns])
    values = {"e2e": e2e, "x": placed, "u": unexplained}
    return Title("We can place {x} of {e2e}; {u} stays unexplained".format(**values), False, values)


def _where_it_went(account: Account) -> Title:
    (s1, first_ns), (s2, second_ns) = account.largest_first[:2]
    e2e, (t1, t2, t3) = printed_sum([first_ns, second_ns, account.e2e_ns - first_ns - second_ns])
    values = {"e2e": e2e, "s1": s1, "t1": t1, "s2": s2, "t2": t2, "t3": t3}
    return Title("Where {e2e} went: {s1} {t1}, {s2} {t2}, all else {t3}".format(**values), True, values)


CLAIMS: dict[str, Callable[[Account], Title]] = {"grey-bar": _grey_bar, "recap": _recap}
"""The claim of each slide whose title has numbers."""
