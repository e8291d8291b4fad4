"""What plots with a legend share: the room for it, whatever the plot's size is."""

import pyqtgraph as pg
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from bertviewer.plots.legend import Legend
from bertviewer.plots.plot import Plot


class LegendPlot(Plot):
    """A plot that keeps its legend above what it shows; ``draw()`` has to end in ``fit()``."""

    def __init__(
        self, parent: QWidget | None = None, axes: dict[str, pg.AxisItem] | None = None
    ) -> None:
        super().__init__(parent, axes)
        self.legend = Legend(self.getPlotItem().vb)
        self.getPlotItem().vb.sigResized.connect(self._refit)

    def y_range(self) -> tuple[float, float]:
        """Return the range of y that is to be seen."""
        raise NotImplementedError

    def draw_zero(self) -> None:
        """Draw a line at 0 if that is between the values: what is above and below then counts."""
        low, high = self.y_range()
        if low < 0 < high:
            self.add_line(0.0, self.pen(self.theme.muted), z=-20, angle=0)

    def fit(self) -> None:
        """Choose the y range so that the legend hides nothing."""
        low, high = self.y_range()
        box = self.getPlotItem().vb
        height = box.height()
        names = self.legend.arrange(box.width(), height)
        share = min(0.5, names / height) if height > 0 else 0.2
        self.getPlotItem().setYRange(low, high + (high - low) * share / (1 - share), padding=0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep room for the legend at the new size; Qt calls it."""
        super().resizeEvent(event)
        # pyqtgraph calls this while it is still building the plot.
        # It also calls it after the plot is closed, when there is nothing left to fit.
        if hasattr(self, "legend") and self.getPlotItem() is not None:
            self.fit()

    def _refit(self) -> None:
        """Arrange the names again if longer numbers at the axis have left them less room."""
        item = self.getPlotItem()
        if item is not None and item.vb.width() < self.legend.boundingRect().width():
            self.fit()
