"""A plot with two lines in it, and charts of lines."""

from PySide6.QtWidgets import QWidget

from bertviewer.plots.chart import Line, LineChart, Place
from bertviewer.plots.line_plot import LinePlot


def places(name: str, count: int = 4) -> tuple[Place, ...]:
    return tuple(Place(f"{name}.{number}") for number in range(count))


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
