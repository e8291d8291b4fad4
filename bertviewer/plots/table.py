"""What has data to take along: a header, and rows of as many cells."""

from typing import Protocol

Cell = str | int | float | None
Table = tuple[tuple[str, ...], list[tuple[Cell, ...]]]
"""A header, and rows of as many cells."""


class Tabular(Protocol):
    """What has data to take along, as CSV or to a spreadsheet."""

    def table(self) -> Table:
        """Return a header and rows."""
        ...
