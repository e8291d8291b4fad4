"""What has data to take along: headers that tell a stranger what they are, rows, CSV.

Tables of figures as plain data: exact values, and how they are shown.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from bertviewer.core.util.text import without_isolates

if TYPE_CHECKING:
    # Whatever has something to copy is there before numpy.
    from numpy.typing import NDArray

    from bertviewer.charts.levels import Mask, Values
from math import isfinite
from typing import Literal

from msgspec import Struct

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.util.numbers import number_text, with_minus

CellValue = str | int | float | None
Rows = tuple[tuple[str, ...], list[tuple[CellValue, ...]]]
"""A header, and rows of as many cells."""


class Tabular(Protocol):
    """What has data to take along, as CSV or to a spreadsheet."""

    def table(self) -> Rows:
        """Return a header and rows."""
        ...


def csv_text(data: Tabular) -> str:
    """Return the data of a chart or a table as CSV after RFC 4180, in Unicode with CRLF line ends.

    Numbers have all digits that it takes to read the same number back. An empty cell has no
    value; NaN and Inf are ``nan`` and ``inf``. Texts stand as they are: a token such as ``=`` is
    not disarmed for spreadsheets, for then the data would no longer be the data.
    """
    header, rows = data.table()
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows([value_text(cell) for cell in row] for row in rows)
    return text.getvalue()


def tabbed_text(data: Tabular) -> str:
    """Return the data of a chart or a table with tabs between cells, as spreadsheets paste it."""
    header, rows = data.table()
    return tabbed_lines([header, *rows])


def tabbed_lines(rows: Iterable[Sequence[CellValue]]) -> str:
    """Return rows as lines, with a tab between two cells."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerows(map(value_text, row) for row in rows)
    return text.getvalue().removesuffix("\n")


def unmasked_rows(values: "Values", masked: "Mask | None") -> list[Any]:
    """Return values as nested lists, ``None`` in place of those that a mask hides."""
    cells: NDArray[Any] = values
    if masked is not None:
        cells = values.astype(object)
        cells[masked] = None
    found: list[Any] = cells.tolist()
    return found


def value_text(cell: CellValue) -> str:
    """Return a cell's text, with all digits of a number."""
    if cell is None:
        return ""
    return cell if isinstance(cell, str) else repr(cell)


def column_header(label: str, measure: str) -> str:
    """Return a label and what its numbers are, "encoder.layer: output, std"; nothing twice."""
    name = without_isolates(label)
    if not name or measure in ("", name):
        return name or measure
    is_told = measure.startswith(f"{name}, ") or measure.endswith(f", {name}")
    return measure if is_told else f"{name}, {measure}"


def corner_header(rows: str, columns: str, values: str, subject: str = "") -> str:
    """Return what the rows, the columns and the numbers of a grid are: "Layer × Token: Norm".

    ``subject`` is what all of it is of.
    """
    sides = " × ".join(filter(None, (rows, columns)))
    figures = ", ".join(filter(None, (values, subject)))
    return ": ".join(filter(None, (sides, figures)))


Kind = Literal["text", "number", "bar", "shade"]


class TableColumn(Struct, frozen=True):
    """A column's title, and what its cells are.

    Words, numbers, numbers over a bar as long as their share, or words on a shade of it. ``name``
    tells a stranger what they are, where the title is too short for that.
    """

    title: str
    kind: Kind = "text"
    name: str = ""


class TableCell(Struct, frozen=True):
    """A cell: its exact value, its text, the share that its bar or shade shows, and more words."""

    value: CellValue
    text: str
    share: float = 0.0
    tip: str = ""
    is_bold: bool = False


class DataTable(Struct, frozen=True):
    """Rows of figures; ``keys`` has what each row stands for, or nothing at all."""

    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    keys: tuple[SelectionKey, ...] = ()

    def table(self) -> Rows:
        """Return the exact values, under names that are understood without the window."""
        names = tuple(column.name or column.title for column in self.columns)
        return names, [tuple(figure.value for figure in row) for row in self.rows]


EMPTY = TableCell(None, "–")
"""A cell without a value."""


def text_cell(text: str, tip: str = "", is_bold: bool = False) -> TableCell:
    """Return a cell of words."""
    return TableCell(text, text, tip=tip, is_bold=is_bold)


def number_cell(value: float | None, digits: int = 7) -> TableCell:
    """Return a number of so many digits; all of them are told when asked for."""
    if value is None:
        return EMPTY
    text = with_minus(f"{value:,}") if isinstance(value, int) else number_text(value, digits)
    return TableCell(value, text, tip=repr(value))


def logit_cell(value: float | None) -> TableCell:
    """Return a logit: three digits behind the point tell them apart."""
    if value is None:
        return EMPTY
    return TableCell(value, with_minus(f"{value:.3f}"), tip=repr(value))


def probability_cell(value: float | None) -> TableCell:
    """Return a probability over its bar."""
    if value is None or not isfinite(value):
        return EMPTY if value is None else TableCell(value, str(value))
    return TableCell(value, probability_text(value), value, repr(value))


def probability_text(value: float) -> str:
    """Return four digits behind the point, or two digits of what is less than that shows."""
    text = f"{value:.4f}" if value >= 0.00095 or value == 0 else f"{value:.1e}"
    return with_minus(text)


def difference_cell(b: float | None, a: float | None) -> TableCell:
    """Return B − A of two probabilities, with its sign."""
    if b is None or a is None:
        return EMPTY
    value = b - a
    text = f"{value:+.4f}" if abs(value) >= 0.00095 else f"{value:+.1e}" if value else "0"
    return TableCell(value, with_minus(text), tip=repr(value))


def comparison_columns(
    measure: str, kind: Kind = "number", prefix: str = ""
) -> tuple[TableColumn, TableColumn, TableColumn]:
    """Return the columns of B's figures, of A's and of B − A; ``prefix`` is of their titles."""
    kinds: tuple[tuple[str, Kind], ...] = (("B", kind), ("A", kind), ("B − A", "number"))
    b, a, less = (
        TableColumn(f"{prefix}{run}", kind, column_header(run, measure)) for run, kind in kinds
    )
    return b, a, less


def baseline_cells(b: float | None, a: float | None) -> tuple[TableCell, TableCell]:
    """Return the cells of A's probability and of B − A."""
    return probability_cell(a), difference_cell(b, a)
