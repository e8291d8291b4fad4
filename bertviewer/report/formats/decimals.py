"""Numbers of a column, split at their decimal points, on which they stand."""

import re
from collections.abc import Sequence

from msgspec import Struct

from bertviewer.report.blocks import Column, Muted, Row, Strong, Text

_NUMBER = re.compile(r"([-+\N{MINUS SIGN}]?[\d,]+)(.*)")


class Split(Struct, frozen=True):
    """A cell of a decimal column: what stands before the point, and from there on."""

    whole: Text
    fraction: Text


def widest_fractions(columns: Sequence[Column], rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the widest text behind the whole numbers of each column; empty of other columns."""
    widest = [""] * len(columns)
    for row in rows:
        if row.look == "head":
            continue
        for place, (column, cell) in enumerate(zip(columns, row.cells, strict=True)):
            if column.align == "decimal" and (split := split_of(cell)):
                widest[place] = max(widest[place], _words(split.fraction), key=len)
    return tuple(widest)


def split_of(cell: Text) -> Split | None:
    """Return a cell's number in two parts; ``None`` if the cell is more than a word or two.

    A word, as NaN, ends before the point.
    """
    match cell:
        case (str() | Strong() | Muted() as span,):
            text = span if isinstance(span, str) else span.text
            number = _NUMBER.fullmatch(text)
            whole, fraction = number.groups() if number else (text, "")
            if isinstance(span, str):
                return Split((whole,), (fraction,) if fraction else ())
            kind = type(span)
            return Split((kind(whole),), (kind(fraction),) if fraction else ())
    return None


def _words(text: Text) -> str:
    return "".join(span if isinstance(span, str) else getattr(span, "text", "") for span in text)
