"""Numbers as people read them."""

import pytest

from bertviewer.core.numerals import MINUS, number_text, with_minus


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
