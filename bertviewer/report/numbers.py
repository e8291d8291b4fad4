"""Figures as a report and the terminal write them."""

from math import isfinite

from bertviewer.core.util.numbers import with_minus


def number(value: float | None) -> str:
    """Return a figure with five significant digits; a dash for none."""
    return "–" if value is None else f"{value:.5g}"


def exact(value: float | None) -> str:
    """Return a figure with five significant digits, zeros too, and a true minus; counts whole."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else with_minus(f"{value:#.5g}" if value else "0")


def cosine_text(value: float | None) -> str:
    """Return a cosine with four digits behind the point; a dash where it is not defined."""
    return "–" if value is None or not isfinite(value) else with_minus(f"{value:.4f}")


_SMALLEST, _LARGEST = 1e-3, 100
"""What is written without an exponent."""


def deviation(value: float | None) -> str:
    """Return a difference with two significant digits; a dash for none."""
    if value is None:
        return "–"
    is_plain = value == 0 or _SMALLEST <= abs(value) < _LARGEST
    return f"{value:.2g}" if is_plain else f"{value:.1e}"
