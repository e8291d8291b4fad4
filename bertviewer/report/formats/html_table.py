"""Tables as HTML: groups of rows are bodies, and numbers stand on their decimal point."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from bertviewer.report.blocks import Column, Row, Table, Text
from bertviewer.report.formats.decimals import split_of, widest_fractions
from bertviewer.report.formats.html_text import html_text, html_words
from bertviewer.report.formats.reading import Reading, anchor


def html_table(table: Table, reading: Reading) -> Iterator[str]:
    """Yield a table's lines. One that is wider than the page scrolls by itself."""
    target = f' id="{anchor(table.name)}"' if table.name else ""
    named = ""
    if table.name:
        named = f' tabindex="0" role="region" aria-labelledby="{anchor(table.name)}-caption"'
    classes = ' class="full"' if any(column.share for column in table.columns) else ""
    yield f'<div class="scroll"{named}>'
    yield f"<table{target}{classes}>"
    if table.name:
        caption = html_text(table.caption, reading)
        number = reading.numbers[table.name].text
        yield f'<caption id="{anchor(table.name)}-caption"><b>{number}</b> {caption}</caption>'
    shares = sum(column.share for column in table.columns)
    yield (
        "<colgroup>" + "".join(_column(column, shares) for column in table.columns) + "</colgroup>"
    )
    if any(column.title or column.unit for column in table.columns):
        yield "<thead><tr>" + "".join(map(_title, table.columns)) + "</tr></thead>"
    rows = _Rows(table.columns, widest_fractions(table.columns, table.rows), reading)
    for group in _groups(table.rows):
        yield "<tbody>"
        yield from map(rows.html, group)
        yield "</tbody>"
    yield "</table>"
    yield "</div>"


class _Rows(Struct, frozen=True, eq=False):
    """The rows of one table."""

    columns: Sequence[Column]
    fractions: Sequence[str]
    reading: Reading

    def html(self, row: Row) -> str:
        """Return a row with all its cells."""
        if row.look == "head":
            return f'<tr class="head">{"".join(self._head(row))}</tr>'
        cells = "".join(self._cell(place, cell, row) for place, cell in enumerate(row.cells))
        return f'<tr class="total">{cells}</tr>' if row.look == "total" else f"<tr>{cells}</tr>"

    def _head(self, row: Row) -> Iterator[str]:
        span = len(self.columns) - len(row.cells) + 1
        for place, cell in enumerate(row.cells):
            over = f' colspan="{span}" scope="rowgroup"' if place == 0 else ' class="right"'
            name = "td" if place else "th"
            yield f"<{name}{over}>{html_text(cell, self.reading)}</{name}>"

    def _cell(self, place: int, cell: Text, row: Row) -> str:
        column = self.columns[place]
        names = _classes(column)
        style = f' style="--level:{row.level}"' if place == 0 and row.level else ""
        if style:
            names.append("level")
        classes = f' class="{" ".join(names)}"' if names else ""
        # The first words of a row say what its figures are of.
        name = "th" if place == 0 and column.align == "left" else "td"
        scope = ' scope="row"' if name == "th" else ""
        return f"<{name}{scope}{classes}{style}>{self._inside(place, cell)}</{name}>"

    def _inside(self, place: int, cell: Text) -> str:
        room = len(self.fractions[place])
        split = split_of(cell) if room else None
        if split is None:
            return html_text(cell, self.reading)
        whole, fraction = (html_text(part, self.reading) for part in (split.whole, split.fraction))
        return f'{whole}<span class="fraction" style="width:{room}ch">{fraction}</span>'


def _groups(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Yield rows with the head that names them."""
    group: list[Row] = []
    for row in rows:
        if row.look == "head" and group:
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _column(column: Column, shares: float) -> str:
    return f'<col style="width:{100 * column.share / shares:.4g}%">' if column.share else "<col>"


def _title(column: Column) -> str:
    names = _classes(column)
    classes = f' class="{" ".join(names)}"' if names else ""
    unit = f' <span class="unit">{html_words(column.unit)}</span>' if column.unit else ""
    return f'<th scope="col"{classes}>{html_words(column.title)}{unit}</th>'


def _classes(column: Column) -> list[str]:
    classes: list[str] = [] if column.align == "left" else [column.align]
    return [*classes, "wide"] if column.share and column.align == "left" else classes
