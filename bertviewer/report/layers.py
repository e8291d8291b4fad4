"""The layers that a report shows whole, as a person writes them down: "0, 5", "2-4", "all"."""

import re

from msgspec import Struct

from bertviewer.core.analysis.attention_layers import attention_layers
from bertviewer.core.analysis.layers import layer_series
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.util.errors import UserError

ENDS, ALL = "first and last", "all"
"""Words for the first and the last layer, which are shown where nothing is written, and for all."""
_RANGE = re.compile(r"(\d{1,6})\s*(?:[-–]\s*(\d{1,6}))?")


class WrittenLayers(Struct, frozen=True):
    """Layers as somebody wrote them, of whatever model.

    Attributes:
        ranges: the first and the last of each; ``None`` where all of them are meant.
    """

    ranges: tuple[tuple[int, int], ...] | None = ()

    def of(self, count: int) -> tuple[int, ...] | None:
        """Return the layers that are meant, of ``count``; ``None`` for the first and the last.

        Raises:
            UserError: a part of it is no layer of this model.
        """
        if self.ranges is None:
            return tuple(range(count))
        if not self.ranges:
            return None
        if not all(first <= last < count for first, last in self.ranges):
            has = f"layers 0 to {count - 1}" if count > 1 else "only layer 0"
            raise UserError(f"this model has {has}")
        return tuple(sorted({n for first, last in self.ranges for n in range(first, last + 1)}))


def read_layers(text: str) -> WrittenLayers:
    """Return what is written.

    Raises:
        UserError: these are no numbers of layers.
    """
    words = text.strip().casefold()
    if words in ("", ENDS):
        return WrittenLayers()
    if words == ALL:
        return WrittenLayers(None)
    found = [_RANGE.fullmatch(part.strip()) for part in re.split(r"[,;]", words)]
    if not all(found):
        raise UserError(f"write layer numbers, for example 0, 5 or 2-4, or {ALL}")
    return WrittenLayers(
        tuple((int(one[1]), int(one[2] or one[1])) for one in found if one is not None)
    )


def layer_count(architecture: Architecture, run: ActivationRun) -> int:
    """Return how many layers of a run can be shown: of its longest stack, each call by itself."""
    series = (len(tuple(one.points())) for one in layer_series(architecture, run))
    numbers = (layer.number for layer in attention_layers(architecture, run))
    return max(*series, *(number + 1 for number in numbers if number is not None), 0, 0)
