"""The order of a table's rows by the texts of a column, as a person would sort them."""

import re
from collections.abc import Sequence

from bertviewer.core.util.numbers import MINUS

_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?|-?(inf|nan)", re.IGNORECASE)
_DIGITS = re.compile(r"(\d+)")


def sorted_order(texts: Sequence[str], are_numbers: bool, *, is_down: bool) -> list[int]:
    """Return the places of texts in their order; those equal keep theirs.

    Numbers go by size, words by their letters and the numbers in them: layer 2 before layer 10.
    What is empty, or no number among numbers, comes last.
    """
    keys = [number_in(text) if are_numbers else _words(text) for text in texts]
    have = [place for place, key in enumerate(keys) if key is not None]
    others = [place for place, key in enumerate(keys) if key is None]
    return sorted(have, key=keys.__getitem__, reverse=is_down) + others  # type: ignore[arg-type]


def number_in(text: str) -> float | None:
    """Return the number that a text begins with, ``None`` if there is none or it is NaN."""
    found = _NUMBER.match(text.replace(MINUS, "-").replace(",", ""))
    value = float(found[0]) if found else None
    return None if value is None or value != value else value  # noqa: PLR0124 - NaN is not itself


def _words(text: str) -> tuple[tuple[int, int, str], ...] | None:
    if not text:
        return None
    parts = _DIGITS.split(text.casefold())
    return tuple((0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts if p)
