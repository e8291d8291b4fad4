"""What has data to take along: a header, and rows of as many cells, as CSV too."""

import csv
import io
from typing import Protocol

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


def written(cell: Cell) -> str:
    """Return a cell's text, with all digits of a number."""
    if cell is None:
        return ""
    return cell if isinstance(cell, str) else repr(cell)
