"""What every plot of the program shares: it is looked at and clicked, never dragged about."""

import pyqtgraph as pg
from PySide6.QtWidgets import QWidget

from bertviewer.plots.theme import LIGHT, PlotTheme


class Plot(pg.PlotWidget):  # type: ignore[misc]
    """A plot with a theme and two titled axes; a subclass adds what it shows to ``draw()``."""

    def __init__(
        self, parent: QWidget | None = None, axes: dict[str, pg.AxisItem] | None = None
    ) -> None:
        super().__init__(parent, axisItems=axes, enableMenu=False)
        self.theme = LIGHT
        self.titles = {"bottom": "", "left": ""}
        item = self.getPlotItem()
        item.hideButtons()
        item.setMouseEnabled(x=False, y=False)
        self.adopt_menu(item)
        for side in ("bottom", "left"):
            # An axis in thousandths without a word about it would be read wrong.
            item.getAxis(side).enableAutoSIPrefix(False)

    def set_theme(self, theme: PlotTheme) -> None:
        """Draw again in other colours."""
        self.theme = theme
        self.draw()

    def draw(self) -> None:
        """Clear the plot, and draw the background and the axes in the theme's colours."""
        item = self.getPlotItem()
        item.clear()
        self.setBackground(self.theme.background)
        for side, title in self.titles.items():
            axis = item.getAxis(side)
            axis.setPen(self.theme.muted)
            axis.setTextPen(self.theme.foreground)
            axis.setLabel(title, color=self.theme.foreground)

    def adopt_menu(self, item: pg.PlotItem) -> None:
        """Own the item's menu: pyqtgraph leaves it without a parent, and nothing deletes it."""
        item.ctrlMenu.setParent(self, item.ctrlMenu.windowFlags())
