"""What marks points of lines: a line through them, a ring around each, and a single one's value."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QPen
from PySide6.QtWidgets import QGraphicsItem

from bertviewer.charts.chart import LineChart
from bertviewer.core.util.numbers import number_text
from bertviewer.plots.callout import Callout
from bertviewer.plots.curve import Curve, Symbol
from bertviewer.plots.line_points import LinePoints
from bertviewer.plots.line_shapes import finite_at
from bertviewer.plots.plot import Plot, Point
from bertviewer.plots.plot_area import PlotArea

RING_SIZE = 13  # pixels
CALLED_DIGITS = 4
RING_Z, CALLOUT_Z = 10, 20
"""Above lines; above lines and rings, below the legend."""


class LineMarks:
    """The marks that are in a plot now."""

    def __init__(self) -> None:
        self._items: list[QGraphicsItem] = []
        self._callout: Callout | None = None

    def forget(self) -> None:
        """Know of none any more, as where the plot was cleared."""
        self._items, self._callout = [], None

    def draw(
        self, plot: Plot, points: LinePoints, shown: Sequence[Point], *, has_value: bool
    ) -> None:
        """Mark these points in place of those before, and write the value of a single one."""
        for item in self._items:
            plot.area.removeItem(item)
        self.forget()
        color = plot.theme.text
        dotted = plot.pen(color, 1, Qt.PenStyle.DotLine)
        self._items += [plot.add_line(x, dotted, z=-5) for x in sorted({x for _, x in shown})]
        ring = Symbol("o", RING_SIZE, QBrush(), plot.pen(color, 1.5))
        for point in shown:
            if (height := points.height(point)) is not None:
                gaps = [None] * point[1]
                self._add(plot, Curve([*gaps, height], QPen(Qt.PenStyle.NoPen), ring), RING_Z)
        if has_value and len(shown) == 1 and (height := points.height(shown[0])) is not None:
            (line, x), chart = shown[0], points.chart
            value = finite_at(chart.lines[line].values, x) or 0.0
            self._callout = Callout(_called(chart, x, value), plot.font(), plot.theme)
            self._callout.setPos(x, height)
            self._add(plot, self._callout, CALLOUT_Z)

    def give_way(self, area: PlotArea, covered: QRectF) -> None:
        """Have the value hide as little of the lines as can be, and nothing of what is covered."""
        if self._callout is None:
            return
        area.vb.updateMatrix()  # else items are still where another range had them
        at = -self._callout.scenePos()
        curves = [item for item in area.items if isinstance(item, Curve)]
        lines = [line.translated(at).toList() for curve in curves for line in curve.lines()]
        within = area.vb.sceneBoundingRect().translated(at)
        self._callout.give_way(lines, within, covered.translated(at))

    def _add(self, plot: Plot, item: QGraphicsItem, z: float) -> None:
        item.setZValue(z)
        plot.area.addItem(item, ignoreBounds=True)
        self._items.append(item)


def _called(chart: LineChart, x: int, value: float) -> str:
    """Return a point's position and its value in short."""
    name = f"{chart.x_title} {chart.names[x]}".strip().lower()
    return f"{name}: {number_text(value, CALLED_DIGITS)}"
