"""What every plot that paints itself shares: pointing, the selection, colours and the focus."""

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import LIGHT, Theme
from bertviewer.plots.plot import Side, draw_focus


class PaintedPlot(QWidget):
    """A plot that draws itself with a painter, on a screen and on paper alike.

    ``clicked`` carries the place that was clicked, or gone to by a key, ``hovered`` the exact value
    under the mouse in words, or nothing. ``reached`` carries what a key has led to, in words, and
    where that is in the widget. ``neighbour`` is the side on which there is a plot of
    the same kind; that at the right has the bar of colours for both. With
    ``shows_by_selection`` what it shows depends on the selection, not just a frame.
    """

    shows_by_selection = False

    clicked = Signal(SelectionKey)
    hovered = Signal(str)
    reached = Signal(str, QPoint)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = LIGHT
        self.selection = SelectionKey()
        self.neighbour: Side | None = None
        self.common_title = ""
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def place_at(self, position: QPointF) -> SelectionKey | None:
        """Return what is at a position in the widget, ``None`` where there is nothing."""
        raise NotImplementedError

    def text_at(self, position: QPointF) -> str:
        """Return the exact value at a position in the widget, in words; "" where there is none."""
        raise NotImplementedError

    def draw_on(self, painter: QPainter) -> None:
        """Draw the plot as large as the widget is, from the painter's origin."""
        raise NotImplementedError

    def share(self, side: Side | None, title: str = "") -> None:
        """Have a neighbour or none; ``title`` is what the values of both are."""
        self.neighbour, self.common_title = side, title
        self.update()

    def beside_cells(self) -> float:
        """Return how many pixels of the width are not the cells'."""
        return 0.0

    def set_theme(self, theme: Theme) -> None:
        """Draw again in other colours."""
        self.theme = theme
        self.update()

    def mark(self, selection: SelectionKey) -> None:
        """Show where the selection is."""
        self.selection = selection
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw; Qt calls it."""
        painter = QPainter(self)
        self.draw_on(painter)
        draw_focus(painter, self)
        painter.end()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Tell what is under the mouse; Qt calls it."""
        self.hovered.emit(self.text_at(event.position()))

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Tell no more of what keys have led to; Qt calls it."""
        super().focusOutEvent(event)
        self.hovered.emit("")

    def leaveEvent(self, event: QEvent) -> None:
        """Tell that the mouse is on nothing any more; Qt calls it."""
        super().leaveEvent(event)
        self.hovered.emit("")
