"""Base class of the map's painted views: hover, tooltip, focus ring, context menu, description."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QColor,
    QFocusEvent,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPen,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolTip, QWidget
from typing_extensions import override

from bertviewer.charts.graph.drawing import Rect
from bertviewer.charts.theme import RADIUS
from bertviewer.ui.actions.action_set import add_module_actions
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.theme.appearance import theme_of
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import named

Item = TypeVar("Item")
Entry = tuple[str, str, Callable[[], object]]
"""An action of a menu: its object name, its text, and what it does."""


class HoverView(QWidget, Generic[Item]):
    """A widget that paints items.

    ``image_wanted`` asks to save an image, or to copy it if its argument is false.
    """

    image_wanted = Signal(bool)

    def __init__(self, name: str, title: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._hovered: Item | None = None
        self._has_keyboard_focus = False

    def item_at(self, position: QPointF) -> Item | None:
        """Return the item at a position."""
        raise NotImplementedError

    def tooltip(self, item: Item) -> str:
        """Return the tooltip of an item as plain text."""
        raise NotImplementedError

    def tip_at(self, position: QPointF) -> str:
        """Return the tooltip at a position, "" where there is no item."""
        item = self.item_at(position)
        return "" if item is None else self.tooltip(item)

    @override
    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            tip = plain_tooltip(self.tip_at(QPointF(event.pos())))
            QToolTip.showText(event.globalPos(), tip, self)
            return True
        return super().event(event)

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        reasons = Qt.FocusReason
        if event.reason() not in (reasons.ActiveWindowFocusReason, reasons.PopupFocusReason):
            self._has_keyboard_focus = event.reason() != reasons.MouseFocusReason
        super().focusInEvent(event)

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.hover(self.item_at(event.position()))

    @override
    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.hover(None)

    def hover(self, item: Item | None) -> None:
        """Highlight another item, or none."""
        if item != self._hovered:
            self._hovered = item
            self.update()

    def show_menu(self, position: QPoint, entries: Sequence[Entry]) -> None:
        """Show a menu with these actions, those for images, and those of the selected module."""
        menu = named(QMenu(self), "mapMenu")
        menu.aboutToHide.connect(menu.deleteLater)
        copy, save = translate("map", "Copy image"), translate("map", "Save image…")
        image_entries: tuple[Entry, ...] = (
            ("copyMap", copy, partial(self.image_wanted.emit, False)),
            ("saveMap", save, partial(self.image_wanted.emit, True)),
        )
        for name, title, call in (*entries, *image_entries):
            menu.addAction(title, call).setObjectName(name)
        menu.addSeparator()
        add_module_actions(menu)
        menu.popup(position)

    def describe(self, text: str) -> None:
        """Set the accessible description of the selection."""
        description = text.replace("\n", ", ")
        if description != self.accessibleDescription():
            self.setAccessibleDescription(description)
            event = QAccessibleEvent(self, QAccessible.Event.DescriptionChanged)
            QAccessible.updateAccessibility(event)

    def paint_focus(self, painter: QPainter, rect: QRectF | None = None) -> None:
        """Paint a ring around the view or a rectangle, if the focus came by keyboard."""
        if self.hasFocus() and self._has_keyboard_focus:
            whole = QRectF(self.rect()).adjusted(1, 1, -1, -1)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(theme_of(self).accent), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(whole if rect is None else rect & whole, RADIUS, RADIUS)


def as_qt(rect: Rect) -> QRectF:
    """Return a rectangle as Qt's."""
    return QRectF(rect.x, rect.y, rect.width, rect.height)
