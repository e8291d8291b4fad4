"""A plot with two lines in it, charts of lines, and what a plot of lines shows."""

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import Line, LineChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.plots.curve import Curve
from bertviewer.plots.line_plot import LinePlot


def places(name: str, count: int = 4) -> tuple[SelectionKey, ...]:
    return tuple(SelectionKey(f"{name}.{number}") for number in range(count))


def chart(*lines: Line, title: str = "std") -> LineChart:
    longest = max((len(line.values) for line in lines), default=0)
    return LineChart(lines, "Layer", title, tuple(map(str, range(longest))))


OUTPUT = Line("layer: output", (1.0, 2.0, None, 4.0), places("a"))
PART = Line("layer: part", (3.0, None, None, 4.5), places("b"))


def lines_in(window: QWidget) -> LinePlot:
    """Show a plot of the two lines in a window."""
    plot = LinePlot(window)
    plot.resize(640, 320)
    plot.show()
    plot.show_chart(chart(OUTPUT, PART))
    plot.grab()
    return plot


def curves(plot: LinePlot) -> list[Curve]:
    found = [item for item in plot.area.items if isinstance(item, Curve)]
    return [curve for curve in found if curve.pen.style() != Qt.PenStyle.NoPen]


def rings(plot: LinePlot) -> list[tuple[float, float]]:
    """Return the points that are marked with a ring."""
    found = [item for item in plot.area.items if isinstance(item, Curve)]
    return [
        (float(x), height)
        for curve in found
        if curve.pen.style() == Qt.PenStyle.NoPen
        for x, height in enumerate(curve.heights)
        if height is not None
    ]


def marked(plot: LinePlot) -> list[float]:
    """Return the x that are marked with a vertical line."""
    items = plot.area.items
    return [i.value() for i in items if isinstance(i, pg.InfiniteLine) and i.angle == 90]
