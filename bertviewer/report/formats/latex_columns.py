"""Widths of a table's columns on a LaTeX page, from estimated widths of their texts."""

import unicodedata
from collections.abc import Sequence

from msgspec import Struct

from bertviewer.report import blocks
from bertviewer.report.blocks import Break, Column, Row, Table
from bertviewer.report.formats.writer import widest_fractions

GAP = 8.0
"""Points between two columns."""
LEVEL = 9.0
_AIR = 1.04
_LEAST = 40.0
_ROUNDING = 0.1

_SIZE = 9.0
"""Font size of a table, in points."""
_BAR, _TICK = 52.0, 9.0
_CODE = 0.525 * 0.9
_BOLD = 1.12
_WIDE, _UPPER, _NARROW, _NORMAL, _FULL = 0.9, 0.75, 0.33, 0.53, 1.0
"""Widths of letters as fractions of the font size, rather too large."""
_WIDE_LETTERS = frozenset("mwMWGOQD@%—…×→=+<>~")
_NARROW_LETTERS = frozenset("ijlftI.,:;'|!()[]/ -·’")
_REFERENCE = len("Figure 12.3")


class LatexColumns(Struct, frozen=True):
    """The columns of one table.

    Attributes:
        columns: the columns.
        widths: in points, 0 for the width of the widest cell.
        fractions: longest fraction of the numbers in each column.
    """

    columns: tuple[Column, ...]
    widths: tuple[float, ...]
    fractions: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, space: float) -> "LatexColumns":
        """Return columns with a total width of at most ``space`` points."""
        natural = [_natural(table, place) * _AIR for place in range(len(table.columns))]
        free = space - GAP * (len(natural) - 1) - _ROUNDING * len(natural)
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
        """Whether the table is as wide as the text."""
        return any(column.share for column in self.columns)


def _natural(table: Table, place: int) -> float:
    column = table.columns[place]
    title = f"{column.title} ({column.unit})" if column.unit else column.title
    widest = words_width(title)
    for row in table.rows:
        if row.look != "head":
            indent = row.level * LEVEL if place == 0 else 0.0
            bold = _BOLD if row.look == "total" else 1.0
            widest = max(widest, text_width(row.cells[place]) * bold + indent)
    if column.align == "decimal":
        # The longest integer part and the longest fraction may be in different rows.
        widest += words_width("0.00")
    return widest


def _fitted(columns: Sequence[Column], natural: Sequence[float], free: float) -> list[float]:
    """Return widths whose sum fits: the widest columns are limited to the same width."""
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


def text_width(text: blocks.Text) -> float:
    """Return the estimated width of a text's widest line, in points."""
    lines = [0.0]
    for span in text:
        match span:
            case blocks.Break():
                lines.append(0.0)
            case blocks.Bar():
                lines[-1] += _BAR
            case blocks.Tick():
                lines[-1] += _TICK
            case blocks.Code(words):
                lines[-1] += sum(_CODE if _is_common(letter) else _FULL for letter in words) * _SIZE
            case blocks.Strong(words):
                lines[-1] += words_width(words) * _BOLD
            case blocks.See():
                lines[-1] += _REFERENCE * _NORMAL * _SIZE
            case blocks.Maths(words) | blocks.Muted(words) | blocks.Letters(words) | str(words):
                lines[-1] += words_width(words)
    return max(lines)


def words_width(words: str) -> float:
    """Return the estimated width of plain text on one line, in points."""
    return sum(map(_letter, words)) * _SIZE


def _letter(letter: str) -> float:
    if letter in _NARROW_LETTERS:
        return _NARROW
    if letter in _WIDE_LETTERS:
        return _WIDE
    if letter.isupper():
        return _UPPER
    return _NORMAL if _is_common(letter) else _FULL


def _is_common(letter: str) -> bool:
    return letter < "\u0250" or unicodedata.east_asian_width(letter) in "NaNH"
