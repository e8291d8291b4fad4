"""Numbers as texts to read; data to take along has them as Python writes them."""

MINUS = "\N{MINUS SIGN}"


def with_minus(number: str) -> str:
    """Return a number's text with the sign that is as wide as a plus, in place of hyphens."""
    return number.replace("-", MINUS)


def number_text(value: float, digits: int = 7) -> str:
    """Return a number with so many significant digits."""
    return with_minus(f"{value:.{digits}g}")
