"""Titles: claims that hold on a trace, and what stands there where they do not."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slides.account import printed_sum
from slides.claims import CLAIMS, title
from slides.talk import TITLE_MAX_CHARS
from trace_factory import MS, US, make_experiment, make_run, make_set
from traces import TraceError, load_set
from traces.schema import SpanRow

MAGNITUDES = {
    "usual": {},
    "fast": {"decode_ns": 3 * MS, "prefill_ns": 12 * MS, "queue_ns": MS, "small_ns": 50 * US, "tokens": 64},
    "slow": {"decode_ns": 300 * MS, "prefill_ns": 8000 * MS, "queue_ns": 4000 * MS},
    "one token": {"tokens": 1},
}


@pytest.fixture
def trace_set(tmp_path):
    """Return a function that makes a set from a run's magnitudes."""

    def make(**magnitudes):
        return load_set(make_set(tmp_path, make_experiment(make_run(**magnitudes))))

    return make


def with_gap(run, gap_ns: int):
    """Return the run with its last stretch before the first gateway span left without a name."""
    request = next(request for request in run.requests if request.role == "subject")
    spans = list(request.spans)
    first = spans[0]
    spans[0] = SpanRow(first.type, first.parent, first.start_ns, first.duration_ns - gap_ns)
    changed = msgspec.structs.replace(request, spans=spans)
    return msgspec.structs.replace(run, requests=[changed if r is request else r for r in run.requests])


def test_the_hook_asks_where_the_time_went(trace_set):
    """With more than one token the title names total and number of tokens."""
    found = title("grey-bar", trace_set())
    assert found.text == "2.36 s for 16 tokens. Where did it go?"
    assert found.outcome == "holds"


def test_a_single_token_gets_the_counter_title(trace_set):
    """With one token the hook does not speak of tokens."""
    found = title("grey-bar", trace_set(tokens=1))
    assert found.text == "One token took 0.92 s. Where did it go?"
    assert found.outcome == "countered"


def test_the_recap_names_the_two_largest_stages(trace_set):
    """The largest comes first, whichever it is."""
    assert title("recap", trace_set()).text == "Where 2.36 s went: decode 1.43 s, prefill 0.85 s, all else 0.08 s"
    slow = title("recap", trace_set(**MAGNITUDES["slow"]))
    assert slow.text == "Where 16.52 s went: prefill 8.00 s, decode 4.50 s, all else 4.02 s"


def test_time_without_a_name_is_confessed(tmp_path):
    """Above 5 % without a name, the recap says how much it cannot place."""
    run = with_gap(make_run(small_ns=400 * MS), 390 * MS)
    trace_set = load_set(make_set(tmp_path, make_experiment(run)))
    found = title("recap", trace_set)
    assert found.outcome == "countered"
    assert found.text == "We can place 6.76 s of 7.15 s; 0.39 s stays unexplained"


@pytest.mark.parametrize("magnitudes", MAGNITUDES.values(), ids=MAGNITUDES)
@pytest.mark.parametrize("slide", CLAIMS)
def test_titles_fit_and_quote_only_what_they_were_given(trace_set, slide, magnitudes):
    """Every number in a title is one of its values."""
    found = title(slide, trace_set(**magnitudes))
    assert len(found.text) <= TITLE_MAX_CHARS
    assert set(re.findall(r"\d[\d.]*", found.text)) <= {
        number for value in found.values.values() for number in re.findall(r"\d[\d.]*", value)
    }


def test_a_title_without_numbers_claims_nothing(trace_set):
    """The opening question stands as it was typed."""
    found = title("call", trace_set())
    assert (found.text, found.outcome) == ("You call an LLM API. What happens before the first token?", "none")


def test_an_unknown_slide_has_no_title(trace_set):
    """The complaint names it."""
    with pytest.raises(TraceError, match="no title for slide 'nothing'"):
        title("nothing", trace_set())


@given(st.lists(st.integers(0, 40_000_000_000), min_size=2, max_size=3).filter(any))
def test_printed_parts_add_up_to_the_printed_total(parts_ns):
    """Whatever the magnitudes, a listener who adds the parts gets the total; no part that exists prints as zero."""
    whole, parts = printed_sum(parts_ns)
    numbers = [float(part.split()[0]) for part in parts]
    assert len({part.split()[1] for part in [whole, *parts]}) == 1
    assert sum(numbers) == pytest.approx(float(whole.split()[0]), abs=1e-9 * max(1, sum(numbers)))
    assert all((number > 0) == (part_ns > 0) for number, part_ns in zip(numbers, parts_ns, strict=True))


def test_a_part_under_ten_milliseconds_gets_more_digits():
    """The total then has them too."""
    assert printed_sum([1_000 * MS, 3 * MS]) == ("1.003 s", ["1.000 s", "0.003 s"])
    assert printed_sum([200 * MS, 3 * MS]) == ("203 ms", ["200 ms", "3 ms"])
