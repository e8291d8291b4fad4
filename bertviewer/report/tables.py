"""Tables of a report made from tables of the window, and numbers as text."""

import re
from collections.abc import Iterable
from math import floor, isfinite, log10

from bertviewer.charts.table import DataTable, TableCell
from bertviewer.core.util.numbers import MINUS, with_minus
from bertviewer.core.util.text import joined
from bertviewer.report.blocks import Bar, Code, Column, Row, Span, Strong, Table, Text
from bertviewer.report.words import likelihood

Figures = Iterable[float | None]
DIGITS = 5
"""Significant digits of the largest number of a column."""
_SMALL, _LARGE = 1e-3, 1e6
"""Numbers outside of these limits are written with a power of 10."""
_POWER = re.compile(r"(.*\d)e(\S+)")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def exact(value: float | None, digits: int = DIGITS) -> str:
    """Return a number with significant digits, zeros included; counts are whole."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return with_minus(f"{value:,}")
    if not isfinite(value):
        return with_minus(str(value).replace("inf", "∞").replace("nan", "NaN"))
    if not value:
        return "0"
    if not _SMALL <= abs(value) < _LARGE:
        return with_power(value, digits)
    return fixed(value, _places(value, digits))


def with_power(value: float, digits: int) -> str:
    """Return a number as ``1.1 × 10⁻⁶``."""
    mantissa, power = f"{value:.{digits - 1}e}".split("e")
    return f"{with_minus(mantissa)} × 10{str(int(power)).translate(_SUPERSCRIPTS)}"


def column_texts(values: Figures, digits: int = DIGITS) -> list[str]:
    """Return the numbers of a column with one number of decimals.

    The largest has ``digits`` significant digits. Powers of 10 are used only if all numbers need
    them. Counts are whole, and a dash stands for an unknown number.
    """
    given = list(values)
    known = [abs(x) for x in given if isinstance(x, float) and isfinite(x) and x]
    if not known or any(isinstance(x, int) for x in given):
        return [exact(x, digits) for x in given]
    largest = max(known)
    if largest < _SMALL or largest >= _LARGE:
        return [
            exact(x, digits) if x is None or not isfinite(x) else _scaled(x, digits) for x in given
        ]
    places = _places(largest, digits)
    return [exact(x, digits) if x is None or not isfinite(x) else fixed(x, places) for x in given]


def _places(value: float, digits: int) -> int:
    """Return the decimals of a number with this many significant digits."""
    return max(digits - 1 - floor(log10(abs(value))), 0)


def _scaled(value: float, digits: int) -> str:
    return with_power(value, digits) if value else "0"


def fixed(value: float, places: int) -> str:
    """Return a number with this many decimals; a zero has no sign."""
    text = f"{value:,.{places}f}"
    return with_minus(text if float(text.replace(",", "")) else text.removeprefix("-"))


def cosine_text(value: float | None) -> str:
    """Return a cosine with four decimals; a dash if it is not defined."""
    return "–" if value is None or not isfinite(value) else with_minus(f"{value:.4f}")


def difference_text(value: float | None) -> str:
    """Return a difference with two significant digits; a dash for none."""
    if value is not None and isfinite(value) and _SMALL <= abs(value) < 100:
        return with_minus(f"{value:.2g}")
    return exact(None if value is None else float(value), 2)


def table_of(
    found: DataTable,
    name: str,
    caption: Text,
    max_rows: int | None = None,
    *,
    is_wide: bool = False,
) -> Table:
    """Return the first rows of a table of the window; bold cells and bars are kept.

    Text columns of a wide table share the page's width. Numbers of a column have one number of
    decimals.
    """
    shown = found.rows[:max_rows]
    columns, cells = [], []
    for place, column in enumerate(found.columns):
        is_text = column.kind in ("text", "shade")
        columns.append(
            Column(
                column.title, "left" if is_text else "decimal", 1.0 if is_wide and is_text else 0.0
            )
        )
        cells.append([_cell(row[place], column.kind) for row in shown])
    rows = tuple(Row(tuple(row)) for row in zip(*cells, strict=True))
    return Table(tuple(columns), rows, name, caption)


def layer_table(
    stacks: Iterable[tuple[str, Iterable[Figures]]],
    titles: Iterable[str],
    name: str,
    caption: str,
    digits: int = DIGITS,
) -> Table:
    """Return a table with a row of numbers for each layer, under the name of its stack.

    Columns whose numbers are all 0 are left out; the caption says so.
    """
    titles = list(titles)
    lines = [(stack, [list(each) for each in layers]) for stack, layers in stacks]
    figures = [each for _, layers in lines for each in layers]
    by_column = [list(column) for column in zip(*figures, strict=True)]
    zero = [not any(column) and 0 in column for column in by_column]
    zero = [False] * len(zero) if all(zero) else zero
    kept = [place for place, is_zero in enumerate(zero) if not is_zero]
    texts = iter(zip(*(column_texts(by_column[place], digits) for place in kept), strict=True))
    rows: list[Row] = []
    for stack, layers in lines:
        rows += [Row.of(Code(stack), look="head")] if stack else []
        rows += [Row.of(str(number), *next(texts)) for number in range(len(layers))]
    omitted = [title for title, is_zero in zip(titles, zero, strict=True) if is_zero]
    if omitted:
        caption += f" {joined(omitted)} {'is' if len(omitted) < 2 else 'are'} 0 in every layer."
    columns = (Column("Layer", "right"), *(Column(titles[place], "decimal", 1) for place in kept))
    return Table(columns, tuple(rows), name, (caption,))


def _cell(cell: TableCell, kind: str) -> Text:
    text = cell.text
    if kind == "bar" and isinstance(cell.value, float) and isfinite(cell.value):
        text = likelihood(cell.value)
    if power := _POWER.fullmatch(text):
        text = f"{power[1]} × 10{str(int(power[2].replace(MINUS, '-'))).translate(_SUPERSCRIPTS)}"
    span: Span = Strong(text) if cell.is_bold else text
    return (span, " ", Bar(cell.share)) if kind == "bar" else (span,)
