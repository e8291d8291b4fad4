"""Numbers and dates as text for people; exported data has Python's own form."""

from datetime import date

MINUS = "\N{MINUS SIGN}"
THOUSANDS = ("K", "M", "G", "T")
"""The suffixes of abbreviated counts."""

# strftime would use the system's language.
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)


def with_minus(number: str) -> str:
    """Return a number's text with a minus sign, which is as wide as a plus, for each hyphen."""
    return number.replace("-", MINUS)


def count_text(count: int, one: str, many: str, *others: object) -> str:
    """Return "1 token" or "12,000 tokens": ``one`` if the count is 1, else ``many``, formatted.

    ``{0}`` is the count; ``{1}`` and so on are the others. Both texts are complete, so that they
    can be translated.
    """
    return (one if count == 1 else many).format(f"{count:,}", *others)


def number_text(value: float, digits: int = 7) -> str:
    """Return a number with this many significant digits."""
    return with_minus(f"{value:.{digits}g}")


def deviation_text(value: float | None) -> str:
    """Return a difference with two significant digits; a dash for none."""
    if value is None:
        return "–"
    is_plain = value == 0 or 1e-3 <= abs(value) < 100
    return f"{value:.2g}" if is_plain else f"{value:.1e}"


def percent_text(share: float, digits: int = 0) -> str:
    """Return a percentage, 0% and 100% only if they are exact.

    Other shares that would be rounded to these are "under 0.1%" or "over 99.9%".
    """
    step = 10.0**-digits
    text = f"{share:.{digits}%}"
    if 0 < share < 1:
        if text == f"{0:.{digits}%}":
            return f"under {step:.{digits}f}%"
        if text == f"{1:.{digits}%}":
            return f"over {100 - step:.{digits}f}%"
    return text


def short_count(count: int) -> str:
    """Return "22.7 M", "147.8 K" or "768": a count for a narrow column, with a no-break space.

    It has two decimals below 10, else one.
    """
    if count < 1000:
        return str(count)
    value, suffix = float(count), ""
    for suffix in THOUSANDS:  # noqa: B007
        value /= 1000
        if round(value, 1) < 1000:
            break
    digits = 2 if round(value, 2) < 10 else 1
    return f"{value:,.{digits}f}\N{NO-BREAK SPACE}{suffix}"


def day_text(day: date) -> str:
    """Return ``24 November 2026``."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
