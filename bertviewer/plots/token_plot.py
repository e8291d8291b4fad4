"""What is the same of all pictures of a grid of tokens that one looks into."""

from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import GridChart
from bertviewer.charts.levels import Levels, levels_of
from bertviewer.plots.zooming import ZoomingPlot

MOVED = 0.25
"""An arrow moves what is seen by this part of it."""


class TokenPlot(ZoomingPlot):
    """A grid of tokens, which a subclass draws in its way."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.chart: GridChart | None = None
        self.levels: Levels = (0.0, 1.0)
        self.setMinimumSize(120, 100)

    def take(self, chart: GridChart | None) -> None:
        """Get ready to draw a chart, which is not empty, or nothing."""
        raise NotImplementedError

    def look_like(self, other: "TokenPlot") -> None:
        """See the same part as another plot, if it is of the kind."""
        raise NotImplementedError

    def show_chart(self, chart: GridChart | None) -> None:
        """Draw a chart, in place of the one drawn before; one of the same tokens from as near."""
        shown = chart if chart is not None and chart.values.size else None
        if shown is None or self.chart is None or shown.rows != self.chart.rows:
            self.fit()
        self.chart = shown
        if shown is not None:
            self.levels = shown.levels or levels_of(shown.values, shown.is_signed)
        self.take(shown)
        self.update()

    def row_beside(self, key: int, back: Qt.Key, forth: Qt.Key) -> int | None:
        """Return the row that a key leads to from the selected one, ``None`` without any."""
        chart = self.chart
        if chart is None or not chart.row_places:
            return None
        rows, _ = chart.chosen(self.selection)
        row, last = (rows[0] if rows else -1), len(chart.rows) - 1
        ways = {back: row - 1, forth: row + 1, Qt.Key.Key_Home: 0, Qt.Key.Key_End: last}
        found = ways.get(Qt.Key(key))
        return found if found is not None and 0 <= found <= last else None

    def go_to_row(self, row: int, text: str, at: QPointF) -> None:
        """Select a row, and tell what is there, and where that is in the widget."""
        assert self.chart is not None
        self.clicked.emit(self.chart.row_places[row])
        self.reached.emit(text, at.toPoint())
