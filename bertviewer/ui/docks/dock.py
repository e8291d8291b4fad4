"""A dock with a title bar of our own: caption, widgets, and buttons that show under the pointer."""

from typing import Literal

from msgspec import Struct
from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QEnterEvent, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QDockWidget, QLabel, QToolButton, QWidget
from typing_extensions import override

from bertviewer.charts.theme import GRID, SMALL
from bertviewer.plots.fonts import sized, weighted
from bertviewer.ui.theme.icons import SIZE, put_icon
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.layouts import STRETCH, hbox

PaneName = Literal["structure", "module", "run"]
BORDER = 1
TITLE_HEIGHT = 32


class Pane(Struct, frozen=True):
    """The content of a dock.

    Attributes:
        name: its name.
        title: its caption.
        content: the widget in the dock.
        extra: a widget in its title bar.
        has_title: whether it has a title bar while it is docked, too.
    """

    name: PaneName
    title: str
    content: QWidget
    extra: QWidget | None = None
    has_title: bool = True


class Dock(QDockWidget):
    """A pane; while it floats it has a border, as the desktop draws no frame around it."""

    def __init__(self, pane: Pane, window: QWidget) -> None:
        super().__init__(pane.title, window)
        self.setObjectName(f"{pane.name}Pane")
        self.setAccessibleName(pane.title)
        self.setWidget(pane.content)
        self.title = PaneTitle(pane)
        self.setTitleBarWidget(self.title)
        self.topLevelChanged.connect(self._on_floating)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.isFloating():
            painter = QPainter(self)
            painter.setPen(self.palette().color(QPalette.ColorRole.Mid))
            painter.drawRect(self.rect().adjusted(0, 0, -BORDER, -BORDER))
            painter.end()

    def _on_floating(self, is_floating: bool) -> None:
        border = BORDER if is_floating else 0
        self.setContentsMargins(border, border, border, border)
        self.title.show_floating(is_floating)


class PaneTitle(QWidget):
    """Caption of a pane, an extra widget, and buttons to undock, maximize and close it.

    The mouse moves the pane by the rest of it: nothing here handles that press.
    """

    def __init__(self, pane: Pane) -> None:
        super().__init__()
        self._stays, self._is_floating = pane.has_title, False
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self.setAutoFillBackground(True)
        caption = QLabel(pane.title.upper())
        caption.setTextFormat(Qt.TextFormat.PlainText)
        caption.setFont(weighted(sized(caption.font(), SMALL)))
        caption.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self.undock = _button(f"{pane.name}TearOff")
        self.maximize = _button(f"{pane.name}Maximise")
        self.close_button = _button(f"{pane.name}Close")
        _describe(self.close_button, "close", self.tr("Close this panel"))
        self._buttons = self.undock, self.maximize, self.close_button
        layout = hbox(caption, STRETCH, parent=self, margins=(3 * GRID, GRID, GRID, 0), spacing=0)
        if pane.extra is not None:
            layout.addWidget(pane.extra)
            layout.addSpacing(GRID)
        for button in self._buttons:
            layout.addWidget(button)
        self.show_floating(False)
        self.show_maximized(False)

    @override
    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._height)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(0, self._height)

    @property
    def _height(self) -> int:
        # Qt's docks follow the size hint and not a fixed height.
        return TITLE_HEIGHT if self._stays or self._is_floating else 0

    def show_maximized(self, is_maximized: bool) -> None:
        """Show the button that restores the other panes, until it is used."""
        tip = (
            self.tr("Restore the other panels") if is_maximized else self.tr("Maximize this panel")
        )
        _describe(self.maximize, "restore" if is_maximized else "maximise", tip)
        self.maximize.setProperty("stays", is_maximized)
        self._show_buttons(self.underMouse())

    def show_floating(self, is_floating: bool) -> None:
        """Show the buttons of a floating pane: dock and close."""
        self._is_floating = is_floating
        self.updateGeometry()
        icon, tip = "tear-off", self.tr("Open this panel in its own window")
        if is_floating:
            icon, tip = "restore", self.tr("Put this panel back")
        _describe(self.undock, icon, tip)
        for button in (self.undock, self.close_button):
            button.setProperty("stays", is_floating)
        if is_floating:
            self.maximize.setProperty("stays", False)
        self._show_buttons(self.underMouse())

    @override
    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._show_buttons(True)

    @override
    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._show_buttons(False)

    def _show_buttons(self, shown: bool) -> None:
        for button in self._buttons:
            can_show = button is not self.maximize or not self._is_floating
            button.setVisible(can_show and (shown or bool(button.property("stays"))))


def _button(name: str) -> QToolButton:
    button = flat_button(name, "", "")
    button.setIconSize(QSize(SIZE - 2, SIZE - 2))
    # Panes are moved by the menu's shortcuts; the buttons would be three more tab stops each.
    button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return button


def _describe(button: QToolButton, icon: str, tip: str) -> None:
    put_icon(button, icon)
    button.setToolTip(tip)
    button.setAccessibleName(tip)
