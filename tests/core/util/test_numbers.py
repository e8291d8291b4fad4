"""Numbers and dates as text."""

from datetime import date

import pytest

from bertviewer.core.util.numbers import (
    count_text,
    day_text,
    deviation_text,
    number_text,
    percent_text,
    short_count,
    with_minus,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (number_text(-0.25), "−0.25"),
        (number_text(-2.70839e-9, 5), "−2.7084e−09"),
        (number_text(1234567.8, 9), "1234567.8"),
        (number_text(float("-inf")), "−inf"),
        (with_minus("-1.5e-07"), "−1.5e−07"),
        (with_minus("–"), "–"),  # a dash for no value
        (deviation_text(None), "–"),
        (deviation_text(0.001234), "0.0012"),
        (deviation_text(0.0001234), "1.2e-04"),
        (count_text(0, "1 of {1} is", "{0} of {1} are", 7), "0 of 7 are"),
        (count_text(1, "1 of {1} is", "{0} of {1} are", 7), "1 of 7 is"),
        (count_text(12000, "1 of {1} is", "{0} of {1} are", 7), "12,000 of 7 are"),
        (percent_text(0.0), "0%"),
        (percent_text(1.0, 2), "100.00%"),
        (percent_text(0.99985, 1), "over 99.9%"),
        (percent_text(0.9949), "99%"),
        (percent_text(0.9951), "over 99%"),
        (percent_text(0.00003, 2), "under 0.01%"),
        (percent_text(0.00006, 2), "0.01%"),
        (day_text(date(2026, 12, 24)), "24 December 2026"),
        (day_text(date(2000, 1, 1)), "1 January 2000"),
    ],
)
def test_numbers_and_dates(text: str, expected: str) -> None:
    assert text == expected


def test_short_counts_are_rounded() -> None:
    counts = {
        999: "999", 1_000: "1.00 K", 9_994: "9.99 K", 9_996: "10.0 K", 147_840: "147.8 K",
        999_949: "999.9 K", 999_950: "1.00 M", 1_774_464: "1.77 M", 22_713_216: "22.7 M",
        175_000_000_000: "175.0 G", 10**16: "10,000.0 T",
    }  # fmt: skip
    for count, text in counts.items():
        assert short_count(count) == text.replace(" ", "\N{NO-BREAK SPACE}")
