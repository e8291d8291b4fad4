"""How far the text above an input or an output reaches over the columns beside it.

Where columns stand, and in which row: what is wider than the canvas goes on below.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from bertviewer.charts.graph.columns import Item


class Text(Struct, frozen=True):
    """A text above a line.

    Attributes:
        column: that of the input or the output.
        width: how wide it is.
        is_before: it ends at its column's right end, as an output's does.
        stop: the nearest column in which something stands at its height; one behind all for none.
    """

    column: int
    width: float
    is_before: bool
    stop: int

    def begin(
        self,
        column: int,
        first: int,
        left: Sequence[float],
        widths: Sequence[float],
        *,
        gaps: Sequence[float],
    ) -> float:
        """Return where a column of the row from ``first`` on begins at least, for this text."""
        if self.is_before and self.column == column:
            is_alone = self.stop < first
            end = 0.0 if is_alone else left[self.stop] + widths[self.stop] + gaps[self.stop + 1]
            return end + self.width - widths[column]
        if not self.is_before and self.stop == column and self.column >= first:
            return left[self.column] + self.width + gaps[column]
        return 0.0


NEAR, COLUMN_GAP, TRACK_GAP = 14.0, 24.0, 11.0
"""Between two columns with nothing but straight lines, and with uprights."""

TURN = 22.0
"""How far a line goes on past a row's last node before it turns down."""

ROW_GAP = 44.0
_NARROW = 80.0


class Row(Struct, frozen=True):
    """Columns that stand side by side: ``line`` is the height of the main line in the picture.

    ``right`` is where it turns down to the next row.
    """

    first: int
    last: int
    line: float
    bottom: float
    right: float


class Places(Struct, frozen=True):
    """Where columns stand.

    Attributes:
        left: each column's left side.
        width: each column's width.
        rows: from above to below.
        right: the right end of all.
        bottom: the lower end of all.
    """

    left: tuple[float, ...]
    width: tuple[float, ...]
    rows: tuple[Row, ...]
    right: float
    bottom: float

    def row_of(self, column: int) -> Row:
        """Return the row in which a column stands."""
        return next(row for row in self.rows if row.first <= column <= row.last)

    def middle(self, column: int) -> float:
        """Return a column's middle."""
        return self.left[column] + self.width[column] / 2

    def track(self, column: int, track: int, count: int) -> float:
        """Return where an upright stands between a column and the one before it."""
        span = TRACK_GAP * (count - 1)
        gap = COLUMN_GAP + span
        return self.left[column] - gap / 2 - span / 2 + TRACK_GAP * track


def places_of(
    items: Sequence[Item],
    heights: Mapping[int, float],
    counts: Mapping[int, int],
    texts: Sequence[Text],
    canvas: float,
) -> Places:
    """Return where columns stand; ``counts`` are the uprights before each of them."""
    columns: dict[int, list[Item]] = {}
    for item in items:
        columns.setdefault(item.column, []).append(item)
    last = max(columns)
    widths = [max(item.room.width for item in columns[number]) for number in range(last + 1)]
    gaps = [0.0] + [
        COLUMN_GAP + TRACK_GAP * (counts[number] - 1) if counts.get(number) else NEAR
        for number in range(1, last + 1)
    ]
    ends = [number for number in range(1, last - 2) if _may_end(number, columns, heights)]
    starts = _broken(widths, gaps, ends, canvas)
    left = [0.0] * (last + 1)
    rows: list[Row] = []
    top = right = 0.0
    for first, after in pairwise([*starts, last + 1]):
        # Room for the line that comes from the row above, and for its uprights.
        x = 0.0 if not rows else gaps[first] + TURN
        for number in range(first, after):
            x += gaps[number] if number > first else 0.0
            begins = [text.begin(number, first, left, widths, gaps=gaps) for text in texts]
            x = max(x, *begins, 0.0)
            left[number] = x
            x += widths[number]
        inner = [text for text in texts if first <= text.column < after]
        reached = [left[text.column] + text.width for text in inner]
        right = max(right, x + (TURN if after <= last else 0.0), *reached)
        inside = [item for number in range(first, after) for item in columns[number]]
        above = max(item.room.above - heights[item.number] for item in inside)
        below = max(item.room.below + heights[item.number] for item in inside)
        rows.append(Row(first, after - 1, top + above, top + above + below, x + TURN))
        top = rows[-1].bottom + ROW_GAP
    return Places(tuple(left), tuple(widths), tuple(rows), right, rows[-1].bottom)


def _may_end(
    column: int, columns: Mapping[int, Sequence[Item]], heights: Mapping[int, float]
) -> bool:
    """Tell whether a row may end with a column: one node alone, whose line alone goes on.

    What is narrow goes with what is before it: a norm with its sum, an output with what gives it.
    """
    inside, after = columns[column], columns[column + 1]
    if len(inside) > 1 or not inside[0].key or heights[inside[0].number] != 0.0:
        return False
    return len(after) > 1 or after[0].room.width > _NARROW


def _broken(
    widths: Sequence[float], gaps: Sequence[float], ends: Sequence[int], canvas: float
) -> list[int]:
    """Return the first column of each row: as few rows as can be, and about as wide each."""
    total = sum(widths) + sum(gaps)
    if total <= canvas or not ends:
        return [0]
    fewest = _greedy(widths, gaps, ends, canvas)
    low, high = canvas / len(fewest), canvas
    # The narrowest canvas that takes no more rows.
    for _ in range(12):
        middle = (low + high) / 2
        if len(_greedy(widths, gaps, ends, middle)) > len(fewest):
            low = middle
        else:
            high = middle
    return _greedy(widths, gaps, ends, high)


def _greedy(
    widths: Sequence[float], gaps: Sequence[float], ends: Sequence[int], canvas: float
) -> list[int]:
    starts = [0]
    x, may_end, since = 0.0, None, 0.0
    allowed = set(ends)
    for number, width in enumerate(widths):
        x += width + (gaps[number] if number else 0.0)
        if x > canvas - 2 * TURN and may_end is not None:
            starts.append(may_end + 1)
            x -= since
            may_end = None
        if number in allowed:
            may_end, since = number, x
    return starts
