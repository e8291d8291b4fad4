"""Lines over labelled positions; a click on a point tells what it stands for."""

from collections.abc import Sequence
from math import inf, isfinite, log10

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QBrush, QColor
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import LineChart
from bertviewer.charts.levels import widened
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.util.numbers import number_text
from bertviewer.plots.curve import Curve, Symbol
from bertviewer.plots.label_axis import LabelAxis
from bertviewer.plots.legend import Entry, legend_entries
from bertviewer.plots.legend_plot import LegendPlot
from bertviewer.plots.line_marks import LineMarks
from bertviewer.plots.line_points import LinePoints
from bertviewer.plots.line_shapes import Values, finite_at, surroundings
from bertviewer.plots.number_axis import PowerAxis, log_height, power_of
from bertviewer.plots.plot import Point

SYMBOLS = ("o", "s", "t1", "d", "p", "h")
SYMBOL_SIZE = 7  # pixels
MOST_SYMBOLS = 100
"""Longer lines have no symbols: they would hide one another."""

SMALLEST = 1e-300
"""Less than this is 0 but for rounding, and stands nowhere on a logarithmic axis."""


class LinePlot(LegendPlot):
    """Lines with symbols, with a band and thin lines around them where the chart has those."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self.chart: LineChart | None = None
        self._power = 0
        self._points = self._points_of(None)
        self._marks = LineMarks()
        super().__init__({"bottom": LabelAxis("bottom"), "left": PowerAxis("left")}, parent)

    def show_chart(self, chart: LineChart | None) -> None:
        """Draw a chart, in place of the one drawn before; what a key has led to stays."""
        self.chart = chart
        self._power = 0  # so that heights are the values themselves
        self._power = power_of(self._finite())
        before, self._points = self._points, self._points_of(chart)
        if self.reached_point is not None:
            self.reached_point = self._points.same(self.reached_point, before)
        self.name_axes(chart)
        self.draw()

    def place_at(self, position: QPointF) -> SelectionKey | None:
        """Return what the point nearest to a position in the scene stands for.

        Where no line has a value, it is what the first one's gap stands for.
        """
        nearest, gap = self._nearest(position), self._x(position)
        if nearest is not None:
            return self._points.place(nearest)
        if self.chart is None or gap is None:
            return None
        places = [line.keys[gap] for line in self.chart.lines if gap < len(line.keys)]
        return places[0] if places else None

    def text_at(self, position: QPointF) -> str:
        """Return the exact value nearest to a position in the scene, in words."""
        nearest = self._nearest(position)
        return self._gap_at(position) if nearest is None else self._text(nearest)

    def point_beside(self, key: int) -> Point | None:
        """Return the point before or after on a line, that of the line above or below, an end."""
        start = self.reached_point or next(iter(self._chosen()), None)
        return self._points.beside(start, key)

    def go_to(self, point: Point) -> None:
        """Do what a click on a point does."""
        place = self._points.place(point)
        if place is not None and place != SelectionKey():
            self.clicked.emit(place)

    def told_at(self, point: Point) -> tuple[str, QPointF]:
        """Return the exact value of a point in words, and where it is on the axes."""
        return self._text(point), QPointF(point[1], self._points.height(point) or 0.0)

    def _text(self, point: Point) -> str:
        chart, x = self._points.chart, point[1]
        line = chart.lines[point[0]]
        text = f"{line.label}, {chart.x_title} {chart.names[x]}"
        low, high = finite_at(line.min, x), finite_at(line.max, x)
        if low is not None and high is not None:
            text += self.tr(", min {0}, max {1}").format(number_text(low), number_text(high))
        low, high = finite_at(line.low, x), finite_at(line.high, x)
        if low is not None and high is not None:
            text += self.tr(", from {0} to {1}").format(number_text(low), number_text(high))
        # The line's own value is at the end: where there is no room, the beginning is cut off.
        return f"{text}: {number_text(line.values[x] or 0.0)}"

    def draw(self) -> None:
        """Draw the lines, the legend and the axes."""
        super().draw()
        self._marks.forget()
        item = self.area
        chart = self.chart or LineChart((), "", "", ())
        entries = []
        for index, line in enumerate(chart.lines):
            number = chart.color(index)
            color = self.theme.series[number % len(self.theme.series)]
            shape = SYMBOLS[number % len(SYMBOLS)] if len(line.values) <= MOST_SYMBOLS else ""
            dash = Qt.PenStyle.DashLine if line.style == "dashed" else Qt.PenStyle.SolidLine
            pen = self.pen(color, 2, dash)
            if line.style == "solid" and (steps := self.theme.dash(number)):
                pen.setDashPattern(steps)
            # A dashed line's symbols are hollow: where both lines have the same value, the
            # symbols still show both.
            is_hollow = line.style == "dashed"
            brush = QBrush(QColor(self.theme.surface if is_hollow else color))
            edge = self.pen(color if is_hollow else self.theme.surface)
            entries.append(Entry(line.label, pen, shape, brush, edge))
            dotted = self.pen(color, 1, Qt.PenStyle.DotLine)
            for around in surroundings(line, self._heights, color, dotted):
                item.addItem(around, ignoreBounds=True)
            symbol = Symbol(shape, SYMBOL_SIZE, brush, edge) if shape else None
            curve = Curve(self._heights(line.values), pen, symbol)
            item.addItem(curve, ignoreBounds=True)
        self.show_values(bool(chart.lines))
        has_values = bool(self._finite())
        if not has_values:
            item.getAxis("left").setTicks([[]])
        item.getAxis("left").setLogMode(chart.is_log)
        item.getAxis("left").take_values(
            self._power, self._bounds(), least_step=1.0 if chart.is_whole else 0.0
        )
        item.getAxis("bottom").set_labels(chart.ticks, first=0)
        item.setXRange(-0.4, max(0.4, len(chart.ticks) - 0.6), padding=0)
        if has_values and not chart.is_log:
            self.draw_zero()
        entries = legend_entries(chart.lines, entries, self.theme)
        if [entry.label for entry in entries] == [chart.y_title]:
            entries = []  # the axis has told it
        self.legend.set_entries(entries, self.theme, self.font())
        self.fit()
        self.draw_marks()

    def draw_marks(self) -> None:
        """Mark what a key has led to, or else what is selected."""
        reached = self.reached_point
        shown = self._chosen() if reached is None else [reached]
        # What a key has led to is told in full beside the point.
        has_value = self.paper_scale is None and reached is None
        self._marks.draw(self, self._points, shown, has_value=has_value)
        self._marks.give_way(self.area, self.legend.covered)

    def fit(self) -> None:
        """Choose the y range, and where a value can be written beside its point."""
        super().fit()
        self._marks.give_way(self.area, self.legend.covered)

    def _gap_at(self, position: QPointF) -> str:
        """Say that no line has a value there, "" beside the positions of the chart."""
        x = self._x(position)
        if self.chart is None or not self.chart.lines or x is None:
            return ""
        text: str = self.tr("{0} {1}: no value")
        return text.format(self.chart.x_title, self.chart.names[x])

    def _x(self, position: QPointF) -> int | None:
        """Return the x nearest to a position in the scene, ``None`` outside the plot."""
        box = self.area.vb
        if self.chart is None or not box.sceneBoundingRect().contains(position):
            return None
        x = round(box.mapSceneToView(position).x())
        return x if 0 <= x < len(self.chart.ticks) else None

    def _nearest(self, position: QPointF) -> Point | None:
        """Return the point nearest to a position in the scene, ``None`` outside the plot."""
        x = self._x(position)
        return (
            None
            if x is None
            else self._points.nearest(x, self.area.vb.mapSceneToView(position).y())
        )

    def _chosen(self) -> list[Point]:
        return list(self._points.chosen(self.selection))

    def _points_of(self, chart: LineChart | None) -> LinePoints:
        shown = chart or LineChart((), "", "", ())
        return LinePoints(shown, tuple(self._heights(line.values) for line in shown.lines))

    def y_range(self) -> tuple[float, float]:
        """Return a range around all values that leaves out what none can be, with a margin."""
        return _range(self._finite(), self._bounds())

    def _bounds(self) -> tuple[float, float]:
        """Return how high the least and the most stand that a value can be."""
        if self.chart is None:
            return -inf, inf
        if self.chart.is_log:
            return -inf, log_height(self.chart.bounds[1])
        low, high = (bound / 10.0**self._power for bound in self.chart.bounds)
        return low, high

    def _finite(self) -> list[float]:
        """Return how high all values of all lines stand."""
        return [
            value
            for line in (self.chart.lines if self.chart else ())
            for _, part in line.columns()
            for value in self._heights(part)
            if value is not None and isfinite(value)
        ]

    def _heights(self, values: Values) -> Values:
        """Return how high values stand."""
        if self.chart is not None and self.chart.is_log:
            return tuple(None if value is None else log_height(value) for value in values)
        if not self._power:
            return values
        return tuple(None if value is None else value / 10.0**self._power for value in values)


def _range(values: Sequence[float], bounds: tuple[float, float]) -> tuple[float, float]:
    """Return a range around values, not beyond their bounds, and a margin for their symbols."""
    least, most = min(values, default=0.0), max(values, default=1.0)
    low, high = widened(least, most)
    # A value itself may be beyond its bounds, by rounding.
    low, high = max(low, min(least, bounds[0])), min(high, max(most, bounds[1]))
    margin = 0.06 * (high - low)
    return low - margin, high + margin / 2


class SpectrumPlot(LinePlot):
    """Lines of positive values, whatever their powers of ten; what is not positive is left out."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.area.getAxis("left").lowest = -300

    def _heights(self, values: Sequence[float | None]) -> Sequence[float | None]:
        return tuple(
            log10(value) if value is not None and value > SMALLEST else None for value in values
        )
