"""Counts over bins as bars, of one series or of two over one another."""

from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QBrush, QColor, QPainterPath
from PySide6.QtWidgets import QGraphicsPathItem, QWidget

from bertviewer.plots.chart import Bars, HistogramChart, Place
from bertviewer.plots.legend import Entry
from bertviewer.plots.legend_plot import LegendPlot
from bertviewer.plots.log_scale import PowerAxis, log_height
from bertviewer.plots.theme import widened

FILL_OPACITY = 0.7
GAP = 0.08
"""The part of a bin that stays free at either side of its bar."""
HEADROOM = 0.04
NOTE_POINTS = 9


class HistogramPlot(LegendPlot):
    """The first series as filled bars, a second one as an outline over them.

    Values in no bin, NaN and Inf, are told in a line above the bars. Lines stand where the mean
    is, and one standard deviation from it.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        self.chart: HistogramChart | None = None
        super().__init__(parent, axes={"left": PowerAxis("left")})

    def show_chart(self, chart: HistogramChart | None) -> None:
        """Draw a chart, in place of the one drawn before."""
        self.chart = chart
        self.titles = (
            {"bottom": "", "left": ""}
            if chart is None
            else {"bottom": chart.x_title, "left": chart.y_title}
        )
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

    def place_at(self, position: QPointF) -> Place | None:
        """Return ``None``: a bar stands for no one place."""
        return None

    def text_at(self, position: QPointF) -> str:
        """Return range and counts of the bin at a position in the scene, in words."""
        box = self.getPlotItem().vb
        if self.chart is None or not box.sceneBoundingRect().contains(position):
            return ""
        x, edges = box.mapSceneToView(position).x(), self.chart.edges
        for index, (low, high) in enumerate(pairwise(edges)):
            if low <= x < high or (x == high == edges[-1]):
                counts = [bars.counts[index] for bars in self.chart.series]
                told = (
                    [_exact(counts[0])]
                    if len(counts) == 1
                    else [
                        f"{bars.label}: {_exact(count)}"
                        for bars, count in zip(self.chart.series, counts, strict=True)
                    ]
                )
                return f"{low:.7g} … {high:.7g}: {', '.join(told)}"
        return ""

    def draw(self) -> None:
        """Draw the bars, the legend and the axes."""
        super().draw()
        item = self.getPlotItem()
        chart = self.chart or HistogramChart((0.0, 1.0), ())
        entries = []
        for number, bars in enumerate(chart.series):
            color = self.theme.series[number % len(self.theme.series)]
            if number == 0:
                # The line keeps a bar visible that is lower than a pixel: outliers are few.
                pen, brush = self.pen(color), QBrush(_tint(color))
                path = _filled(chart.edges, bars)
            else:
                pen, brush = self.pen(color, 2), QBrush()
                path = _outline(chart.edges, bars)
            shape = QGraphicsPathItem(path)
            shape.setPen(pen)
            shape.setBrush(brush)
            item.addItem(shape, ignoreBounds=True)
            entries.append(Entry(bars.label, pen, None, brush, pen))
        self.legend.set_entries(entries if len(entries) > 1 else (), self.theme, self.font())
        self.draw_zero()
        self.show_values(bool(chart.series))
        note = self.note()
        item.setTitle(note or None, color=self.theme.foreground, size=f"{NOTE_POINTS}pt")
        item.showGrid(x=False, y=True, alpha=0.15)
        item.setXRange(*widened(chart.edges[0], chart.edges[-1]), padding=0.01)
        self.fit()

    def y_range(self) -> tuple[float, float]:
        """Return a range from 0 to the highest bar, and to the lowest if bars go down."""
        series = self.chart.series if self.chart else ()
        counts = [count for bars in series for count in bars.counts]
        low, high = min(0.0, *counts, 0.0), max(0.0, *counts, 0.0)
        if low == high:
            return 0.0, 1.0
        margin = HEADROOM * (high - low)
        return (low - margin if low < 0 else 0.0), high + margin


def _exact(count: float) -> str:
    return f"{count:,}" if isinstance(count, int) else f"{count:.7g}"


def _tint(color: str) -> QColor:
    tint = QColor(color)
    tint.setAlphaF(FILL_OPACITY)
    return tint


def _filled(edges: tuple[float, ...], bars: Bars) -> QPainterPath:
    path = QPainterPath()
    for low, high, count in zip(edges[:-1], edges[1:], bars.counts, strict=True):
        if count:
            gap = GAP * (high - low)
            path.addRect(QRectF(QPointF(low + gap, 0), QPointF(high - gap, count)).normalized())
    return path


def _outline(edges: tuple[float, ...], bars: Bars) -> QPainterPath:
    path = QPainterPath(QPointF(edges[0], 0))
    for low, high, count in zip(edges[:-1], edges[1:], bars.counts, strict=True):
        path.lineTo(low, count)
        if count:
            path.lineTo(high, count)
        else:
            # No line along 0: it would hide low bars.
            path.moveTo(high, 0)
    path.lineTo(edges[-1], 0)
    return path
