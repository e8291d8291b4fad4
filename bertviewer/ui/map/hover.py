"""What all pictures of the map have: what is pointed at, its tip, and a ring for the focus."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QColor,
    QFocusEvent,
    QHelpEvent,
    QPainter,
    QPen,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolTip, QWidget
from typing_extensions import override

from bertviewer.charts.graph.drawing import Rect
from bertviewer.charts.theme import RADIUS
from bertviewer.ui.actions.action_set import add_module_actions
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.theme.theme_of import theme_of
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import named

Entry = tuple[str, str, Callable[[], object]]
"""A line of a menu: its object name, what it says, and what it does."""


class Pointed(QWidget):
    """A picture that keys go to; ``_hovered`` is what the pointer is on.

    ``picture_wanted`` says that the picture shall be taken along: into a file, or else to the
    clipboard.
    """

    picture_wanted = Signal(bool)

    def __init__(self, name: str, title: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._hovered: object | None = None
        self._is_reached_by_keys = False

    def tip_at(self, place: QPointF) -> str:
        """Return what is told of what stands at a place."""
        raise NotImplementedError

    @override
    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(
                event.globalPos(), plain_tooltip(self.tip_at(QPointF(event.pos()))), self
            )
            return True
        return super().event(event)

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        reason, kept = (
            event.reason(),
            (
                Qt.FocusReason.ActiveWindowFocusReason,
                Qt.FocusReason.PopupFocusReason,
            ),
        )
        if reason not in kept:
            self._is_reached_by_keys = reason != Qt.FocusReason.MouseFocusReason
        super().focusInEvent(event)

    @override
    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.hover(None)

    def show_menu(self, place: QPoint, entries: Sequence[Entry]) -> None:
        """Show a menu with these entries, the image, and the actions of the selected module."""
        menu = named(QMenu(self), "mapMenu")
        menu.aboutToHide.connect(menu.deleteLater)
        copy, save = translate("map", "Copy image"), translate("map", "Save image…")
        own: tuple[Entry, ...] = (
            ("copyMap", copy, partial(self.picture_wanted.emit, False)),
            ("saveMap", save, partial(self.picture_wanted.emit, True)),
        )
        for name, title, call in (*entries, *own):
            menu.addAction(title, call).setObjectName(name)
        menu.addSeparator()
        add_module_actions(menu)
        menu.popup(place)

    def hover(self, found: object | None) -> None:
        """Point at something else, or at nothing."""
        if found != self._hovered:
            self._hovered = found
            self.update()

    def describe(self, text: str) -> None:
        """Say what is selected to whoever does not see it."""
        said = text.replace("\n", ", ")
        if said != self.accessibleDescription():
            self.setAccessibleDescription(said)
            event = QAccessibleEvent(self, QAccessible.Event.DescriptionChanged)
            QAccessible.updateAccessibility(event)

    def paint_focus(self, painter: QPainter, rect: QRectF | None = None) -> None:
        """Paint a ring if keys gave the focus: around all of it, or around a place in it."""
        if self.hasFocus() and self._is_reached_by_keys:
            whole = QRectF(self.rect()).adjusted(1, 1, -1, -1)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(theme_of(self).accent), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(whole if rect is None else rect & whole, RADIUS, RADIUS)


def as_qt(rect: Rect) -> QRectF:
    """Return Qt's rectangle of the same place."""
    return QRectF(rect.x, rect.y, rect.width, rect.height)
