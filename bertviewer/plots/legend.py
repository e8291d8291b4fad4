"""The legend of a plot: what it names, in as many rows as that needs, and the room for it."""

from bisect import bisect_right
from collections.abc import Sequence
from html import escape

import pyqtgraph as pg
from msgspec import Struct
from msgspec.structs import replace
from pyqtgraph.graphicsItems.ScatterPlotItem import drawSymbol
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter, QPen

from bertviewer.charts.chart import Line
from bertviewer.charts.theme import SMALL, Theme
from bertviewer.plots.fonts import sized

MOST_HEIGHT = 0.4
"""The legend takes no more of the plot's height than this, or as few rows as it can."""
PARTS = " · "
"""What stands between the parts of a name: run, stack, class of tokens."""
LEAST = 32.0
"""Pixels of a name that are left however short the room is: a few letters."""


class Spacing(Struct, frozen=True):
    """Pixels: height of a row, above and below all, of the sample before a name, after a name."""

    row: int
    margin: int
    sample: int
    gap: int

    def rows(self, height: float) -> int:
        """Return how many rows a plot of that height has room for."""
        return max(1, int((MOST_HEIGHT * height - self.margin) / self.row))


WIDE = Spacing(19, 8, 24, 14)
TIGHT = Spacing(15, 5, 18, 8)
"""Where names have to be cut anyway."""


class Entry(Struct, frozen=True):
    """A name with its sample: a line with a symbol on it if it has one ("" is none), or a box."""

    label: str
    pen: QPen
    symbol: str | None
    brush: QBrush
    edge: QPen


class _Spot(Struct, frozen=True):
    """Where an entry stands, and what is left of its name."""

    entry: Entry
    x: float
    row: int
    text: str
    width: float


class Legend(pg.GraphicsObject):  # type: ignore[misc]
    """Entries side by side at the top of a plot, in further rows where one is full.

    Names that would take too many rows are cut, and are told in full under the mouse. Texts are
    plain: names of modules and tokens come from strangers.
    """

    def __init__(self, box: pg.ViewBox) -> None:
        super().__init__(box)
        self.setZValue(100)
        self.entries: tuple[Entry, ...] = ()
        self._spots: list[_Spot] = []
        self._spacing = WIDE
        self._color, self._background = QColor(), QColor()
        self._font = QFont()
        self._size = (0.0, 0.0)

    def set_entries(self, entries: Sequence[Entry], theme: Theme, font: QFont) -> None:
        """Show other names; ``arrange()`` has to follow."""
        self.entries = tuple(entries)
        self._color, self._background = QColor(theme.text), QColor(theme.surface)
        self._font = sized(font, SMALL)

    def labels(self) -> tuple[str, ...]:
        """Return the names in full."""
        return tuple(entry.label for entry in self.entries)

    def rows(self) -> list[list[str]]:
        """Return the names row by row, as they are cut."""
        count = self._spots[-1].row + 1 if self._spots else 0
        return [[spot.text for spot in self._spots if spot.row == row] for row in range(count)]

    def arrange(self, width: float, height: float) -> float:
        """Find every name's place in a plot of that size; return the height that they take."""
        metrics = QFontMetricsF(self._font)
        longest = max((metrics.horizontalAdvance(label) for label in self.labels()), default=0.0)
        self._spacing = WIDE
        self._spots = self._arranged(metrics, width, longest)
        if len(self.rows()) > WIDE.rows(height) or self._is_cut():
            self._tighten(metrics, width, longest, TIGHT.rows(height))
        # Tags, so that Qt never takes a name for some.
        tip = "<br>".join(map(escape, self.labels()))
        self.setToolTip(f"<p>{tip}</p>" if self._is_cut() else "")
        self.prepareGeometryChange()
        used = len(self.rows()) * self._spacing.row + self._spacing.margin if self._spots else 0.0
        self._size = (width, used)
        self.update()
        return used

    def _is_cut(self) -> bool:
        return any(spot.text != spot.entry.label for spot in self._spots)

    def _tighten(self, metrics: QFontMetricsF, width: float, longest: float, most: int) -> None:
        """Cut names until they need no more than ``most`` rows, or else as few as can be.

        Of all ways to need so few rows the one with the longest names is taken.
        """
        self._spacing = TIGHT
        fewest = len(self._arranged_rows(metrics, width, min(longest, LEAST)))
        while len(self._arranged_rows(metrics, width, longest)) > max(most, fewest):
            longest = max(min(longest, LEAST), 0.9 * longest)
        self._spots = self._arranged(metrics, width, longest)

    def _arranged_rows(self, metrics: QFontMetricsF, width: float, longest: float) -> set[int]:
        return {spot.row for spot in self._arranged(metrics, width, longest)}

    def _arranged(self, metrics: QFontMetricsF, width: float, longest: float) -> list[_Spot]:
        spacing = self._spacing
        longest = min(longest, width - spacing.sample - 2 * spacing.gap)
        x, row, spots = float(spacing.gap), 0, []
        texts = _cut(self.labels(), metrics, longest)
        for entry, text in zip(self.entries, texts, strict=True):
            needed = metrics.horizontalAdvance(text) + 1
            if x > spacing.gap and x + spacing.sample + needed > width:
                x, row = float(spacing.gap), row + 1
            spots.append(_Spot(entry, x, row, text, needed))
            x += spacing.sample + needed + spacing.gap
        return spots

    def boundingRect(self) -> QRectF:
        """Return the rectangle of all names; Qt calls it."""
        return QRectF(0, 0, *self._size)

    @property
    def covered(self) -> QRectF:
        """What of the scene the names cover."""
        ends = (spot.x + self._spacing.sample + spot.width for spot in self._spots)
        covered: QRectF = self.mapRectToScene(QRectF(0, 0, max(ends, default=0.0), self._size[1]))
        return covered

    def paint(self, painter: QPainter, *_: object) -> None:
        """Draw; Qt calls it."""
        painter.setFont(self._font)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        spacing = self._spacing
        for spot in self._spots:
            middle = spacing.margin / 2 + (spot.row + 0.5) * spacing.row
            # The mark of what is selected runs behind the names.
            top = middle - spacing.row / 2 if spot.row else 0.0
            bottom = middle + spacing.row / 2
            behind = QRectF(spot.x - 3, top, spacing.sample + spot.width + 6, bottom - top)
            painter.fillRect(behind, self._background)
            self._paint_sample(painter, spot.entry, spot.x, middle)
            painter.setPen(self._color)
            left = spot.x + spacing.sample
            box = QRectF(left, bottom - spacing.row, spot.width + 2, spacing.row)
            painter.drawText(box, int(Qt.AlignmentFlag.AlignVCenter), spot.text)

    def _paint_sample(self, painter: QPainter, entry: Entry, x: float, middle: float) -> None:
        length = self._spacing.sample - 6
        painter.setPen(entry.pen)
        painter.setBrush(entry.brush)
        if entry.symbol is None:
            painter.drawRect(QRectF(x + length - 14, middle - 5, 10, 10))
            return
        painter.drawLine(QPointF(x, middle), QPointF(x + length, middle))
        if entry.symbol:
            painter.save()
            painter.translate(x + length / 2, middle)
            drawSymbol(painter, entry.symbol, 6, entry.edge, entry.brush)
            painter.restore()


def _cut(names: Sequence[str], metrics: QFontMetricsF, longest: float) -> list[str]:
    """Return names no longer than that: their beginnings, where these still tell them apart.

    If not, the beginning of each of their parts, or else beginnings and ends.
    """
    room = longest + 1
    texts = [metrics.elidedText(name, Qt.TextElideMode.ElideRight, room) for name in names]
    if len(set(texts)) < len(set(names)):
        texts = [_parts_cut(name, metrics, room) for name in names]
    if len(set(texts)) < len(set(names)):
        texts = [metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, room) for name in names]
    return texts


def _parts_cut(name: str, metrics: QFontMetricsF, room: float) -> str:
    """Return "enc… · fir…" of "encoder · first sentence"; "" where not even letters fit."""
    if metrics.horizontalAdvance(name) <= room:
        return name
    parts = name.split(PARTS)

    def cut(letters: int) -> str:
        return PARTS.join(p if len(p) <= letters + 1 else f"{p[:letters].strip()}…" for p in parts)

    counts = range(1, max(map(len, parts)))
    fitting = bisect_right(counts, room, key=lambda n: metrics.horizontalAdvance(cut(n)))
    return cut(fitting) if fitting else ""


def legend_entries(lines: Sequence[Line], entries: Sequence[Entry], theme: Theme) -> list[Entry]:
    """Return the names for a legend of lines, of each of which ``entries`` has name and look.

    Where several things are drawn for each of two runs, a name for each line would be too many:
    a run is told by how its lines are drawn, and a thing by its colour.
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
    """Return a run's name with the look of one of its lines, in the colour of texts."""
    pen, edge, brush = QPen(entry.pen), QPen(entry.edge), QBrush(entry.brush)
    pen.setColor(color)
    if line.style == "dashed":
        edge.setColor(color)
    else:
        brush.setColor(color)
    return Entry(line.run, pen, entry.symbol and "o", brush, edge)
