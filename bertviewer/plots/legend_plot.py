"""A plot of which a legend is a part: there is room for it, whatever size the plot has."""

import pyqtgraph as pg
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from bertviewer.plots.legend import Legend
from bertviewer.plots.plot import Plot

MOST_GROWTHS = 2
"""So often are names arranged anew in more room: that gives the axis longer numbers, and so on."""

GRID = 38
"""How much of lines through the plot is seen, of 255."""


class LegendPlot(Plot):
    """A plot that keeps its legend above what it shows; ``draw()`` has to end in ``fit()``."""

    def __init__(self, axes: dict[str, pg.AxisItem], parent: QWidget | None = None) -> None:
        super().__init__(axes, parent)
        axes["left"].setGrid(GRID)
        self.legend = Legend(self.area.vb)
        self._arranged = (0.0, 0.0)  # what the names were arranged in, in pixels
        self._growths = 0
        self.area.vb.sigResized.connect(self._refit)

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
        box = self.area.vb
        height = box.height()
        self._arranged = box.width(), height
        names = self.legend.arrange(*self._arranged)
        share = min(0.5, names / height) if height > 0 else 0.2
        self.area.setYRange(low, high + (high - low) * share / (1 - share))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep room for the legend at the new size; Qt calls it."""
        super().resizeEvent(event)
        # pyqtgraph calls this while it is still building the plot, and when it has been closed.
        if hasattr(self, "legend") and not self.closed:
            self._growths = 0
            self.fit()

    def _refit(self) -> None:
        """Arrange the names again if the axes have left them less room, or more."""
        box = self.area.vb
        if self.closed or (box.width(), box.height()) == self._arranged:
            return
        is_narrower = box.width() < self._arranged[0]
        if is_narrower or self._growths < MOST_GROWTHS:
            self._growths += not is_narrower
            self.fit()
