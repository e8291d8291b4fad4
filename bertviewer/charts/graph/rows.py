"""X coordinates of columns, and line breaks where a graph is wider than the canvas."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from bertviewer.charts.graph.columns import Item, LayeredGraph

_NEAR, _COLUMN_GAP, _TRACK_GAP = 14.0, 24.0, 11.0
"""Between two columns with only straight edges; with vertical tracks; and between two tracks."""

TURN = 22.0
"""How far a line continues past the last node of a row before it turns down."""

ROW_GAP = 44.0
_NARROW = 80.0


class EndLabel(Struct, frozen=True):
    """The label above the line of an input or output, which may cover other columns.

    Attributes:
        column: the column of the input or output.
        width: the width of the label.
        is_output: the label ends at the right side of its column, and otherwise begins at the left.
        stop: the nearest column with something at its height; one outside all if there is none.
    """

    column: int
    width: float
    is_output: bool
    stop: int

    def min_left(
        self,
        column: int,
        first: int,
        left: Sequence[float],
        widths: Sequence[float],
        gaps: Sequence[float],
    ) -> float:
        """Return the minimum left side of a column in the row that begins with ``first``."""
        if self.is_output and self.column == column:
            stop = self.stop
            end = 0.0 if stop < first else left[stop] + widths[stop] + gaps[stop + 1]
            return end + self.width - widths[column]
        if not self.is_output and self.stop == column and self.column >= first:
            return left[self.column] + self.width + gaps[column]
        return 0.0


class Row(Struct, frozen=True):
    """Columns of one row: ``line`` is the y coordinate of the main path.

    ``right`` is where the path turns down to the next row.
    """

    first: int
    last: int
    line: float
    bottom: float
    right: float


class RowLayout(Struct, frozen=True):
    """Rows from top to bottom, each column's left side and width, and the extent of everything."""

    left: tuple[float, ...]
    width: tuple[float, ...]
    rows: tuple[Row, ...]
    right: float

    def row_of(self, column: int) -> Row:
        """Return the row of a column."""
        return next(row for row in self.rows if row.first <= column <= row.last)

    def track(self, column: int, track: int, count: int) -> float:
        """Return the x coordinate of a vertical track between a column and the one before it."""
        span = _TRACK_GAP * (count - 1)
        gap = _COLUMN_GAP + span
        return self.left[column] - gap / 2 - span / 2 + _TRACK_GAP * track


def row_layout(
    graph: LayeredGraph,
    heights: Mapping[int, float],
    counts: Mapping[int, int],
    labels: Sequence[EndLabel],
    canvas: float,
) -> RowLayout:
    """Return the rows of a graph; ``counts`` are the vertical tracks before each column."""
    columns = graph.columns
    last = max(columns)
    widths = [max(item.extent.width for item in columns[number]) for number in range(last + 1)]
    gaps = [0.0] + [
        _COLUMN_GAP + _TRACK_GAP * (counts[number] - 1) if counts.get(number) else _NEAR
        for number in range(1, last + 1)
    ]
    ends = [number for number in range(1, last - 2) if _may_end(number, columns, heights)]
    left = [0.0] * (last + 1)
    rows: list[Row] = []
    top = right = 0.0
    for first, after in pairwise([*_starts(widths, gaps, ends, canvas), last + 1]):
        # Leave room for the line from the row above, and for its tracks.
        x = gaps[first] + TURN if rows else 0.0
        for number in range(first, after):
            x += gaps[number] if number > first else 0.0
            x = max(x, 0.0, *(each.min_left(number, first, left, widths, gaps) for each in labels))
            left[number] = x
            x += widths[number]
        ends_of_labels = [left[e.column] + e.width for e in labels if first <= e.column < after]
        right = max(right, x + (TURN if after <= last else 0.0), *ends_of_labels)
        inside = [item for number in range(first, after) for item in columns[number]]
        above = max(item.extent.above - heights[item.number] for item in inside)
        below = max(item.extent.below + heights[item.number] for item in inside)
        rows.append(Row(first, after - 1, top + above, top + above + below, x + TURN))
        top = rows[-1].bottom + ROW_GAP
    return RowLayout(tuple(left), tuple(widths), tuple(rows), right)


def _may_end(
    column: int, columns: Mapping[int, Sequence[Item]], heights: Mapping[int, float]
) -> bool:
    """Tell whether a row may end with a column: one node on the main path.

    Narrow nodes stay with the one before them: a norm with its sum, an output with its source.
    """
    inside, after = columns[column], columns[column + 1]
    if len(inside) > 1 or not inside[0].key or heights[inside[0].number] != 0.0:
        return False
    return len(after) > 1 or after[0].extent.width > _NARROW


def _starts(
    widths: Sequence[float], gaps: Sequence[float], ends: Sequence[int], canvas: float
) -> list[int]:
    """Return the first column of each row: as few rows as possible, of similar width."""
    if sum(widths) + sum(gaps) <= canvas or not ends:
        return [0]
    fewest = len(_greedy_starts(widths, gaps, ends, canvas))
    low, high = canvas / fewest, canvas
    # Find the narrowest canvas with as few rows.
    for _ in range(12):
        middle = (low + high) / 2
        if len(_greedy_starts(widths, gaps, ends, middle)) > fewest:
            low = middle
        else:
            high = middle
    return _greedy_starts(widths, gaps, ends, high)


def _greedy_starts(
    widths: Sequence[float], gaps: Sequence[float], ends: Sequence[int], canvas: float
) -> list[int]:
    starts = [0]
    x, last_end, x_there = 0.0, None, 0.0
    for number, width in enumerate(widths):
        x += width + (gaps[number] if number else 0.0)
        if x > canvas - 2 * TURN and last_end is not None:
            starts.append(last_end + 1)
            x -= x_there
            last_end = None
        if number in ends:
            last_end, x_there = number, x
    return starts
