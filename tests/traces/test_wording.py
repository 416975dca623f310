"""Numbers in words: units, digits and separators follow the magnitude."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.wording import FORMATS, grouped

THIN = "\u2009"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("total", 2_610_000_000, "2.61 s"),
        ("total", 100_000_000, "0.10 s"),
        ("total", 99_999_999, "100 ms"),
        ("total", 93_400_000, "93 ms"),
        ("stage", 12_345_000_000, "12.3 s"),
        ("stage", 9_999_000_000, "9999 ms"),
        ("stage", 96_000_000, "96 ms"),
        ("stage", 9_949_999, "9.9 ms"),
        ("stage", 9_960_000, "10 ms"),
        ("stage", 999_499, "999 µs"),
        ("stage", 999_500, "1.0 ms"),
        ("stage", 0, "0 µs"),
        ("per_token", 95_140_000, "95.1 ms"),
        ("per_token", 900_400, "900 µs"),
        ("clock", 2_355_700_000, "2.36"),
        ("count", 16, "16"),
        ("count", 10_000, f"10{THIN}000"),
        ("factor", 40, "×40"),
        ("factor", 12_000, f"×12{THIN}000"),
        ("factor", 2.5, "×2.5"),
        ("factor", 3.0, "×3"),
    ],
)
def test_a_number_reads_as_agreed(name: str, value: float, text: str) -> None:
    """Each format at its ordinary values and at the edges where its unit changes."""
    assert FORMATS[name](value) == text


@given(st.integers(0, 10**14), st.integers(0, 10**14))
def test_a_longer_time_never_reads_shorter(first: int, second: int) -> None:
    """Over all magnitudes the printed value grows with the measured one, within half of its last digit."""
    units = {"s": 1e9, "ms": 1e6, "µs": 1e3}
    for name in ("total", "stage", "per_token"):
        read = []
        for value in sorted((first, second)):
            digits, _, unit = FORMATS[name](value).rpartition(" ")
            read.append(float(digits.replace(THIN, "")) * units[unit])
        assert read[0] <= read[1] + 1e-6 * read[1]


@given(st.integers(-(10**15), 10**15))
def test_grouping_loses_no_digit(value: int) -> None:
    """Without separators and with an ordinary minus the text is the number."""
    assert int(grouped(value).replace(THIN, "").replace("\u2212", "-")) == value
