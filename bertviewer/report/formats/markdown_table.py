"""Tables as GitHub's Markdown, in columns that stand below one another in the text as well."""

from collections.abc import Iterator, Sequence

from bertviewer.report.blocks import Column, Row, Table, Text
from bertviewer.report.formats.markdown_text import markdown_spans, markdown_words
from bertviewer.report.formats.reading import Reading

_LEVEL = "\N{NO-BREAK SPACE}" * 2
_MOST_PADDED = 48
_ALIGNED = {"left": ("", ""), "center": (":", ":"), "right": ("", ":"), "decimal": ("", ":")}


def markdown_table(table: Table, reading: Reading) -> Iterator[str]:
    """Yield a table's lines, with its caption before it."""
    if table.name:
        caption = markdown_spans(table.caption, reading)
        yield f"**{reading.numbers[table.name].text}.** {caption}"
        yield ""
    count = len(table.columns)
    rows = [_row(row, count, reading) for row in table.rows]
    yield from table_lines([*map(_title, table.columns)], rows, table.columns)


def table_lines(
    head: Sequence[str], rows: Sequence[Sequence[str]], columns: Sequence[Column]
) -> Iterator[str]:
    """Yield the lines of a table whose cells are Markdown already."""
    widths = [
        max(3, *(len(line[place]) for line in (head, *rows) if len(line[place]) <= _MOST_PADDED))
        if any(len(line[place]) <= _MOST_PADDED for line in (head, *rows))
        else 3
        for place in range(len(columns))
    ]
    yield _line(head, widths, columns)
    yield "|" + "|".join(map(_rule, widths, columns)) + "|"
    for row in rows:
        yield _line(row, widths, columns)


def _rule(width: int, column: Column) -> str:
    before, after = _ALIGNED[column.align]
    return f" {before}{'-' * (width - len(before + after))}{after} "


def _line(cells: Sequence[str], widths: Sequence[int], columns: Sequence[Column]) -> str:
    padded = (
        cell.ljust(width) if column.align in ("left", "center") else cell.rjust(width)
        for cell, width, column in zip(cells, widths, columns, strict=True)
    )
    return f"| {' | '.join(padded)} |"


def _title(column: Column) -> str:
    unit = f" ({markdown_words(column.unit)})" if column.unit else ""
    return markdown_words(column.title) + unit


def _row(row: Row, count: int, reading: Reading) -> list[str]:
    cells = [_cell(cell, reading) for cell in row.cells]
    if row.look == "plain":
        cells[0] = _LEVEL * row.level + cells[0]
        return cells
    cells = list(map(_strong, cells))
    first, *others = cells
    return [first, *[""] * (count - len(cells)), *others]


def _strong(cell: str) -> str:
    """Return a cell that stands out; stars alone would not do beside brackets."""
    if not cell or cell[0] in "*█" or cell.startswith("<b>"):
        return cell
    return f"**{cell}**" if cell[0].isalnum() and cell[-1].isalnum() else f"<b>{cell}</b>"


def _cell(cell: Text, reading: Reading) -> str:
    return markdown_spans(cell, reading, is_cell=True)
