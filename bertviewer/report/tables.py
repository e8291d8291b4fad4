"""Tables of a report made from tables of the window, and numbers as text."""

from collections.abc import Iterable
from math import floor, isfinite, log10

from bertviewer.charts.table import DataTable, TableCell
from bertviewer.core.util.numbers import deviation_text, with_minus
from bertviewer.report.blocks import Bar, Code, Column, Row, Span, Strong, Table, Text

Figures = Iterable[float | None]
MAX_PLACES = 6
"""Decimals of a number without a power of 10."""


def exact(value: float | None, digits: int = 5) -> str:
    """Return a number with significant digits, zeros included; counts are whole."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    return with_minus(f"{value:#.{digits}g}".rstrip(".") if value else "0")


def column_texts(values: Figures, digits: int) -> list[str]:
    """Return the numbers of a column with one number of decimals.

    The largest has ``digits`` significant digits; a dash stands for an unknown number.
    """
    given = list(values)
    largest = max((abs(x) for x in given if x is not None and isfinite(x)), default=0.0)
    places = max(digits - 1 - floor(log10(largest)), 0) if largest else 0
    if places > MAX_PLACES:
        return ["–" if x is None else with_minus(f"{x:.{digits - 1}e}") for x in given]
    return ["–" if x is None else with_minus(f"{x:,.{places}f}") for x in given]


def cosine_text(value: float | None) -> str:
    """Return a cosine with four decimals; a dash if it is not defined."""
    return "–" if value is None or not isfinite(value) else with_minus(f"{value:.4f}")


def difference_text(value: float | None) -> str:
    """Return a difference with two significant digits; a dash for none."""
    return with_minus(deviation_text(value))


def table_of(
    found: DataTable,
    name: str,
    caption: Text,
    max_rows: int | None = None,
    *,
    is_wide: bool = False,
) -> Table:
    """Return the first rows of a table of the window; bold cells and bars are kept.

    Text columns of a wide table share the page's width.
    """
    columns = tuple(
        Column(
            column.title,
            "left" if column.kind in ("text", "shade") else "decimal",
            1.0 if is_wide and column.kind in ("text", "shade") else 0.0,
        )
        for column in found.columns
    )
    kinds = tuple(column.kind for column in found.columns)
    rows = tuple(
        Row(tuple(_cell(cell, kind) for cell, kind in zip(row, kinds, strict=True)))
        for row in found.rows[:max_rows]
    )
    return Table(columns, rows, name, caption)


def layer_table(
    stacks: Iterable[tuple[str, Iterable[Figures]]],
    titles: Iterable[str],
    name: str,
    caption: str,
    digits: int = 5,
) -> Table:
    """Return a table with a row of numbers for each layer, under the name of its stack."""
    rows: list[Row] = []
    for stack, layers in stacks:
        rows += [Row.of(Code(stack), look="head")] if stack else []
        rows += [
            Row.of(str(number), *(exact(n, digits) for n in each))
            for number, each in enumerate(layers)
        ]
    columns = (Column("Layer", "right"), *(Column(title, "decimal", 1) for title in titles))
    return Table(columns, tuple(rows), name, (caption,))


def _cell(cell: TableCell, kind: str) -> Text:
    text: Span = Strong(cell.text) if cell.is_bold else cell.text
    return (text, " ", Bar(cell.share)) if kind == "bar" else (text,)
