"""Plots of the baseline and the current run side by side, with shared titles and scales."""

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette, QResizeEvent
from PySide6.QtWidgets import QLabel, QWidget
from typing_extensions import override

from bertviewer.charts.chart import Chart, GridChart, HeadsChart
from bertviewer.charts.comparison import common_title
from bertviewer.charts.theme import SMALL
from bertviewer.plots.canvas_plot import CanvasPlot
from bertviewer.plots.fonts import sized
from bertviewer.ui.widgets.layouts import hbox, vbox

MIN_SHARE = 0.4
"""Minimum width of a plot with few cells, as a share of the other plot's width."""


class Column(QWidget):
    """A plot below the name of its run, which is hidden if there is only one."""

    def __init__(self, plot: CanvasPlot, name: str) -> None:
        super().__init__()
        self.plot = plot
        self.name = QLabel(name)
        self.name.setFont(sized(self.name.font(), SMALL))
        self.name.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.name.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        vbox(self.name, (plot, 1), parent=self, spacing=0)


class SideBySide(QWidget):
    """A row of plots, the baseline's first.

    If both have the same colour scale, the first has the title, the second the colour bar, and
    their cells are equally wide.
    """

    def __init__(self) -> None:
        super().__init__()
        self.columns: list[Column] = []
        self._row = hbox(parent=self)

    def add(self, column: Column) -> None:
        """Add a plot to the left of the others."""
        self.columns.append(column)
        self._row.insertWidget(0, column, 1)
        column.plot.view_changed.connect(partial(self._couple, column.plot))

    def show_charts(self, b: Chart | None, a: Chart | None) -> None:
        """Draw the current run's chart, and the baseline's if there is one."""
        self._share(_common(b, a))
        is_double = a is not None
        for column, chart in zip(self.columns, (b, a), strict=False):
            # Clearing an empty plot takes as long as drawing one.
            if chart is not None or column.plot.chart is not None:
                column.plot.show_chart(chart)
            column.name.setVisible(is_double)
        for column in self.columns[1:]:
            column.setVisible(is_double)
        self._couple(self.columns[0].plot)
        self._balance()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._balance()

    def _couple(self, plot: CanvasPlot) -> None:
        """Zoom and scroll the other plots like one of them."""
        for column in self.columns:
            if column.plot is not plot:
                column.plot.look_like(plot)

    def _share(self, title: str | None) -> None:
        """Share a title of the values among both plots, or nothing."""
        b, *others = (column.plot for column in self.columns)
        for a in others:
            a.share(None if title is None else "right", title or "")
            b.share(None if title is None else "left", title or "")
            a.align(None if title is None else b)
            b.align(None if title is None else a)

    def _balance(self) -> None:
        """Make the plots so wide that their cells are equally wide."""
        columns = [column for column in self.columns if not column.isHidden()]
        plots = [column.plot for column in columns]
        taken = [plot.reserved_width() for plot in plots]
        room = self.width() - self._row.spacing() * (len(plots) - 1) - sum(taken)
        counts = [plot.cells_across() for plot in plots]
        shares = [max(count, max(counts) * MIN_SHARE) for count in counts]
        cells = [room * share / sum(shares) for share in shares]
        for column, wide, own in zip(columns, cells, taken, strict=True):
            self._row.setStretchFactor(column, max(1, round(wide + own)))
        # Otherwise they would be drawn twice.
        self._row.activate()


def _common(b: Chart | None, a: Chart | None) -> str | None:
    """Return the title of both charts' values if they have the same colour scale and rows."""
    if isinstance(a, GridChart) and isinstance(b, GridChart) and a.y_title == b.y_title:
        return common_title(b, a) if _colors(a) == _colors(b) else None
    if isinstance(a, HeadsChart) and isinstance(b, HeadsChart):
        return common_title(b, a) if _colors(a) == _colors(b) else None
    return None


def _colors(chart: GridChart | HeadsChart) -> object:
    # A chart without levels has its own scale.
    return (chart.levels or chart, chart.is_signed, chart.is_root)
