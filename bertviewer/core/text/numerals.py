"""Numbers as texts to read; data to take along has them as Python writes them."""

MINUS = "\N{MINUS SIGN}"


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
    """Return a count in three digits, ``22.7 M``; one below 1,000 whole."""
    if count < 1000:
        return str(count)
    for power, unit in ((1, "K"), (2, "M"), (3, "B"), (4, "T")):
        text = f"{count / 1000**power:.3g}"
        # What rounds up to a thousand has the next unit.
        if float(text) < 1000 or unit == "T":
            break
    return f"{float(text):.{_decimals(float(text))}f} {unit}"


def _decimals(value: float) -> int:
    """Return how many decimals three digits of a number leave."""
    return 2 if value < 10 else 1 if value < 100 else 0
