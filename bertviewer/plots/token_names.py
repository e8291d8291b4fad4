"""Names of tokens along a side of a plot: all of them, or evenly spaced ones that fit."""

from collections.abc import Sequence
from math import ceil, floor

from msgspec import Struct
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter

from bertviewer.charts.chart import GridChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import NORMAL, NORMAL_WEIGHT, SMALL, STRONG
from bertviewer.plots.canvas_plot import key_target
from bertviewer.plots.fonts import has_wide, sized, type_scale, weighted
from bertviewer.plots.span import Span

SIZES = (NORMAL, SMALL, 9.0, 8.0)
"""Names are smaller where all fit then; if they do not, evenly spaced ones have the second size."""
PITCH = 0.98
"""Distance of lines of names in font sizes: they are closer than lines of text."""
MAX_WIDTH = 96.0
"""Pixels of the longest name: longer ones are cut in the middle."""
GAP = 6.0
"""Pixels between a name and what it names."""
MAX_LETTERS = 48
"""Letters of a name that are measured at all."""

_UP = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_CENTER = int(Qt.AlignmentFlag.AlignCenter)
_DOWN = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


class Names(Struct, frozen=True):
    """The names of rows or columns, cut in the middle.

    ``widest`` is the width of the widest in pixels, with room for a marked name, which is strong.
    """

    texts: tuple[str, ...]
    widest: float

    @classmethod
    def of(cls, texts: Sequence[str], font: QFont) -> "Names":
        """Cut names to ``MAX_WIDTH`` pixels of a font."""
        metrics = QFontMetricsF(font)
        known = {
            text: metrics.elidedText(_clipped(text), Qt.TextElideMode.ElideMiddle, MAX_WIDTH)
            for text in set(texts)
        }
        strong = QFontMetricsF(name_font(font, font.pixelSize(), is_marked=True))
        widest = max(map(strong.horizontalAdvance, known.values()), default=0.0)
        return cls(tuple(known[text] for text in texts), widest)


def name_size(pixels: float) -> float:
    """Return the font size of names for lines that are ``pixels`` apart."""
    fitting = (size for size in SIZES if size * PITCH * type_scale() <= pixels)
    return next(fitting, SMALL)


def name_font(font: QFont, size: float, *, is_marked: bool) -> QFont:
    """Return the font of a name, strong if it is marked."""
    return weighted(sized(font, size), STRONG if is_marked else NORMAL_WEIGHT)


def type_line() -> float:
    """Return the height of a line of names in pixels."""
    return 15.0 * type_scale()


def draw_upright(
    painter: QPainter, at: QPointF, text: str, room: float, *, is_above: bool = False
) -> None:
    """Draw a name rotated, so that it ends below a point or begins above it, cut to ``room``.

    Letters of Chinese, Japanese and Korean stand upright below one another.
    """
    metrics = QFontMetricsF(painter.font())
    text, high = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, room), 2 * type_line()
    if has_wide(text):
        long = metrics.horizontalAdvance(text)
        top, step = at.y() - (long if is_above else 0), long / len(text)
        for place, letter in enumerate(text):
            box = QRectF(at.x() - high / 2, top + place * step, high, step)
            painter.drawText(box, _CENTER, letter)
        return
    painter.save()
    painter.translate(at)
    painter.rotate(-90)
    line = QRectF(0.0 if is_above else -room, -high / 2, room, high)
    painter.drawText(line, _UP if is_above else _DOWN, text)
    painter.restore()


def shown_names(span: Span, pixels: float, size: float, first: Sequence[int] = ()) -> list[int]:
    """Return which positions of an axis are named, in order.

    Args:
        span: the visible part, one unit for each position.
        pixels: of a position.
        size: of the font.
        first: positions that are always named; their neighbours give way.
    """
    step = max(1, ceil(size * PITCH * type_scale() / pixels - 1e-9))
    start, end = ceil(span.start - 0.5), floor(span.end - 0.5)
    certain = [place for place in first if start <= place <= end]
    even = range(ceil(start / step) * step, end + 1, step)
    others = [place for place in even if all(abs(place - one) >= step for one in certain)]
    return sorted({*certain, *others})


def next_row(
    chart: GridChart | None, selection: SelectionKey, key: int, back: Qt.Key, forth: Qt.Key
) -> int | None:
    """Return the row that a key leads to from the selected one, ``None`` for none."""
    if chart is None or not chart.row_keys:
        return None
    rows, _ = chart.chosen(selection)
    if key not in (back, forth, Qt.Key.Key_Home, Qt.Key.Key_End):
        return None
    return key_target(key, rows[0] if rows else -1, len(chart.rows))


def _clipped(text: str) -> str:
    if len(text) <= MAX_LETTERS:
        return text
    return f"{text[: MAX_LETTERS // 2]}…{text[-MAX_LETTERS // 2 :]}"
