"""Numbers as people read them."""

import pytest

from bertviewer.core.text.numerals import MINUS, count_text, number_text, with_minus


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
