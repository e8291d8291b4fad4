"""Names of tokens along a side of a plot: all of them, or evenly spaced as many as fit."""

from collections.abc import Sequence
from math import ceil, floor

from msgspec import Struct
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter

from bertviewer.charts.theme import NORMAL, NORMAL_WEIGHT, SMALL, STRONG
from bertviewer.plots.fonts import sized, type_scale, weighted
from bertviewer.plots.zoom import Span

SIZES = (NORMAL, SMALL, 9.0, 8.0)
"""Type is smaller where all names fit then; where they do not, fewer are named in the last size
but two.
"""
PITCH = 0.98
"""Lines of names are so far apart, in sizes of type: closer than lines of words."""
MOST = 96.0
"""No name is longer, in pixels: its middle is left out."""
GAP = 6.0
"""Pixels from a name to what it names."""
LONGEST = 48
"""Letters of a name that are measured at all."""

_UP = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_DOWN = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


class Names(Struct, frozen=True):
    """The names of rows or columns, each cut in its middle to its room.

    ``font`` is of the size at which they were measured.
    """

    texts: tuple[str, ...]
    widest: float

    @classmethod
    def of(cls, texts: Sequence[str], font: QFont, most: float = MOST) -> "Names":
        """Return names that are cut to so many pixels."""
        metrics = QFontMetricsF(font)
        known = {
            text: metrics.elidedText(_clipped(text), Qt.TextElideMode.ElideMiddle, most)
            for text in set(texts)
        }
        widest = max(map(metrics.horizontalAdvance, known.values()), default=0.0)
        return cls(tuple(known[text] for text in texts), widest)


def label_size(pixels: float) -> float:
    """Return the size of type for lines that are so many pixels apart, if each has a name."""
    fitting = (size for size in SIZES if size * PITCH * type_scale() <= pixels)
    return next(fitting, SMALL)


def name_font(font: QFont, size: float, *, is_marked: bool) -> QFont:
    """Return the font of a name, strong where it is marked."""
    return weighted(sized(font, size), STRONG if is_marked else NORMAL_WEIGHT)


def line_height() -> float:
    """Return how many pixels a line of names takes."""
    return 15.0 * type_scale()


def draw_upright(
    painter: QPainter, at: QPointF, text: str, room: float, *, is_above: bool = False
) -> None:
    """Write a name upright that ends below a point, or begins above it, cut to its room."""
    text = QFontMetricsF(painter.font()).elidedText(text, Qt.TextElideMode.ElideMiddle, room)
    high = 2 * line_height()
    painter.save()
    painter.translate(at)
    painter.rotate(-90)
    line = QRectF(0.0 if is_above else -room, -high / 2, room, high)
    painter.drawText(line, _UP if is_above else _DOWN, text)
    painter.restore()


def named(span: Span, pixels: float, size: float, first: Sequence[int] = ()) -> list[int]:
    """Return which places of an axis have their names, in order.

    Args:
        span: what is seen of it, one unit for each place.
        pixels: how many of them a place has.
        size: of the type.
        first: places that have theirs in any case; their neighbours give way.
    """
    step = max(1, ceil(size * PITCH * type_scale() / pixels - 1e-9))
    start, end = ceil(span.start - 0.5), floor(span.end - 0.5)
    certain = [place for place in first if start <= place <= end]
    even = range(ceil(start / step) * step, end + 1, step)
    others = [place for place in even if all(abs(place - one) >= step for one in certain)]
    return sorted({*certain, *others})


def _clipped(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST // 2]}…{text[-LONGEST // 2 :]}"
