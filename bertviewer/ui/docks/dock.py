"""A pane in its dock: a line above it, and a thin edge around it once it is torn off."""

from typing import Literal

from msgspec import Struct
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QDockWidget, QWidget

from bertviewer.ui.docks.pane_title import PaneTitle

PaneName = Literal["structure", "module", "run"]
EDGE = 1


class Pane(Struct, frozen=True):
    """What stands in a dock, its title, and what stands in the line above it.

    Without ``has_title`` there is such a line only over a pane that is torn off.
    """

    name: PaneName
    title: str
    content: QWidget
    extra: QWidget | None = None
    has_title: bool = True


class Dock(QDockWidget):
    """Qt's dock with a title of our own, for which the desktop draws no frame."""

    def __init__(self, pane: Pane, window: QWidget) -> None:
        super().__init__(pane.title, window)
        self.setObjectName(f"{pane.name}Pane")
        self.setAccessibleName(pane.title)
        self.setWidget(pane.content)
        self.title = PaneTitle(pane.title, pane.name, pane.extra, stays=pane.has_title)
        self.setTitleBarWidget(self.title)
        self.topLevelChanged.connect(self._on_floating)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the edge of a window of its own; Qt calls it."""
        super().paintEvent(event)
        if self.isFloating():
            painter = QPainter(self)
            painter.setPen(self.palette().color(QPalette.ColorRole.Mid))
            painter.drawRect(self.rect().adjusted(0, 0, -EDGE, -EDGE))
            painter.end()

    def _on_floating(self, is_floating: bool) -> None:
        edge = EDGE if is_floating else 0
        self.setContentsMargins(edge, edge, edge, edge)
        self.title.show_floating(is_floating)
