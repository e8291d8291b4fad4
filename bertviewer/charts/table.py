"""Tables as plain data: exact values, how they are displayed, and CSV of tables and charts."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.util.numbers import number_text, with_minus
from bertviewer.core.util.text import without_isolates

if TYPE_CHECKING:
    # Tables are imported before numpy.
    from numpy.typing import NDArray

    from bertviewer.charts.levels import Mask, Values

CellValue = str | int | float | None
Rows = tuple[tuple[str, ...], list[tuple[CellValue, ...]]]
"""A header, and rows of as many cells."""

Kind = Literal["text", "number", "bar", "shade"]
"""Texts, numbers, numbers over a bar of their share, or texts on a shade of it."""


class Tabular(Protocol):
    """Anything with data to export as CSV or to a spreadsheet."""

    def table(self) -> Rows:
        """Return a header and rows."""
        ...


class TableColumn(Struct, frozen=True):
    """A column; ``name`` is its header in exports, if the title alone is not clear there."""

    title: str
    kind: Kind = "text"
    name: str = ""


class TableCell(Struct, frozen=True):
    """A cell: its exact value, its text, the share of its bar or shade, and its tooltip."""

    value: CellValue
    text: str
    share: float = 0.0
    tip: str = ""
    is_bold: bool = False


EMPTY = TableCell(None, "–")
"""A cell without a value."""


class DataTable(Struct, frozen=True):
    """A table; ``keys`` has what each row selects, or nothing."""

    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    keys: tuple[SelectionKey, ...] = ()

    def table(self) -> Rows:
        """Return the exact values under the names of the columns."""
        names = tuple(column.name or column.title for column in self.columns)
        return names, [tuple(cell.value for cell in row) for row in self.rows]


class Field(Struct, frozen=True):
    """Adjacent columns, and a function that returns their cells for a record."""

    columns: Sequence[TableColumn]
    cells: Callable[[Any], Iterable[TableCell]]


def data_table(
    fields: Sequence[Field], records: Iterable[Any], keys: Iterable[SelectionKey] = ()
) -> DataTable:
    """Return a table with a row for each record."""
    columns = tuple(column for field in fields for column in field.columns)
    rows = (tuple(cell for field in fields for cell in field.cells(each)) for each in records)
    return DataTable(columns, tuple(rows), tuple(keys))


def field(
    title: str, cell: Callable[[Any], TableCell], kind: Kind = "text", name: str = ""
) -> Field:
    """Return a field of one column."""
    return Field((TableColumn(title, kind, name),), lambda record: (cell(record),))


def runs_field(
    title: str,
    values: Callable[[Any], tuple[float | None, float | None]],
    *,
    is_compared: bool,
    kind: Kind = "number",
    prefix: str = "",
    digits: int = 7,
) -> Field:
    """Return a field with the numbers of run B, and if compared those of run A and B − A.

    Args:
        title: the title of the single column; in exports the name of all.
        values: returns the numbers of B and A.
        is_compared: whether there is a run A.
        kind: "bar" for probabilities.
        prefix: precedes the titles B, A and B − A.
        digits: of the difference of two numbers.
    """
    cell = probability_cell if kind == "bar" else number_cell

    def difference(b: float | None, a: float | None) -> TableCell:
        if kind == "bar":
            return difference_cell(b, a)
        return number_cell(None if b is None or a is None else b - a, digits)

    def cells(record: Any) -> Iterable[TableCell]:
        b, a = values(record)
        return (cell(b), cell(a), difference(b, a)) if is_compared else (cell(b),)

    if not is_compared:
        name = title if prefix else ""
        return Field((TableColumn(prefix.strip() or title, kind, name),), cells)
    kinds: tuple[tuple[str, Kind], ...] = (("B", kind), ("A", kind), ("B − A", "number"))
    columns = [TableColumn(f"{prefix}{run}", of, column_header(run, title)) for run, of in kinds]
    return Field(columns, cells)


def text_cell(text: str, tip: str = "", *, is_bold: bool = False) -> TableCell:
    """Return a cell with a text."""
    return TableCell(text, text, tip=tip, is_bold=is_bold)


def number_cell(value: float | None, digits: int = 7) -> TableCell:
    """Return a number rounded to significant digits; the tooltip has all digits."""
    if value is None:
        return EMPTY
    text = with_minus(f"{value:,}") if isinstance(value, int) else number_text(value, digits)
    return TableCell(value, text, tip=repr(value))


def logit_cell(value: float | None) -> TableCell:
    """Return a logit with three decimals."""
    return EMPTY if value is None else TableCell(value, with_minus(f"{value:.3f}"), tip=repr(value))


def share_cell(value: float, text: str = "") -> TableCell:
    """Return a percentage with a bar."""
    return TableCell(value, text or f"{value:.1%}", value)


def probability_cell(value: float | None) -> TableCell:
    """Return a probability with a bar."""
    if value is None:
        return EMPTY
    if not isfinite(value):
        return TableCell(value, str(value))
    return TableCell(value, probability_text(value), value, repr(value))


def probability_text(value: float) -> str:
    """Return four decimals, or two significant digits of a smaller number."""
    text = f"{value:.4f}" if value >= 0.00095 or value == 0 else f"{value:.1e}"
    return with_minus(text)


def difference_cell(b: float | None, a: float | None) -> TableCell:
    """Return the difference B − A of two probabilities with its sign."""
    if b is None or a is None:
        return EMPTY
    value = b - a
    text = f"{value:+.4f}" if abs(value) >= 0.00095 else f"{value:+.1e}" if value else "0"
    return TableCell(value, with_minus(text), tip=repr(value))


def column_header(label: str, measure: str) -> str:
    """Return a label and a measure, such as "encoder.layer: output, std", without repetition."""
    name = without_isolates(label)
    if not name or measure in ("", name):
        return name or measure
    is_named = measure.startswith(f"{name}, ") or measure.endswith(f", {name}")
    return measure if is_named else f"{name}, {measure}"


def corner_header(rows: str, columns: str, values: str, subject: str = "") -> str:
    """Return the header of a grid's first column, such as "Layer × Token: Norm, layer 3"."""
    sides = " × ".join(filter(None, (rows, columns)))
    figures = ", ".join(filter(None, (values, subject)))
    return ": ".join(filter(None, (sides, figures)))


def unmasked_rows(values: "Values", masked: "Mask | None") -> list[Any]:
    """Return values as nested lists, with ``None`` where they are masked."""
    cells: NDArray[Any] = values
    if masked is not None:
        cells = values.astype(object)
        cells[masked] = None
    found: list[Any] = cells.tolist()
    return found


def csv_text(data: Tabular) -> str:
    """Return a chart or table as CSV (RFC 4180): Unicode with CRLF line ends.

    Numbers have all digits that are needed to read the same number back. Missing values are empty;
    NaN and Inf are ``nan`` and ``inf``. Texts that spreadsheets could take for formulas, such as
    the token ``=``, are not changed, because the data would no longer be the data.
    """
    header, rows = data.table()
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows(map(value_text, row) for row in rows)
    return text.getvalue()


def tabbed_text(data: Tabular) -> str:
    """Return a chart or table as tab-separated text, for spreadsheets."""
    header, rows = data.table()
    return tabbed_lines([header, *rows])


def tabbed_lines(rows: Iterable[Sequence[CellValue]]) -> str:
    """Return rows as tab-separated lines."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerows(map(value_text, row) for row in rows)
    return text.getvalue().removesuffix("\n")


def value_text(cell: CellValue) -> str:
    """Return the text of a value with all digits."""
    if cell is None:
        return ""
    return cell if isinstance(cell, str) else repr(cell)
