"""Lines over labelled positions; a click on a point tells what it stands for."""

from collections.abc import Iterator, Sequence
from math import inf, isfinite, log10

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QBrush, QColor, QPen
from PySide6.QtWidgets import QGraphicsItem, QWidget

from bertviewer.charts.chart import Line, LineChart
from bertviewer.charts.levels import widened
from bertviewer.charts.place import Place, closest
from bertviewer.core.text.numerals import number_text
from bertviewer.plots.callout import Callout
from bertviewer.plots.curve import Curve, Symbol
from bertviewer.plots.label_axis import LabelAxis
from bertviewer.plots.legend import Entry, LegendPlot, legend_entries
from bertviewer.plots.line_shapes import Values, finite_at, surroundings
from bertviewer.plots.number_axis import PowerAxis, log_height, power_of

SYMBOLS = ("o", "s", "t1", "d", "p", "h")
SYMBOL_SIZE, RING_SIZE = 7, 13  # pixels
MOST_SYMBOLS = 100
"""Longer lines have no symbols: they would hide one another."""
CALLED_DIGITS = 4
CALLOUT_Z = 20
"""Above lines and rings, below the legend."""

SMALLEST = 1e-300
"""Less than this is 0 but for rounding, and stands nowhere on a logarithmic axis."""


class LinePlot(LegendPlot):
    """Lines with symbols, with a band and thin lines around them where the chart has those."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self.chart: LineChart | None = None
        self._power = 0
        self._marks: list[QGraphicsItem] = []
        super().__init__({"bottom": LabelAxis("bottom"), "left": PowerAxis("left")}, parent)

    def show_chart(self, chart: LineChart | None) -> None:
        """Draw a chart, in place of the one drawn before."""
        self.chart = chart
        self._power = 0  # so that heights are the values themselves
        self._power = power_of(self._finite())
        self.name_axes(chart)
        self.draw()

    def place_at(self, position: QPointF) -> Place | None:
        """Return what the point nearest to a position in the scene stands for.

        Where no line has a value, it is what the first one's gap stands for.
        """
        nearest = self._nearest(position)
        if nearest is not None:
            line, x = nearest
            return line.places[x] if line.places else None
        gap = self._x(position)
        if self.chart is None or gap is None:
            return None
        places = [line.places[gap] for line in self.chart.lines if gap < len(line.places)]
        return places[0] if places else None

    def text_at(self, position: QPointF) -> str:
        """Return the exact value nearest to a position in the scene, in words."""
        nearest = self._nearest(position)
        if nearest is None or self.chart is None:
            return self._gap_at(position)
        line, x = nearest
        text = f"{line.label}, {self.chart.x_title} {self.chart.names[x]}"
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
        self._marks = []
        self.draw_marks()

    def draw_marks(self) -> None:
        """Draw a vertical line where the selection is, and a ring around each of its points."""
        item = self.area
        for mark in self._marks:
            item.removeItem(mark)
        self._marks = []
        points = list(self._chosen())
        color = self.theme.text
        for x in sorted({x for _, x in points}):
            self._marks.append(self.add_line(x, self.pen(color, 1, Qt.PenStyle.DotLine), z=-5))
        ring = Symbol("o", RING_SIZE, QBrush(), self.pen(color, 1.5))
        for line, x in points:
            heights = self._heights(line.values)
            only = [height if index == x else None for index, height in enumerate(heights)]
            mark = Curve(only, QPen(Qt.PenStyle.NoPen), ring)
            mark.setZValue(10)
            item.addItem(mark, ignoreBounds=True)
            self._marks.append(mark)
        if self.paper_scale is None and len(points) == 1:
            self._call_out(*points[0])

    def _call_out(self, line: Line, x: int) -> None:
        """Write the value of the selected point beside it, where nobody has to point at it."""
        height, value = finite_at(self._heights(line.values), x), finite_at(line.values, x)
        if self.chart is not None and height is not None and value is not None:
            is_right = x > (len(self.chart.ticks) - 1) / 2
            is_high = height > sum(self.y_range()) / 2
            text = _called(self.chart, x, value)
            callout = Callout(text, self.font(), self.theme, to_left=is_right, below=is_high)
            callout.setPos(x, height)
            callout.setZValue(CALLOUT_Z)
            self.area.addItem(callout, ignoreBounds=True)
            self._marks.append(callout)

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

    def _nearest(self, position: QPointF) -> tuple[Line, int] | None:
        """Return line and x of the point nearest to a position, ``None`` outside the plot."""
        x = self._x(position)
        if self.chart is None or x is None:
            return None
        y = self.area.vb.mapSceneToView(position).y()
        points = [
            (abs(value - y), line)
            for line in self.chart.lines
            if (value := finite_at(self._heights(line.values), x)) is not None
        ]
        if not points:
            return None
        return min(points, key=lambda found: found[0])[1], x

    def _chosen(self) -> Iterator[tuple[Line, int]]:
        """Yield line and x of the points that the selection means."""
        lines = self.chart.lines if self.chart else ()
        # All lines together: of a layer and its part, the part that is selected counts.
        points = [(line, x, place) for line in lines for x, place in enumerate(line.places)]
        chosen = closest([place for *_, place in points], self.selection)
        # A module that is at several x, as ALBERT's layer, tells none of them apart.
        if len({points[index][1] for index in chosen}) == 1:
            yield from (points[index][:2] for index in chosen)

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


def _called(chart: LineChart, x: int, value: float) -> str:
    """Return a point's position and its value in short."""
    name = f"{chart.x_title} {chart.names[x]}".strip().lower()
    return f"{name}: {number_text(value, CALLED_DIGITS)}"


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
