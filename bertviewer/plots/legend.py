"""Legend in as many rows as its names need, and names cut where room is short."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from math import ceil

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFontMetricsF,
    QPainter,
    QPainterPath,
    QPen,
    QPolygonF,
    QTransform,
)

from bertviewer.charts.chart import Line
from bertviewer.charts.theme import Theme
from bertviewer.plots.axes import axis_font

MAX_HEIGHT = 0.4
"""The legend takes no more than this fraction of the plot's height, or as few rows as it can."""
PARTS = " · "
"""Separates the parts of a name: run, stack, class of tokens."""
MIN_NAME = 32.0
"""Pixels of a name that are left however short the room is: a few letters."""
SYMBOL_SIZE = 6.0
SYMBOLS = ("circle", "square", "triangle", "diamond", "pentagon", "hexagon")

_CORNERS = {
    "triangle": ((-0.5, 0.5), (0, -0.5), (0.5, 0.5)),
    "diamond": ((0, -0.5), (-0.4, 0), (0, 0.5), (0.4, 0)),
    "pentagon": (
        *((0, -0.5), (-0.4755, -0.1545), (-0.2939, 0.4045)),
        *((0.2939, 0.4045), (0.4755, -0.1545)),
    ),
    "hexagon": (
        *((0.433, 0.25), (0, 0.5), (-0.433, 0.25)),
        *((-0.433, -0.25), (0, -0.5), (0.433, -0.25)),
    ),
}


class Spacing(Struct, frozen=True):
    """Pixels: height of a row, above and below all, of the sample before a name, after a name."""

    row: int
    margin: int
    sample: int
    gap: int

    def rows(self, height: float) -> int:
        """Return the number of rows for which a plot of this height has room."""
        return max(1, int((MAX_HEIGHT * height - self.margin) / self.row))


WIDE = Spacing(19, 8, 24, 14)
TIGHT = Spacing(15, 5, 18, 8)
"""Where names have to be cut anyway."""
SAMPLE_GAP = 6
"""Pixels between a sample and its name."""


class Entry(Struct, frozen=True):
    """A name with its sample: a line with a symbol on it ("" for none), or a box (``None``)."""

    label: str
    pen: QPen
    symbol: str | None
    brush: QBrush
    edge: QPen


class _Spot(Struct, frozen=True):
    """Position of an entry, and what is left of its name."""

    entry: Entry
    x: float
    row: int
    text: str
    width: float


class Legend:
    """Entries next to each other at the top of a plot's rectangle, in as many rows as needed."""

    def __init__(self, entries: Sequence[Entry], theme: Theme) -> None:
        self.entries = tuple(entries)
        self._theme, self._font = theme, axis_font()
        self._metrics = QFontMetricsF(self._font)
        self._spots: list[_Spot] = []
        # A sample has all dashes of its line.
        dashes = (sum(entry.pen.dashPattern()) * entry.pen.widthF() for entry in entries)
        longest = ceil(1.5 * max(dashes, default=0.0)) + SAMPLE_GAP
        self._wide, self._tight = (
            replace(each, sample=max(each.sample, longest)) for each in (WIDE, TIGHT)
        )
        self._spacing = self._wide

    @property
    def labels(self) -> tuple[str, ...]:
        """The full names."""
        return tuple(entry.label for entry in self.entries)

    @property
    def is_cut(self) -> bool:
        """Whether any name is cut."""
        return any(spot.text != spot.entry.label for spot in self._spots)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height that the entries cover in pixels."""
        ends = (spot.x + self._spacing.sample + spot.width for spot in self._spots)
        height = len(self.rows()) * self._spacing.row + self._spacing.margin if self._spots else 0
        return max(ends, default=0.0), float(height)

    def rows(self) -> list[list[str]]:
        """Return the names row by row, as they are cut."""
        count = self._spots[-1].row + 1 if self._spots else 0
        return [[spot.text for spot in self._spots if spot.row == row] for row in range(count)]

    def arrange(self, width: float, height: float) -> None:
        """Find the position of each name in a plot of this size.

        If names have to be cut, the longest are chosen with which no row more is needed.
        """
        longest = max(map(self._metrics.horizontalAdvance, self.labels), default=0.0)
        self._spacing = self._wide
        self._spots = self._arranged(width, longest)
        if len(self.rows()) <= WIDE.rows(height) and not self.is_cut:
            return
        self._spacing = self._tight

        def rows(longest: float) -> int:
            return len({spot.row for spot in self._arranged(width, longest)})

        most = max(TIGHT.rows(height), rows(min(longest, MIN_NAME)))
        while rows(longest) > most:
            longest = max(min(longest, MIN_NAME), 0.9 * longest)
        self._spots = self._arranged(width, longest)

    def draw(self, painter: QPainter, origin: QPointF) -> None:
        """Draw the entries from the upper left corner of the plot's rectangle."""
        painter.save()
        painter.translate(origin)
        painter.setFont(self._font)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        spacing = self._spacing
        for spot in self._spots:
            middle = spacing.margin / 2 + (spot.row + 0.5) * spacing.row
            # The mark of the selection runs behind the names.
            top = middle - spacing.row / 2 if spot.row else 0.0
            bottom = middle + spacing.row / 2
            behind = QRectF(spot.x - 3, top, spacing.sample + spot.width + 6, bottom - top)
            painter.fillRect(behind, QColor(self._theme.surface))
            self._draw_sample(painter, spot.entry, spot.x, middle)
            painter.setPen(QColor(self._theme.text))
            left = spot.x + spacing.sample
            box = QRectF(left, bottom - spacing.row, spot.width + 2, spacing.row)
            painter.drawText(box, int(Qt.AlignmentFlag.AlignVCenter), spot.text)
        painter.restore()

    def _arranged(self, width: float, longest: float) -> list[_Spot]:
        spacing = self._spacing
        longest = min(longest, width - spacing.sample - 2 * spacing.gap)
        x, row, spots = float(spacing.gap), 0, []
        texts = _cut(self.labels, self._metrics, longest)
        for entry, text in zip(self.entries, texts, strict=True):
            needed = self._metrics.horizontalAdvance(text) + 1
            if x > spacing.gap and x + spacing.sample + needed > width:
                x, row = float(spacing.gap), row + 1
            spots.append(_Spot(entry, x, row, text, needed))
            x += spacing.sample + needed + spacing.gap
        return spots

    def _draw_sample(self, painter: QPainter, entry: Entry, x: float, middle: float) -> None:
        length = self._spacing.sample - SAMPLE_GAP
        painter.setPen(entry.pen)
        painter.setBrush(entry.brush)
        if entry.symbol is None:
            painter.drawRect(QRectF(x + length - 14, middle - 5, 10, 10))
            return
        painter.drawLine(QPointF(x, middle), QPointF(x + length, middle))
        if entry.symbol:
            painter.setPen(entry.edge)
            draw_symbol(painter, entry.symbol, SYMBOL_SIZE, QPointF(x + length / 2, middle))


def _cut(names: Sequence[str], metrics: QFontMetricsF, longest: float) -> list[str]:
    """Return the beginnings of names, no longer than that.

    If these are not distinct, the beginning of each of their parts, or else beginnings and ends.
    """
    room = longest + 1
    texts = [metrics.elidedText(name, Qt.TextElideMode.ElideRight, room) for name in names]
    if len(set(texts)) < len(set(names)):
        texts = [_parts_cut(name, metrics, room) for name in names]
    if len(set(texts)) < len(set(names)):
        texts = [metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, room) for name in names]
    return texts


def _parts_cut(name: str, metrics: QFontMetricsF, room: float) -> str:
    """Return "enc… · fir…" for "encoder · first sentence", "" where not even letters fit."""
    if metrics.horizontalAdvance(name) <= room:
        return name
    parts = name.split(PARTS)

    def cut(letters: int) -> str:
        return PARTS.join(p if len(p) <= letters + 1 else f"{p[:letters].strip()}…" for p in parts)

    counts = range(1, max(map(len, parts)))
    fitting = bisect_right(counts, room, key=lambda n: metrics.horizontalAdvance(cut(n)))
    return cut(fitting) if fitting else ""


def legend_entries(lines: Sequence[Line], entries: Sequence[Entry], theme: Theme) -> list[Entry]:
    """Return the legend of lines, each of which has an entry in ``entries``.

    Where several things are drawn for two runs, the style of a line is its run and the colour is
    the thing: an entry for each line would be too many.
    """
    things: dict[str, Entry] = {}
    runs: dict[str, Entry] = {}
    for line, entry in zip(lines, entries, strict=True):
        things.setdefault(line.thing, replace(entry, label=line.thing))
        runs.setdefault(line.run, _of_run(line, entry, QColor(theme.text)))
    if len(runs) < 2 or len(things) < 2:
        return list(entries)
    return [*runs.values(), *things.values()]


def _of_run(line: Line, entry: Entry, color: QColor) -> Entry:
    """Return the entry of a run: the look of one of its lines in the text's colour."""
    pen, edge, brush = QPen(entry.pen), QPen(entry.edge), QBrush(entry.brush)
    pen.setColor(color)
    if line.style == "dashed":
        edge.setColor(color)
    else:
        brush.setColor(color)
    return Entry(line.run, pen, entry.symbol and SYMBOLS[0], brush, edge)


def draw_symbol(painter: QPainter, name: str, size: float, center: QPointF) -> None:
    """Draw one of ``SYMBOLS`` with the painter's pen and brush; ``size`` is in pixels."""
    shape = QTransform.fromScale(size, size).map(_symbol(name))
    painter.drawPath(shape.translated(center))


@cache
def _symbol(name: str) -> QPainterPath:
    """Return the outline of a symbol of size 1 around the origin."""
    path, box = QPainterPath(), QRectF(-0.5, -0.5, 1, 1)
    if name == "circle":
        path.addEllipse(box)
    elif name == "square":
        path.addRect(box)
    else:
        path.addPolygon(QPolygonF([QPointF(*corner) for corner in _CORNERS[name]]))
        path.closeSubpath()
    return path
