"""Base class of all plots: painting, mouse, keyboard, selection and theme.

Plots paint themselves, with the same code on screens and on paper. pyqtgraph is not used: its
PlotItem creates 45 menu controls per plot; its axes have no labels at roots, no upright labels and
no cut ones; its cosmetic pens do not scale on paper; and its import takes 0.3 s.
"""

from html import escape
from typing import Any, Literal

from PySide6.QtCore import QEvent, QPoint, QPointF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QSizePolicy, QToolTip, QWidget
from typing_extensions import override

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import LIGHT, Theme

Side = Literal["left", "right"]
Point = tuple[int, int]
"""Row and column of a cell, line and x of a point, 0 and the number of a bin or a head."""
NOTCH = 120
"""Qt's unit of a wheel's rotation: one notch."""


class CanvasPlot(QWidget):
    """A plot that draws a chart with a painter.

    Signals:
        clicked: the selection key of what was clicked, or of what the keyboard leads to.
        hovered: the exact value under the mouse in words, "" for none.
        reached: the value that a key leads to in words, and its position in the widget.
        view_changed: another part of the chart is shown.

    Attributes:
        neighbour: the side on which there is a plot of the same kind: that at the left has the
            titles of rows for both, that at the right the colour bar.
        is_titled: whether axes have titles on the screen; on paper they always have.
        focused_point: the point that a key has led to.
        shows_by_selection: whether what is shown depends on the selection, not only marks.
        can_zoom: whether wheel, +, − and 0 zoom, and a drag pans.
    """

    clicked = Signal(SelectionKey)
    hovered = Signal(str)
    reached = Signal(str, QPoint)
    view_changed = Signal()

    shows_by_selection = False
    can_zoom = False
    chart: Any = None

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = LIGHT
        self.selection = SelectionKey()
        self.neighbour: Side | None = None
        self.shared_title = ""
        self.is_titled = True
        self.is_on_paper = False
        self.focused_point: Point | None = None
        self._pressed: QPointF | None = None
        self._is_dragged = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    @override
    def sizeHint(self) -> QSize:
        return QSize(600, 480)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(68, 68)

    def draw_on(self, painter: QPainter) -> None:
        """Draw the plot in the size of the widget, from the painter's origin."""
        raise NotImplementedError

    def key_at(self, position: QPointF) -> SelectionKey | None:
        """Return the selection key at a position in the widget, ``None`` for none."""
        return None

    def text_at(self, position: QPointF) -> str:
        """Return the exact value at a position in the widget in words, "" for none."""
        return ""

    def name_at(self, position: QPointF) -> str:
        """Return the full name at a position, for a tool tip; "" for none."""
        return ""

    def next_point(self, key: int) -> Point | None:
        """Return the point that a key leads to, ``None`` for none."""
        return None

    def go_to(self, point: Point) -> None:
        """Select a point as a click does."""

    def describe_point(self, point: Point) -> tuple[str, QPointF]:
        """Return the exact value of a point in words, and its position in the widget."""
        raise NotImplementedError

    def zoom_at(self, position: QPointF, notches: float) -> None:
        """Zoom in by notches of the wheel, or out; what is at a position stays there."""

    def move_by(self, offset: QPointF) -> None:
        """Pan by pixels."""

    def fit(self) -> None:
        """Show the whole chart."""

    def look_like(self, other: "CanvasPlot") -> None:
        """Show the same part of the chart as another plot of the same class."""

    def align(self, other: "CanvasPlot | None") -> None:
        """Lay out cells and names as another plot of the same class does, or independently."""

    def reserved_width(self) -> float:
        """Return how many pixels of the width are not available to cells."""
        return 0.0

    def cells_across(self) -> int:
        """Return how many cells a row has, which are as wide as those of a plot next to it."""
        return 1

    def show_chart(self, chart: Any) -> None:
        """Draw a chart instead of the current one."""
        raise NotImplementedError

    def content_size(self) -> QSizeF:
        """Return the size of the plot without titles and colour bar, as far as they vary."""
        return QSizeF(self.width() - self.reserved_width(), self.height())

    @property
    def has_titles(self) -> bool:
        """Whether axes have titles."""
        return self.is_titled or self.is_on_paper

    def share(self, side: Side | None, title: str = "") -> None:
        """Share a colour bar with the title ``title`` with a plot at a side, or nothing."""
        self.neighbour, self.shared_title = side, title
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Draw in the colours of a theme."""
        self.theme = theme
        self.update()

    def mark(self, selection: SelectionKey) -> None:
        """Mark the selection."""
        self.selection = selection
        self.update()

    def describe_focused(self) -> None:
        """Emit the value of the point that a key has led to: the chart may have changed."""
        if self.focused_point is not None:
            text, at = self.describe_point(self.focused_point)
            self.reached.emit(text, at.toPoint())

    def click_at(self, position: QPointF) -> None:
        """Select what is at a position."""
        place = self.key_at(position)
        if place is not None and place != SelectionKey():
            self.clicked.emit(place)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.draw_on(painter)
        draw_focus(painter, self)
        painter.end()

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed, self._is_dragged = event.position(), False

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None:
            self.hovered.emit(self.text_at(event.position()))
            return
        offset = event.position() - self._pressed
        if self._is_dragged or offset.manhattanLength() >= QApplication.startDragDistance():
            self._is_dragged = True
            if self.can_zoom:
                self._pressed = event.position()
                self.move_by(offset)
                self.view_changed.emit()

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, self._pressed = self._pressed, None
        if pressed is not None and not self._is_dragged:
            self.click_at(event.position())

    @override
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self.can_zoom and event.button() == Qt.MouseButton.LeftButton:
            self.fit()
            self.view_changed.emit()

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        if not self.can_zoom:
            event.ignore()
            return
        event.accept()
        if notches := event.angleDelta().y() / NOTCH:
            self.zoom_at(event.position(), notches)
            self.view_changed.emit()
            self.hovered.emit(self.text_at(event.position()))

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, center = event.key(), QPointF(self.rect().center())
        if self.can_zoom and key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom_at(center, 1)
        elif self.can_zoom and key == Qt.Key.Key_Minus:
            self.zoom_at(center, -1)
        elif self.can_zoom and key == Qt.Key.Key_0:
            self.fit()
        elif (point := self.next_point(key)) is not None:
            self.focused_point = point
            self.go_to(point)
            self.update()
            self.describe_focused()
        else:
            event.ignore()  # may be a shortcut of the window
            return
        self.view_changed.emit()

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()
        if self.focused_point is not None:
            self.focused_point = None
            self.hovered.emit("")

    @override
    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.hovered.emit("")

    @override
    def event(self, event: QEvent) -> bool:
        """Show the full name of a cut one as a tool tip."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            name = self.name_at(QPointF(event.pos()))
            if name:
                # Qt would take a token such as <s> for markup.
                text = escape(name).replace("\n", "<br>")
                QToolTip.showText(event.globalPos(), f"<p>{text}</p>", self)
                return True
        return super().event(event)


def key_target(key: int, index: int, count: int, *, across: int = 1) -> int | None:
    """Return which of ``count`` items in rows of ``across`` a key leads to, ``None`` for none."""
    targets: dict[int, int] = {
        Qt.Key.Key_Left: index - 1,
        Qt.Key.Key_Right: index + 1,
        Qt.Key.Key_Up: index - across,
        Qt.Key.Key_Down: index + across,
        Qt.Key.Key_Home: 0,
        Qt.Key.Key_End: count - 1,
    }
    found = targets.get(key, -1)
    return found if 0 <= found < count else None


def draw_focus(painter: QPainter, widget: QWidget) -> None:
    """Frame a widget that got the focus from the keyboard.

    The style's own frame is filled with a tint, which would change the colours of values.
    """
    by_keys = widget.window().testAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)
    if widget.hasFocus() and by_keys:
        painter.setPen(QPen(widget.palette().color(QPalette.ColorRole.Accent), 2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(widget.rect().adjusted(1, 1, -1, -1))
