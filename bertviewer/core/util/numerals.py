"""Numbers and days as texts to read; data to take along has them as Python writes them."""

from datetime import date

MINUS = "\N{MINUS SIGN}"
THOUSANDS = ("K", "M", "G", "T")
"""What counts are short for: a thousand, a million, and so on."""


def with_minus(number: str) -> str:
    """Return a number's text with the sign that is as wide as a plus, in place of hyphens."""
    return number.replace("-", MINUS)


def count_text(count: int, one: str, many: str, *others: object) -> str:
    """Return "1 token" or "12,000 tokens": the text for one, or the text for any other count.

    ``{0}`` in the texts is the count, ``{1}`` and so on are the others. Both texts are given
    whole, to be translated as such.
    """
    return (one if count == 1 else many).format(f"{count:,}", *others)


def number_text(value: float, digits: int = 7) -> str:
    """Return a number with so many significant digits."""
    return with_minus(f"{value:.{digits}g}")


def short_count(count: int) -> str:
    """Return "22.7 M", "147.8 K" or "768": a count rounded to what stands in a narrow column.

    Two digits stand behind the point where one is before it, else one. The space does not break.
    """
    if count < 1000:
        return str(count)
    value, letter = float(count), ""
    for letter in THOUSANDS:  # noqa: B007
        value /= 1000
        if round(value, 1) < 1000:
            break
    digits = 2 if round(value, 2) < 10 else 1
    return f"{value:,.{digits}f}\N{NO-BREAK SPACE}{letter}"


# strftime has those of the system's language.
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)


def day_text(day: date) -> str:
    """Return ``24 November 2026``."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
