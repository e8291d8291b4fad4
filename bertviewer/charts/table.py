"""What has data to take along: headers that tell a stranger what they are, rows, CSV."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from bertviewer.core.util.text import without_isolates

if TYPE_CHECKING:
    # Whatever has something to copy is there before numpy.
    from numpy.typing import NDArray

    from bertviewer.charts.levels import Masked, Values

Cell = str | int | float | None
Table = tuple[tuple[str, ...], list[tuple[Cell, ...]]]
"""A header, and rows of as many cells."""


class Tabular(Protocol):
    """What has data to take along, as CSV or to a spreadsheet."""

    def table(self) -> Table:
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
    writer.writerows([written(cell) for cell in row] for row in rows)
    return text.getvalue()


def tabbed_text(data: Tabular) -> str:
    """Return the data of a chart or a table with tabs between cells, as spreadsheets paste it."""
    header, rows = data.table()
    return tabbed_lines([header, *rows])


def tabbed_lines(rows: Iterable[Sequence[Cell]]) -> str:
    """Return rows as lines, with a tab between two cells."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerows(map(written, row) for row in rows)
    return text.getvalue().removesuffix("\n")


def without(values: "Values", masked: "Masked | None") -> list[Any]:
    """Return values as nested lists, ``None`` in place of those that a mask hides."""
    cells: NDArray[Any] = values
    if masked is not None:
        cells = values.astype(object)
        cells[masked] = None
    found: list[Any] = cells.tolist()
    return found


def written(cell: Cell) -> str:
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
