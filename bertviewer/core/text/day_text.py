"""Days as they are read, the same in every language that a system may have."""

from datetime import date

# strftime has those of the system's language.
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)


def day_text(day: date) -> str:
    """Return ``24 November 2026``."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
