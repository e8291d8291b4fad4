"""How a table's columns share the width of a LaTeX page."""

from collections.abc import Sequence

from msgspec import Struct

from bertviewer.report.blocks import Break, Column, Row, Table
from bertviewer.report.formats.decimals import widest_fractions
from bertviewer.report.formats.text_widths import text_width, words_width

GAP = 8.0
"""Points between two columns."""
LEVEL = 9.0
_AIR = 1.04
_LEAST = 40.0
_ROUNDING = 0.1


class LatexColumns(Struct, frozen=True):
    """The columns of one table.

    Attributes:
        widths: in points, 0 for one that is as wide as its widest cell.
        fractions: the widest text that stands behind the points of numbers.
    """

    columns: tuple[Column, ...]
    widths: tuple[float, ...]
    fractions: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, room: float) -> "LatexColumns":
        """Return columns that together are no wider than ``room``, in points."""
        natural = [_natural(table, place) * _AIR for place in range(len(table.columns))]
        free = room - GAP * (len(natural) - 1) - _ROUNDING * len(natural)
        shrunk = _fitted(table.columns, natural, free)
        rest = max(free - sum(shrunk), 0.0)
        shares = sum(column.share for column in table.columns if _is_text(column))
        widths: list[float] = []
        for place, (column, width) in enumerate(zip(table.columns, shrunk, strict=True)):
            if column.share and _is_text(column):
                widths.append(width + rest * column.share / shares)
            elif width < natural[place] or _has_breaks(table.rows, place):
                widths.append(width)
            else:
                widths.append(0.0)
        return cls(table.columns, tuple(widths), widest_fractions(table.columns, table.rows))

    @property
    def preamble(self) -> str:
        """The argument of ``longtable``."""
        found = map(_column, self.columns, self.widths)
        start = r"@{\extracolsep{\fill}}" if self.is_full else "@{}"
        return start + "".join(found) + "@{}"

    @property
    def is_full(self) -> bool:
        """Whether the table is as wide as the page."""
        return any(column.share for column in self.columns)


def _natural(table: Table, place: int) -> float:
    column = table.columns[place]
    title = f"{column.title} ({column.unit})" if column.unit else column.title
    widest = words_width(title)
    for row in table.rows:
        if row.look != "head":
            indent = row.level * LEVEL if place == 0 else 0.0
            bold = 1.12 if row.look == "total" else 1.0
            widest = max(widest, text_width(row.cells[place]) * bold + indent)
    if column.align == "decimal":
        # The longest whole number and the longest fraction need not be of one row.
        widest += words_width("0.00")
    return widest


def _fitted(columns: Sequence[Column], natural: Sequence[float], free: float) -> list[float]:
    """Return widths of which the largest are as small as needed, and equal."""
    fixed = sum(w for w, column in zip(natural, columns, strict=True) if not _is_text(column))
    texts = sorted(w for w, column in zip(natural, columns, strict=True) if _is_text(column))
    left, most = free - fixed, float("inf")
    if sum(texts) > left:
        for place, width in enumerate(texts):
            most = left / (len(texts) - place)
            if width > most:
                break
            left -= width
    most = max(most, _LEAST)
    return [
        min(w, most) if _is_text(column) else w for w, column in zip(natural, columns, strict=True)
    ]


def _is_text(column: Column) -> bool:
    return column.align == "left"


def _has_breaks(rows: Sequence[Row], place: int) -> bool:
    return any(
        isinstance(span, Break) for row in rows if row.look != "head" for span in row.cells[place]
    )


def _column(column: Column, width: float) -> str:
    if not width:
        return {"left": "l", "center": "c"}.get(column.align, "r")
    ragged = {"left": "right", "center": "centering"}.get(column.align, "left")
    command = r"\centering" if ragged == "centering" else rf"\ragged{ragged}"
    return rf">{{{command}\arraybackslash}}p{{{width:.1f}pt}}"
