"""How far the text above an input or an output reaches over the columns beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bertviewer.charts.flow.channels import Net
from bertviewer.charts.flow.glyphs import ABOVE_LINE
from bertviewer.charts.flow.skeleton import Item, Skeleton


@dataclass(frozen=True, slots=True)
class Text:
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


def texts_of(
    skeleton: Skeleton, heights: Mapping[int, float], nets: Mapping[int, Sequence[Net]]
) -> list[Text]:
    """Return the texts above inputs and outputs."""
    columns: dict[int, list[Item]] = {}
    for item in skeleton.items:
        columns.setdefault(item.column, []).append(item)
    after = max(columns, default=0) + 1
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
                each.key
                and heights[each.number] - each.room.above < line
                and heights[each.number] + each.room.below > line - ABOVE_LINE
                for each in columns[column]
            ) and not any(
                not net.is_straight and net.top < line - 1 and net.bottom > line - ABOVE_LINE
                for net in nets.get(channel, ())
            )

        ways = range(item.column - 1, -1, -1) if is_before else range(item.column + 1, after)
        stop = next(
            (each for each in ways if not is_free(each, each + 1 if is_before else each)),
            -1 if is_before else after,
        )
        found.append(Text(item.column, item.room.text, is_before, stop))
    return found
