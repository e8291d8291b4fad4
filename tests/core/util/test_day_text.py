"""Days as they are read."""

from datetime import date

import pytest

from bertviewer.core.util.numerals import day_text


@pytest.mark.parametrize(
    ("day", "text"),
    [(date(2026, 12, 24), "24 December 2026"), (date(2000, 1, 1), "1 January 2000")],
)
def test_a_day_is_told_in_english(day: date, text: str) -> None:
    assert day_text(day) == text
