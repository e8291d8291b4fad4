"""Histogram of one series of values, or of two over one another."""

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from bertviewer.charts.chart import Bars, HistogramChart
from bertviewer.charts.levels import ROUNDING, widened
from bertviewer.core.util.numbers import number_text, with_minus
from bertviewer.plots.axes import axis_metrics
from bertviewer.plots.canvas_plot import Point, key_target
from bertviewer.plots.color_scale import tinted
from bertviewer.plots.legend import Entry
from bertviewer.plots.ticks import (
    LOWEST,
    NumberTicks,
    ShownLabels,
    Tick,
    log_position,
    log_ticks,
    power_of,
)
from bertviewer.plots.xy_plot import XYLayout, XYPlot

FILL_OPACITY = 0.7
GAP = 0.08
"""The fraction of a bin that is free on either side of its bar."""
HEADROOM = 0.04
PADDING = 0.01
"""The axis extends by this fraction beyond the bins."""
BEYOND_LEFT, BEYOND_RIGHT = 30.0, 10.0
"""A label may extend beyond its axis by these pixels: the left axis has room below."""
_EMPTY = HistogramChart((0.0, 1.0), ())


class HistogramPlot(XYPlot):
    """The first series as filled bars, the second as an outline over them.

    The numbers of NaN and Inf are in a line above. Vertical lines are at the mean, and at one
    standard deviation from it.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.chart: HistogramChart | None = None
        self._shown, self._power = _EMPTY, 0

    def show_chart(self, chart: HistogramChart | None) -> None:
        """Draw a chart instead of the current one."""
        if chart is None or self.chart is None or chart.edges != self.chart.edges:
            self.focused_point = None
        self.chart, self._shown = chart, chart or _EMPTY
        self._power = power_of(self._shown.edges)
        self.forget_layout()

    @override
    def note(self) -> str:
        """Return the numbers of values that are in no bin, "" for none."""
        series, parts = self._shown.series, []
        for bars in series:
            counts = (("NaN", bars.nan_count), ("Inf", bars.inf_count))
            found = ", ".join(f"{name}: {_exact(count)}" for name, count in counts if count)
            if found:
                parts.append(f"{bars.label}: {found}" if len(series) > 1 else found)
        return "; ".join(parts)

    @override
    def text_at(self, position: QPointF) -> str:
        layout = self.layout_of_axes()
        if self.chart is None or not layout.rect.contains(position):
            return ""
        x, edges = layout.value(position)[0], self._positions(self.chart.edges)
        for index, (left, right) in enumerate(pairwise(edges)):
            if left <= x < right or (x == right == edges[-1]):
                return self._text(index)
        return ""

    @override
    def next_point(self, key: int) -> Point | None:
        bins = len(self._shown.edges) - 1 if self._shown.series else 0
        at = self.focused_point[1] if self.focused_point else bins if key == Qt.Key.Key_Left else -1
        found = key_target(key, at, bins, across=bins)
        return None if found is None else (0, found)

    @override
    def describe_point(self, point: Point) -> tuple[str, QPointF]:
        index = point[1]
        height = max(self._heights(bars)[index] for bars in self._shown.series)
        return self._text(index), self.layout_of_axes().position(self._middle(index), height)

    @override
    def legend_entries(self) -> list[Entry]:
        series, entries = self._shown.series, []
        if len(series) > 1:
            styles = [self._style(number) for number in range(len(series))]
            entries = [
                Entry(bars.label, pen, None, brush, pen)
                for bars, (pen, brush) in zip(series, styles, strict=True)
            ]
        named = {name: pen for name, pen, _ in self._levels()}
        if len(series) > 1:
            named = {name: QPen(pen) for name, pen in named.items()}
            for pen in named.values():
                pen.setColor(QColor(self.theme.text))
        return [*entries, *(Entry(name, pen, "", QBrush(), pen) for name, pen in named.items())]

    @override
    def x_range(self) -> tuple[float, float]:
        edges = self._positions(self._shown.edges)
        low, high = widened(edges[0], edges[-1], ROUNDING)
        return low - PADDING * (high - low), high + PADDING * (high - low)

    @override
    def y_range(self) -> tuple[float, float]:
        """Return a range from 0 to the highest bar, and to the lowest if bars go down."""
        heights = [height for bars in self._shown.series for height in self._heights(bars)]
        if self._shown.is_log:
            high = max([0.5, *heights])
            return LOWEST, high + HEADROOM * (high - LOWEST)
        low, high = min(0.0, *heights, 0.0), max(0.0, *heights, 0.0)
        if low == high:
            return 0.0, 1.0
        margin = HEADROOM * (high - low)
        return (low - margin if low < 0 else 0.0), high + margin

    @property
    @override
    def has_zero(self) -> bool:
        return not self._shown.is_log

    @override
    def left_ticks(self, low: float, high: float, size: float) -> list[Tick]:
        if not self._has_values:
            return []
        if self._shown.is_log:
            return log_ticks(low, high, size, lowest=0, metrics=axis_metrics())
        return NumberTicks(axis_metrics()).ticks(low, high, size)

    @override
    def bottom_labels(self, width: float) -> ShownLabels:
        metrics = axis_metrics()
        ticks = NumberTicks(metrics, is_horizontal=True, power=self._power)
        low, high = self.x_range()
        found = ticks.ticks(low, high, width + 2) if self._has_values else []

        def is_inside(tick: Tick) -> bool:
            x = (tick.value - low) / (high - low) * width
            half = metrics.horizontalAdvance(tick.text) / 2
            return x - half >= -BEYOND_LEFT and x + half <= width + BEYOND_RIGHT

        labels = tuple((tick.value, tick.text) for tick in found if is_inside(tick))
        return ShownLabels(labels, int(metrics.height()))

    @property
    def _has_values(self) -> bool:
        """Whether axes have numbers: where all values are NaN or Inf, they would mean nothing."""
        series = self._shown.series
        return any(any(bars.counts) for bars in series) or bool(series and not self.note())

    @override
    def draw_content(self, painter: QPainter, layout: XYLayout) -> None:
        edges = self._positions(self._shown.edges)
        base = LOWEST if self._shown.is_log else 0.0
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for number, bars in enumerate(self._shown.series):
            pen, brush = self._style(number)
            painter.setPen(pen)
            painter.setBrush(brush)
            draw = _outline if number else _filled
            painter.drawPath(draw(layout, edges, self._heights(bars), base))
        for _, pen, x in self._levels():
            if edges[0] <= x <= edges[-1] or pen.style() == Qt.PenStyle.DashLine:
                self.draw_line(painter, layout, pen, x=x)
        if self.focused_point is not None:
            dotted = QPen(QColor(self.theme.text), 1, Qt.PenStyle.DotLine)
            self.draw_line(painter, layout, dotted, x=self._middle(self.focused_point[1]))

    def _style(self, number: int) -> tuple[QPen, QBrush]:
        color = self.theme.series[number % len(self.theme.series)]
        if number:
            pen = QPen(QColor(color), 2)
            pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
            return pen, QBrush()
        # The line keeps bars visible that are lower than a pixel: outliers are few.
        return QPen(QColor(color), 1), QBrush(tinted(color, FILL_OPACITY))

    def _levels(self) -> list[tuple[str, QPen, float]]:
        """Return name, pen and position of means, and of a single series' standard deviations."""
        series, found = self._shown.series, []
        for number, bars in enumerate(series):
            if bars.mean is None:
                continue
            color = QColor(self.theme.text if len(series) == 1 else self.theme.series[number])
            mean, std = self._positions((bars.mean, bars.std or 0.0))
            found.append((self.tr("mean"), QPen(color, 1.5, Qt.PenStyle.DashLine), mean))
            if len(series) == 1 and std:
                dotted = QPen(color, 1, Qt.PenStyle.DotLine)
                name = self.tr("mean ± std")
                found += [(name, dotted, mean - std), (name, dotted, mean + std)]
        return found

    def _text(self, index: int) -> str:
        chart = self._shown
        counts = [(bars.label, _exact(bars.counts[index])) for bars in chart.series]
        # Where the axis does not show counts, the text says what they are of.
        is_clear = len(counts) == 1 and not chart.is_density
        parts = [count if is_clear else f"{label}: {count}" for label, count in counts]
        low, high = chart.edges[index : index + 2]
        return f"{number_text(low)} … {number_text(high)}: {', '.join(parts)}"

    def _middle(self, index: int) -> float:
        low, high = self._positions(self._shown.edges[index : index + 2])
        return (low + high) / 2

    def _heights(self, bars: Bars) -> tuple[float, ...]:
        heights = self._shown.heights(bars)
        return tuple(map(log_position, heights)) if self._shown.is_log else heights

    def _positions(self, values: Sequence[float]) -> tuple[float, ...]:
        """Return the positions of values on the bottom axis."""
        return tuple(value / 10.0**self._power for value in values)


def _exact(count: float) -> str:
    return with_minus(f"{count:,}") if isinstance(count, int) else number_text(count)


def _filled(
    layout: XYLayout, edges: Sequence[float], heights: Sequence[float], base: float
) -> QPainterPath:
    path = QPainterPath()
    for (low, high), height in zip(pairwise(edges), heights, strict=True):
        if height != base:
            gap = GAP * (high - low)
            corners = layout.position(low + gap, base), layout.position(high - gap, height)
            path.addRect(QRectF(*corners).normalized())
    return path


def _outline(
    layout: XYLayout, edges: Sequence[float], heights: Sequence[float], base: float
) -> QPainterPath:
    path = QPainterPath(layout.position(edges[0], base))
    for (low, high), height in zip(pairwise(edges), heights, strict=True):
        path.lineTo(layout.position(low, height))
        if height != base:
            path.lineTo(layout.position(high, height))
        else:
            # No line along 0: it would hide low bars.
            path.moveTo(layout.position(high, base))
    path.lineTo(layout.position(edges[-1], base))
    return path
