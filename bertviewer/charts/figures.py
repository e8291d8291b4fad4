"""Tables of figures as plain data: exact values, and how they are shown."""

from math import isfinite
from typing import Literal

from msgspec import Struct

from bertviewer.charts.place import Place
from bertviewer.charts.table import Cell, Table, column_header
from bertviewer.core.util.numbers import number_text, with_minus

Kind = Literal["text", "number", "bar", "shade"]


class FigureColumn(Struct, frozen=True):
    """A column's title, and what its cells are.

    Words, numbers, numbers over a bar as long as their share, or words on a shade of it. ``name``
    tells a stranger what they are, where the title is too short for that.
    """

    title: str
    kind: Kind = "text"
    name: str = ""


class Figure(Struct, frozen=True):
    """A cell: its exact value, its text, the share that its bar or shade shows, and more words."""

    value: Cell
    text: str
    share: float = 0.0
    tip: str = ""
    is_bold: bool = False


class FigureTable(Struct, frozen=True):
    """Rows of figures; ``places`` has what each row stands for, or nothing at all."""

    columns: tuple[FigureColumn, ...]
    rows: tuple[tuple[Figure, ...], ...]
    places: tuple[Place, ...] = ()

    def table(self) -> Table:
        """Return the exact values, under names that are understood without the window."""
        names = tuple(column.name or column.title for column in self.columns)
        return names, [tuple(figure.value for figure in row) for row in self.rows]


NOTHING = Figure(None, "–")
"""A cell without a value."""


def words(text: str, tip: str = "", is_bold: bool = False) -> Figure:
    """Return a cell of words."""
    return Figure(text, text, tip=tip, is_bold=is_bold)


def number(value: float | None, digits: int = 7) -> Figure:
    """Return a number of so many digits; all of them are told when asked for."""
    if value is None:
        return NOTHING
    text = with_minus(f"{value:,}") if isinstance(value, int) else number_text(value, digits)
    return Figure(value, text, tip=repr(value))


def score(value: float | None) -> Figure:
    """Return a logit: three digits behind the point tell them apart."""
    if value is None:
        return NOTHING
    return Figure(value, with_minus(f"{value:.3f}"), tip=repr(value))


def probability(value: float | None) -> Figure:
    """Return a probability over its bar."""
    if value is None or not isfinite(value):
        return NOTHING if value is None else Figure(value, str(value))
    return Figure(value, probability_text(value), value, repr(value))


def probability_text(value: float) -> str:
    """Return four digits behind the point, or two digits of what is less than that shows."""
    text = f"{value:.4f}" if value >= 0.00095 or value == 0 else f"{value:.1e}"
    return with_minus(text)


def difference(b: float | None, a: float | None) -> Figure:
    """Return B − A of two probabilities, with its sign."""
    if b is None or a is None:
        return NOTHING
    value = b - a
    text = f"{value:+.4f}" if abs(value) >= 0.00095 else f"{value:+.1e}" if value else "0"
    return Figure(value, with_minus(text), tip=repr(value))


def of_both_runs(
    measure: str, kind: Kind = "number", prefix: str = ""
) -> tuple[FigureColumn, FigureColumn, FigureColumn]:
    """Return the columns of B's figures, of A's and of B − A; ``prefix`` is of their titles."""
    kinds: tuple[tuple[str, Kind], ...] = (("B", kind), ("A", kind), ("B − A", "number"))
    b, a, less = (
        FigureColumn(f"{prefix}{run}", kind, column_header(run, measure)) for run, kind in kinds
    )
    return b, a, less


def compared(b: float | None, a: float | None) -> tuple[Figure, Figure]:
    """Return the cells of A's probability and of B − A."""
    return probability(a), difference(b, a)
