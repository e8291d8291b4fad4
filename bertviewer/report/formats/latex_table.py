"""Tables as LaTeX: three rules, heads on every page, numbers on their decimal point."""

from collections.abc import Iterator

from msgspec import Struct

from bertviewer.report.blocks import Column, Row, Table, Text
from bertviewer.report.formats.decimals import split_of
from bertviewer.report.formats.latex_columns import LEVEL, LatexColumns
from bertviewer.report.formats.latex_text import latex_text, latex_words
from bertviewer.report.formats.reading import Reading, anchor
from bertviewer.report.formats.text_widths import text_width

_ROOM = "80pt"
"""What a caption, a head and two rows need."""


def latex_table(table: Table, reading: Reading, room: float) -> Iterator[str]:
    """Yield a table's lines; ``room`` is the width of the text, in points."""
    columns = LatexColumns.of(table, room)
    rows = _Rows(columns, reading, room)
    heads = " & ".join(map(_title, table.columns)) + r" \\"
    yield rf"\room{{{_ROOM}}}"
    if table.name:
        caption = latex_text(table.caption, reading)
        yield rf"\tablecaption{{{caption}}}{{{anchor(table.name)}}}"
    environment = "fulltable" if columns.is_full else "datatable"
    yield rf"\begin{{{environment}}}{{{columns.preamble}}}"
    for end in ("first", ""):
        yield r"\toprule"
        if any(column.title or column.unit for column in table.columns):
            yield heads
            yield r"\midrule"
        yield rf"\end{end}head"
    yield r"\midrule\endfoot"
    yield r"\bottomrule\endlastfoot"
    for place, row in enumerate(table.rows):
        # No page ends between a total and what is just above it.
        stays = [after.look for after in table.rows[place + 1 : place + 2]] == ["total"]
        yield from rows.lines(row, is_first=place == 0, stays=stays)
    yield rf"\end{{{environment}}}"


class _Rows(Struct, frozen=True, eq=False):
    """The rows of one table."""

    columns: LatexColumns
    reading: Reading
    room: float

    def lines(self, row: Row, *, is_first: bool, stays: bool) -> Iterator[str]:
        """Yield the lines of a row. No page ends behind a head, or one that ``stays``."""
        if row.look == "head":
            if not is_first:
                yield r"\addlinespace"
            yield rf"{self._head(row)} \\*"
            return
        if row.look == "total":
            yield r"\midrule"
        cells = (self._cell(place, cell, row) for place, cell in enumerate(row.cells))
        yield " & ".join(cells) + (r" \\*\noalign{\nobreak}" if stays else r" \\")

    def _head(self, row: Row) -> str:
        first, *others = row.cells
        span = len(self.columns.columns) - len(others)
        left = self.room - sum(map(text_width, others)) * 1.2
        form = "l" if text_width(first) * 1.2 < left else rf"p{{{left - 20:.1f}pt}}"
        text = latex_text(first, self.reading)
        cells = [rf"\multicolumn{{{span}}}{{@{{}}{form}}}{{\textbf{{{text}}}}}"]
        for cell in others:
            text = latex_text(cell, self.reading)
            cells.append(rf"\multicolumn{{1}}{{r@{{}}}}{{\textbf{{{text}}}}}")
        return " & ".join(cells)

    def _cell(self, place: int, cell: Text, row: Row) -> str:
        widest = self.columns.fractions[place]
        split = split_of(cell) if widest else None
        if split is None:
            text = latex_text(cell, self.reading)
        else:
            whole = latex_text(split.whole, self.reading)
            fraction = latex_text(split.fraction, self.reading)
            text = rf"\dec{{{whole}}}{{{fraction}}}{{{latex_words(widest)}}}"
        if row.look == "total" and text:
            text = rf"\textbf{{{text}}}"
        if place == 0 and row.level:
            text = rf"\hspace*{{{row.level * LEVEL:.0f}pt}}{text}"
        return text


def _title(column: Column) -> str:
    unit = rf" ({latex_words(column.unit)})" if column.unit else ""
    return rf"\head{{{latex_words(column.title)}{unit}}}"
