"""What plots with a legend share: the room for it, whatever the plot's size is."""

import pyqtgraph as pg
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from bertviewer.plots.legend import Legend
from bertviewer.plots.plot import Plot

MOST_GROWTHS = 2
"""So often are names arranged anew in more room: with them the axis may get longer numbers, which
leave less of it, and so on for ever.
"""


class LegendPlot(Plot):
    """A plot that keeps its legend above what it shows; ``draw()`` has to end in ``fit()``."""

    def __init__(
        self, parent: QWidget | None = None, axes: dict[str, pg.AxisItem] | None = None
    ) -> None:
        super().__init__(parent, axes)
        self.legend = Legend(self.getPlotItem().vb)
        self._arranged = (0.0, 0.0)  # what the names were arranged in, in pixels
        self._growths = 0
        self.getPlotItem().vb.sigResized.connect(self._refit)

    def y_range(self) -> tuple[float, float]:
        """Return the range of y that is to be seen."""
        raise NotImplementedError

    def draw(self) -> None:
        """Clear the plot; what is drawn then may have other names, and other numbers beside it."""
        super().draw()
        self._growths = 0

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
        self._arranged = box.width(), height
        names = self.legend.arrange(*self._arranged)
        share = min(0.5, names / height) if height > 0 else 0.2
        self.getPlotItem().setYRange(low, high + (high - low) * share / (1 - share), padding=0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep room for the legend at the new size; Qt calls it."""
        super().resizeEvent(event)
        # pyqtgraph calls this while it is still building the plot.
        # It also calls it after the plot is closed, when there is nothing left to fit.
        if hasattr(self, "legend") and self.getPlotItem() is not None:
            self._growths = 0
            self.fit()

    def _refit(self) -> None:
        """Arrange the names again if the axes have left them less room, or more."""
        item = self.getPlotItem()
        if item is None or (item.vb.width(), item.vb.height()) == self._arranged:
            return
        is_narrower = item.vb.width() < self._arranged[0]
        if is_narrower or self._growths < MOST_GROWTHS:
            self._growths += not is_narrower
            self.fit()
