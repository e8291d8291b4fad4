"""How far the text above an input or an output reaches over the columns beside it."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from bertviewer.charts.graph.channels import Net
from bertviewer.charts.graph.glyphs import ABOVE_LINE
from bertviewer.charts.graph.ports import Arrival
from bertviewer.charts.graph.skeleton import Skeleton


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


def texts_of(
    skeleton: Skeleton,
    heights: Mapping[int, float],
    nets: Mapping[int, Sequence[Net]],
    arriving: Mapping[int, Arrival],
) -> list[Text]:
    """Return the texts above inputs and outputs."""
    standing = _standing(skeleton, heights, arriving)
    lines = {
        column: [(net.top, net.bottom) for net in found if not net.is_straight]
        for column, found in nets.items()
    }
    after = max(standing, default=0) + 1
    leaving = {chain[0] for chain in skeleton.chains}
    found = []
    for item in skeleton.items:
        if not item.room.text:
            continue
        is_before = item.number not in leaving
        line = heights[item.number]

        def is_free(column: int, channel: int, line: float = line) -> bool:
            """Tell whether there is nothing from a line to the upper end of the text above it."""
            return not any(
                top < line - 1 and bottom > line - ABOVE_LINE
                for top, bottom in (*standing[column], *lines.get(channel, ()))
            )

        ways = range(item.column - 1, -1, -1) if is_before else range(item.column + 1, after)
        stop = next(
            (each for each in ways if not is_free(each, each + 1 if is_before else each)),
            -1 if is_before else after,
        )
        found.append(Text(item.column, item.room.text, is_before, stop))
    return found


def _standing(
    skeleton: Skeleton, heights: Mapping[int, float], arriving: Mapping[int, Arrival]
) -> dict[int, list[tuple[float, float]]]:
    """Return from where to where something stands in each column, or a line goes to a sign."""
    found: dict[int, list[tuple[float, float]]] = {}
    for item in skeleton.items:
        height, room = heights[item.number], item.room
        ends = (height - room.above, height + room.below) if item.key else (height, height)
        found.setdefault(item.column, []).append(ends)
    for number, chain in enumerate(skeleton.chains):
        arrival = arriving[number]
        if arrival.beyond:
            height, other = arrival.height, heights[chain[-1]]
            ends = min(height, other), max(height, other)
            found[skeleton.items[chain[-1]].column].append(ends)
    return found
