"""Counts over bins as bars, of one series or of two over one another."""

from collections.abc import Sequence
from itertools import pairwise

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QPainterPath
from PySide6.QtWidgets import QGraphicsPathItem, QWidget

from bertviewer.charts.chart import Bars, HistogramChart
from bertviewer.charts.levels import widened
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import NORMAL
from bertviewer.core.util.numbers import number_text, with_minus
from bertviewer.plots.color_scale import tinted
from bertviewer.plots.legend import Entry
from bertviewer.plots.legend_plot import LegendPlot
from bertviewer.plots.number_axis import LOWEST, NumberAxis, PowerAxis, log_height, power_of
from bertviewer.plots.plot import Point

FILL_OPACITY = 0.7
GAP = 0.08
"""The part of a bin that stays free at either side of its bar."""
HEADROOM = 0.04


class HistogramPlot(LegendPlot):
    """The first series as filled bars, a second one as an outline over them.

    Values in no bin, NaN and Inf, are told in a line above the bars. Lines stand where the mean
    is, and one standard deviation from it.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        self.chart: HistogramChart | None = None
        self._power = 0
        self._mark: pg.InfiniteLine | None = None
        super().__init__({"bottom": NumberAxis("bottom"), "left": PowerAxis("left")}, parent)

    def show_chart(self, chart: HistogramChart | None) -> None:
        """Draw a chart, in place of the one drawn before."""
        if chart is None or self.chart is None or chart.edges != self.chart.edges:
            self.reached_point = None
        self.chart = chart
        self._power = 0 if chart is None else power_of(chart.edges)
        self.name_axes(chart)
        self.draw()

    def note(self) -> str:
        """Return the line about values in no bin, "" if there are none."""
        series = self.chart.series if self.chart else ()
        parts = []
        for bars in series:
            counts = (("NaN", bars.nan_count), ("Inf", bars.inf_count))
            found = ", ".join(f"{name}: {_exact(count)}" for name, count in counts if count)
            if found:
                parts.append(f"{bars.label}: {found}" if len(series) > 1 else found)
        return "; ".join(parts)

    def place_at(self, position: QPointF) -> SelectionKey | None:
        """Return ``None``: a bar stands for no one place."""
        return None

    def text_at(self, position: QPointF) -> str:
        """Return range and counts of the bin at a position in the scene, in words."""
        box = self.area.vb
        if self.chart is None or not box.sceneBoundingRect().contains(position):
            return ""
        x, places = box.mapSceneToView(position).x(), self._stand(self.chart.edges)
        for index, (left, right) in enumerate(pairwise(places)):
            if left <= x < right or (x == right == places[-1]):
                return self._bin_text(self.chart, index)
        return ""

    def point_beside(self, key: int) -> Point | None:
        """Return the bin before or after, the first or the last."""
        last = -1 if self.chart is None or not self.chart.series else len(self.chart.edges) - 2
        at = -1 if self.reached_point is None else self.reached_point[1]
        found = {
            Qt.Key.Key_Left: at - 1 if self.reached_point else last,
            Qt.Key.Key_Right: at + 1,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }.get(Qt.Key(key), -1)
        return (0, found) if 0 <= found <= last else None

    def told_at(self, point: Point) -> tuple[str, QPointF]:
        """Return range and counts of a bin in words, and the top of its highest bar."""
        assert self.chart is not None
        index = point[1]
        height = max(self._heights(bars)[index] for bars in self.chart.series)
        return self._bin_text(self.chart, index), QPointF(self._middle(index), height)

    def draw_marks(self) -> None:
        """Mark the bin that a key has led to."""
        if self._mark is not None:
            self.area.removeItem(self._mark)
            self._mark = None
        if self.reached_point is not None:
            dotted = self.pen(self.theme.text, 1, Qt.PenStyle.DotLine)
            self._mark = self.add_line(self._middle(self.reached_point[1]), dotted, z=6)

    def _bin_text(self, chart: HistogramChart, index: int) -> str:
        counts = [(bars.label, _exact(bars.counts[index])) for bars in chart.series]
        # Where the axis has no counts, what they are of has to be said.
        is_clear = len(counts) == 1 and not chart.is_density
        told = [count if is_clear else f"{label}: {count}" for label, count in counts]
        low, high = chart.edges[index : index + 2]
        return f"{number_text(low)} … {number_text(high)}: {', '.join(told)}"

    def _middle(self, index: int) -> float:
        assert self.chart is not None
        low, high = self._stand(self.chart.edges[index : index + 2])
        return (low + high) / 2

    def draw(self) -> None:
        """Draw the bars, the legend and the axes."""
        super().draw()
        self._mark = None
        item = self.area
        chart = self.chart or HistogramChart((0.0, 1.0), ())
        base = LOWEST if chart.is_log else 0.0
        edges = self._stand(chart.edges)
        entries = []
        for number, bars in enumerate(chart.series):
            color = self.theme.series[number % len(self.theme.series)]
            heights = self._heights(bars)
            if number == 0:
                # The line keeps a bar visible that is lower than a pixel: outliers are few.
                pen, brush = self.pen(color), QBrush(tinted(color, FILL_OPACITY))
                path = _filled(edges, heights, base)
            else:
                pen, brush = self.pen(color, 2), QBrush()
                path = _outline(edges, heights, base)
            shape = QGraphicsPathItem(path)
            shape.setPen(pen)
            shape.setBrush(brush)
            item.addItem(shape, ignoreBounds=True)
            entries.append(Entry(bars.label, pen, None, brush, pen))
        entries = [*(entries if len(entries) > 1 else ()), *self._draw_levels(chart)]
        self.legend.set_entries(entries, self.theme, self.font())
        if not chart.is_log:
            self.draw_zero()
        item.getAxis("left").setLogMode(chart.is_log)
        note = self.note()
        has_bars = any(any(bars.counts) for bars in chart.series)
        # Where all values are NaN or Inf, the axes would have numbers of nothing.
        self.show_values(has_bars or bool(chart.series and not note))
        item.setTitle(note or None, color=self.theme.text, size=f"{NORMAL}px")
        item.getAxis("bottom").take_values(self._power)
        item.setXRange(*widened(edges[0], edges[-1]), padding=0.01)
        self.fit()
        self.draw_marks()

    def y_range(self) -> tuple[float, float]:
        """Return a range from 0 to the highest bar, and to the lowest if bars go down."""
        series = self.chart.series if self.chart else ()
        heights = [height for bars in series for height in self._heights(bars)]
        if self.chart and self.chart.is_log:
            high = max([0.5, *heights])
            return LOWEST, high + HEADROOM * (high - LOWEST)
        low, high = min(0.0, *heights, 0.0), max(0.0, *heights, 0.0)
        if low == high:
            return 0.0, 1.0
        margin = HEADROOM * (high - low)
        return (low - margin if low < 0 else 0.0), high + margin

    def _heights(self, bars: Bars) -> tuple[float, ...]:
        assert self.chart is not None
        heights = self.chart.heights(bars)
        return tuple(map(log_height, heights)) if self.chart.is_log else heights

    def _stand(self, values: Sequence[float]) -> tuple[float, ...]:
        """Return where values stand."""
        return tuple(value / 10.0**self._power for value in values)

    def _draw_levels(self, chart: HistogramChart) -> list[Entry]:
        """Draw where means are, and of a single series the deviations; return their names."""
        is_single = len(chart.series) == 1
        dashed = Qt.PenStyle.DashLine
        names = {}
        for number, bars in enumerate(chart.series):
            if bars.mean is None:
                continue
            color = self.theme.text if is_single else self.theme.series[number]
            mean, std = self._stand((bars.mean, bars.std or 0.0))
            self.add_line(mean, self.pen(color, 1.5, dashed), z=5)
            names[self.tr("mean")] = self.pen(self.theme.text, 1.5, dashed)
            if is_single and bars.std:
                dotted = self.pen(color, 1, Qt.PenStyle.DotLine)
                names[self.tr("mean ± std")] = dotted
                first, *_, last = self._stand(chart.edges)
                for x in (mean - std, mean + std):
                    if first <= x <= last:
                        self.add_line(x, dotted, z=5)
        return [Entry(name, pen, "", QBrush(), pen) for name, pen in names.items()]


def _exact(count: float) -> str:
    return with_minus(f"{count:,}") if isinstance(count, int) else number_text(count)


def _filled(edges: Sequence[float], heights: Sequence[float], base: float) -> QPainterPath:
    path = QPainterPath()
    for low, high, height in zip(edges[:-1], edges[1:], heights, strict=True):
        if height != base:
            gap = GAP * (high - low)
            corners = QPointF(low + gap, base), QPointF(high - gap, height)
            path.addRect(QRectF(*corners).normalized())
    return path


def _outline(edges: Sequence[float], heights: Sequence[float], base: float) -> QPainterPath:
    path = QPainterPath(QPointF(edges[0], base))
    for low, high, height in zip(edges[:-1], edges[1:], heights, strict=True):
        path.lineTo(low, height)
        if height != base:
            path.lineTo(high, height)
        else:
            # No line along 0: it would hide low bars.
            path.moveTo(high, base)
    path.lineTo(edges[-1], base)
    return path
