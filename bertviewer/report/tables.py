"""Tables of figures, as the window shows them, as tables of a report."""

from collections.abc import Iterable

from bertviewer.charts.table import DataTable, TableCell
from bertviewer.report.blocks import Bar, Code, Column, Row, Span, Strong, Table, Text
from bertviewer.report.numbers import exact

Figures = Iterable[float | None]


def table_of(
    found: DataTable, name: str, caption: Text, most: int | None = None, *, wide: bool = False
) -> Table:
    """Return a table's first rows; bold cells are strong, and bars stand behind their numbers.

    Columns of words share the page's width if the table is to be ``wide``.
    """
    columns = tuple(
        Column(
            column.title,
            "left" if column.kind in ("text", "shade") else "decimal",
            1.0 if wide and column.kind in ("text", "shade") else 0.0,
        )
        for column in found.columns
    )
    kinds = tuple(column.kind for column in found.columns)
    rows = tuple(
        Row(tuple(_cell(cell, kind) for cell, kind in zip(row, kinds, strict=True)))
        for row in found.rows[:most]
    )
    return Table(columns, rows, name, caption)


def layer_table(
    stacks: Iterable[tuple[str, Iterable[Figures]]], titles: Iterable[str], name: str, caption: str
) -> Table:
    """Return figures layer by layer, stack by stack; a stack's name stands above its layers."""
    rows: list[Row] = []
    for stack, layers in stacks:
        rows += [Row.of(Code(stack), look="head")] if stack else []
        rows += [Row.of(str(number), *map(exact, each)) for number, each in enumerate(layers)]
    columns = (Column("Layer", "right"), *(Column(title, "decimal", 1) for title in titles))
    return Table(columns, tuple(rows), name, (caption,))


def _cell(cell: TableCell, kind: str) -> Text:
    said: Span = Strong(cell.text) if cell.is_bold else cell.text
    return (said, " ", Bar(cell.share)) if kind == "bar" else (said,)
