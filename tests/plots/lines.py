"""A plot with two lines in it, and charts of lines."""

from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import Line, LineChart
from bertviewer.charts.selection_key import SelectionKey
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
    return plot


def rings(plot: LinePlot) -> list[tuple[float, float]]:
    """Return the points that are marked with a ring."""
    heights = ((point[1], plot.points.height(point)) for point in plot.marked_points())
    return [(x, height) for x, height in heights if height is not None]


def marked(plot: LinePlot) -> list[float]:
    """Return the x that are marked with a vertical line."""
    return sorted({x for _, x in plot.marked_points()})


def left_labels(plot: LinePlot) -> list[str]:
    return [tick.text for tick in plot.layout_of_axes().ticks]


def bottom_labels(plot: LinePlot) -> list[tuple[float, str]]:
    return list(plot.layout_of_axes().below.labels)
