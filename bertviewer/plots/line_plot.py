"""Line plot over labelled positions, each point linked to the selection."""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from math import inf, isfinite, log10

from PySide6.QtCore import QLineF, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPainterPath, QPen, QPolygonF
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from bertviewer.charts.chart import LineChart
from bertviewer.charts.levels import ANY, span_of
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.util.numbers import number_text
from bertviewer.plots.axes import axis_metrics
from bertviewer.plots.callout import draw_callout
from bertviewer.plots.canvas_plot import Point
from bertviewer.plots.cells import is_paper
from bertviewer.plots.color_scale import tinted
from bertviewer.plots.legend import SYMBOLS, Entry, draw_symbol, legend_entries
from bertviewer.plots.line_points import LinePoints, Values, finite_at
from bertviewer.plots.ticks import (
    LabelTicks,
    NumberTicks,
    ShownLabels,
    Tick,
    log_position,
    log_ticks,
    power_of,
)
from bertviewer.plots.xy_plot import XYLayout, XYPlot

SYMBOL_SIZE, RING_SIZE = 7, 13  # pixels
MAX_SYMBOLS = 100
"""Longer lines have no symbols: these would hide one another."""
BAND_OPACITY = 0.16
SINGLE_WIDTH = 0.15
"""A band at a single point extends this far to either side."""
CALLOUT_DIGITS = 4
MIN_POSITIVE = 1e-300
"""Smaller values are 0 but for rounding, and missing on a logarithmic axis."""


class LinePlot(XYPlot):
    """Lines with symbols, and with a band and thin lines around them where the chart has those.

    ``points`` are those of the current chart.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._power = 0
        self._show(None)

    def show_chart(self, chart: LineChart | None) -> None:
        """Draw a chart instead of the current one; the focus stays on the same line."""
        before = self.points
        self._show(chart)
        if self.focused_point is not None:
            self.focused_point = self.points.same(self.focused_point, before)

    def _show(self, chart: LineChart | None) -> None:
        self.chart: LineChart | None = chart
        self._power = 0  # so that positions are the values themselves
        self._power = power_of(self._finite())
        shown = chart or LineChart((), "", "", ())
        self.points = LinePoints(shown, tuple(self._positions(line.values) for line in shown.lines))
        self.forget_layout()

    @override
    def key_at(self, position: QPointF) -> SelectionKey | None:
        """Return the key of the nearest point, or of a gap of the first line that reaches it."""
        nearest, x = self._nearest(position), self._x(position)
        if nearest is not None:
            return self.points.key(nearest)
        if self.chart is None or x is None:
            return None
        places = [line.keys[x] for line in self.chart.lines if x < len(line.keys)]
        return places[0] if places else None

    @override
    def text_at(self, position: QPointF) -> str:
        nearest, x = self._nearest(position), self._x(position)
        if nearest is not None:
            return self._text(nearest)
        if self.chart is None or not self.chart.lines or x is None:
            return ""
        return self.tr("{0} {1}: no value").format(self.chart.x_title, self.chart.names[x])

    @override
    def next_point(self, key: int) -> Point | None:
        start = self.focused_point or next(self.points.chosen(self.selection), None)
        return self.points.next(start, key)

    @override
    def go_to(self, point: Point) -> None:
        place = self.points.key(point)
        if place is not None and place != SelectionKey():
            self.clicked.emit(place)

    @override
    def describe_point(self, point: Point) -> tuple[str, QPointF]:
        height = self.points.height(point) or 0.0
        return self._text(point), self.layout_of_axes().position(point[1], height)

    @override
    def legend_entries(self) -> list[Entry]:
        lines = self.points.chart.lines
        entries = legend_entries(lines, list(map(self._style, range(len(lines)))), self.theme)
        if [entry.label for entry in entries] == [self.points.chart.y_title]:
            return []  # the axis says it
        return entries

    @override
    def x_range(self) -> tuple[float, float]:
        return -0.4, max(0.4, len(self.points.chart.ticks) - 0.6)

    @override
    def y_range(self) -> tuple[float, float]:
        """Return a range of all values with a margin for symbols, within the chart's bounds."""
        values, bounds, chart = self._finite(), self._bounds(), self.points.chart
        least, most = min(values, default=0.0), max(values, default=1.0)
        kind = ANY if chart.is_log or self._power else chart.bounds
        scale = 0.0 if chart.is_log else chart.scale / 10.0**self._power
        low, high = span_of(least, most, kind, is_signed=chart.is_signed, scale=scale)
        # A value itself may be beyond its bounds by rounding.
        low, high = max(low, min(least, bounds[0])), min(high, max(most, bounds[1]))
        margin = 0.06 * (high - low)
        return low - margin, high + margin / 2

    @override
    def left_ticks(self, low: float, high: float, size: float) -> list[Tick]:
        if not self._finite():
            return []
        if self.points.chart.is_log:
            most = min(high, self._bounds()[1])
            return log_ticks(low, most, size, lowest=self._lowest_power, metrics=axis_metrics())
        step = 1.0 if self.points.chart.is_whole else 0.0
        ticks = NumberTicks(
            axis_metrics(), power=self._power, bounds=self._bounds(), least_step=step
        )
        return ticks.ticks(low, high, size)

    @override
    def bottom_labels(self, width: float) -> ShownLabels:
        labels = self.points.chart.ticks if self.points.chart.lines else ()
        return LabelTicks(labels, axis_metrics(), first=0).side_by_side(width)

    @property
    def _lowest_power(self) -> int:
        return 0

    @property
    @override
    def has_zero(self) -> bool:
        return bool(self._finite()) and not self.points.chart.is_log

    def marked_points(self) -> list[Point]:
        """Return the point that a key has led to, or else those of the selection."""
        if self.focused_point is not None:
            return [self.focused_point]
        return list(self.points.chosen(self.selection))

    def callout(self) -> str:
        """Return the value of the only selected point in short, "" for none."""
        shown, chart = self.marked_points(), self.points.chart
        # The value of a point that a key has led to is shown in full by the window.
        is_described = self.is_on_paper or self.focused_point is not None
        if is_described or len(shown) != 1 or self.points.height(shown[0]) is None:
            return ""
        line, x = shown[0]
        value = finite_at(chart.lines[line].values, x) or 0.0
        name = f"{chart.x_title} {chart.names[x]}".strip().lower()
        return f"{name}: {number_text(value, CALLOUT_DIGITS)}"

    @override
    def draw_content(self, painter: QPainter, layout: XYLayout) -> None:
        lines, positions = self.points.chart.lines, self._positions
        styles = [self._style(index) for index in range(len(lines))]
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for line, style in zip(lines, styles, strict=True):
            if line.low is not None and line.high is not None:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(tinted(style.pen.color().name(), BAND_OPACITY))
                painter.drawPath(_band(layout, positions(line.low), positions(line.high)))
        shown = self.marked_points()
        dotted = QPen(QColor(self.theme.text), 1, Qt.PenStyle.DotLine)
        for x in sorted({x for _, x in shown}):
            self.draw_line(painter, layout, dotted, x=x)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for line, style in zip(lines, styles, strict=True):
            thin = QPen(style.pen.color(), 1, Qt.PenStyle.DotLine)
            for values in (line.min, line.max):
                if values is not None:
                    _draw_curve(painter, _pieces(layout, positions(values)), thin)
            _draw_curve(painter, _pieces(layout, positions(line.values)), style.pen, style)
        self._draw_marks(painter, layout, shown)

    def _draw_marks(self, painter: QPainter, layout: XYLayout, shown: Sequence[Point]) -> None:
        """Draw rings around points, and the value of a selected one."""
        painter.setPen(QPen(QColor(self.theme.text), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        at = [
            layout.position(point[1], height)
            for point in shown
            if (height := self.points.height(point)) is not None
        ]
        for center in at:
            draw_symbol(painter, SYMBOLS[0], RING_SIZE, center)
        if not (text := self.callout()):
            return
        drawn = (part for each in self.points.chart.lines for _, part in each.columns())
        draw_callout(
            painter,
            text,
            at[0],
            [piece for part in drawn for piece in _pieces(layout, self._positions(part))],
            within=layout.rect,
            covered=QRectF(layout.rect.topLeft(), QSizeF(*self.legend.size)),
            font=self.font(),
            theme=self.theme,
        )

    def _text(self, point: Point) -> str:
        chart, x = self.points.chart, point[1]
        line = chart.lines[point[0]]
        text = f"{line.label}, {chart.x_title} {chart.names[x]}"
        low, high = finite_at(line.min, x), finite_at(line.max, x)
        if low is not None and high is not None:
            text += self.tr(", min {0}, max {1}").format(number_text(low), number_text(high))
        low, high = finite_at(line.low, x), finite_at(line.high, x)
        if low is not None and high is not None:
            text += self.tr(", from {0} to {1}").format(number_text(low), number_text(high))
        # The value is at the end: where there is no room, the beginning is cut.
        return f"{text}: {number_text(line.values[x] or 0.0)}"

    def _style(self, index: int) -> Entry:
        chart = self.points.chart
        line, number = chart.lines[index], chart.color(index)
        color = self.theme.series[number % len(self.theme.series)]
        symbol = SYMBOLS[number % len(SYMBOLS)] if len(line.values) <= MAX_SYMBOLS else ""
        # A dashed line has hollow symbols: where two lines have the same value, both are visible.
        is_dashed = line.style == "dashed"
        style = Qt.PenStyle.DashLine if is_dashed else Qt.PenStyle.SolidLine
        pen = QPen(QColor(color), 2, style)
        if not is_dashed and (dashes := self.theme.dash(number)):
            pen.setDashPattern(dashes)
        brush = QBrush(QColor(self.theme.surface if is_dashed else color))
        edge = QPen(QColor(color if is_dashed else self.theme.surface), 1)
        return Entry(line.label, pen, symbol, brush, edge)

    def _x(self, position: QPointF) -> int | None:
        """Return the nearest x, ``None`` outside the plot."""
        layout = self.layout_of_axes()
        if self.chart is None or not layout.rect.contains(position):
            return None
        x = round(layout.value(position)[0])
        return x if 0 <= x < len(self.chart.ticks) else None

    def _nearest(self, position: QPointF) -> Point | None:
        x = self._x(position)
        if x is None:
            return None
        return self.points.nearest(x, self.layout_of_axes().value(position)[1])

    def _bounds(self) -> tuple[float, float]:
        """Return the positions of the least and the greatest possible value."""
        if self.chart is None:
            return -inf, inf
        if self.chart.is_log:
            return -inf, log_position(self.chart.bounds[1])
        low, high = (bound / 10.0**self._power for bound in self.chart.bounds)
        return low, high

    def _finite(self) -> list[float]:
        """Return the positions of all values of all lines."""
        return [
            value
            for line in (self.chart.lines if self.chart else ())
            for _, part in line.columns()
            for value in self._positions(part)
            if value is not None and isfinite(value)
        ]

    def _positions(self, values: Values) -> Values:
        """Return the positions of values on the left axis."""
        if self.chart is not None and self.chart.is_log:
            return tuple(None if value is None else log_position(value) for value in values)
        if not self._power:
            return values
        return tuple(None if value is None else value / 10.0**self._power for value in values)


class SpectrumPlot(LinePlot):
    """Lines of positive values on a logarithmic axis; other values are gaps."""

    @property
    @override
    def _lowest_power(self) -> int:
        return -300

    @override
    def _positions(self, values: Values) -> Values:
        return tuple(
            log10(value) if value is not None and value > MIN_POSITIVE else None for value in values
        )


def _pieces(layout: XYLayout, positions: Values) -> list[list[QPointF]]:
    """Return the points between gaps, in pixels."""
    points = [(x, finite_at(positions, x)) for x in range(len(positions))]
    return [
        [layout.position(x, y) for x, y in piece if y is not None]
        for is_gap, piece in groupby(points, lambda point: point[1] is None)
        if not is_gap
    ]


def _draw_curve(
    painter: QPainter, pieces: Sequence[list[QPointF]], pen: QPen, style: Entry | None = None
) -> None:
    """Draw lines through points, and symbols at each point."""
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    # Qt takes ten times as long for a polyline, which only dashes need.
    is_solid = pen.style() == Qt.PenStyle.SolidLine and not is_paper(painter)
    for points in pieces:
        if is_solid:
            painter.drawLines([QLineF(*ends) for ends in pairwise(points)])
        else:
            painter.drawPolyline(QPolygonF(points))
    if style is not None and style.symbol:
        painter.setPen(style.edge)
        painter.setBrush(style.brush)
        for point in (point for points in pieces for point in points):
            draw_symbol(painter, style.symbol, SYMBOL_SIZE, point)


def _band(layout: XYLayout, low: Values, high: Values) -> QPainterPath:
    """Return the area between two lines, in one part for each part without gaps."""
    edges = [(x, finite_at(low, x), finite_at(high, x)) for x in range(min(len(low), len(high)))]
    path = QPainterPath()
    for points in _whole(edges):
        if len(points) == 1:
            ((x, bottom, top),) = points
            corners = (x - SINGLE_WIDTH, top), (x + SINGLE_WIDTH, bottom)
            path.addRect(QRectF(*(layout.position(*corner) for corner in corners)))
            continue
        below = [layout.position(x, bottom) for x, bottom, _ in points]
        above = [layout.position(x, top) for x, _, top in reversed(points)]
        path.addPolygon(QPolygonF(below + above))
        path.closeSubpath()
    return path


def _whole(
    edges: Sequence[tuple[int, float | None, float | None]],
) -> Iterator[list[tuple[int, float, float]]]:
    for is_whole, piece in groupby(edges, lambda edge: None not in edge):
        if is_whole:
            yield [(x, bottom or 0.0, top or 0.0) for x, bottom, top in piece]
