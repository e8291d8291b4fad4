"""Numbers and dates as text."""

from datetime import date

import pytest

from bertviewer.core.util.numbers import (
    MINUS,
    count_text,
    day_text,
    number_text,
    short_count,
    with_minus,
)


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (-0.25, 7, "−0.25"),
        (1e-12, 6, "1e−12"),
        (-2.70839e-9, 5, "−2.7084e−09"),
        (1234567.8, 9, "1234567.8"),
        (0.0, 7, "0"),
        (float("-inf"), 7, "−inf"),
    ],
)
def test_numbers_have_a_true_minus(value: float, digits: int, shown: str) -> None:
    assert number_text(value, digits) == shown
    assert "-" not in number_text(value, digits)


def test_a_minus_is_as_wide_as_a_plus_and_no_hyphen() -> None:
    assert MINUS == "\u2212"
    assert with_minus("-1.5e-07") == "−1.5e−07"
    assert with_minus("–") == "–"  # the dash that stands for no number


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 of 7 are"), (1, "1 of 7 is"), (2, "2 of 7 are"), (12000, "12,000 of 7 are")],
)
def test_one_is_not_many(count: int, shown: str) -> None:
    assert count_text(count, "1 of {1} is", "{0} of {1} are", 7) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.00 K"),
        (1_774_464, "1.77 M"),
        (9_994, "9.99 K"),
        (9_996, "10.0 K"),
        (147_840, "147.8 K"),
        (999_949, "999.9 K"),
        (999_950, "1.00 M"),
        (22_713_216, "22.7 M"),
        (175_000_000_000, "175.0 G"),
        (10**16, "10,000.0 T"),
    ],
)
def test_a_short_count_is_rounded_and_never_cut(count: int, shown: str) -> None:
    assert short_count(count) == shown.replace(" ", "\N{NO-BREAK SPACE}")


@pytest.mark.parametrize(
    ("day", "text"),
    [(date(2026, 12, 24), "24 December 2026"), (date(2000, 1, 1), "1 January 2000")],
)
def test_a_day_is_told_in_english(day: date, text: str) -> None:
    assert day_text(day) == text
