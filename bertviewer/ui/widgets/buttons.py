"""Buttons: flat, with a menu of choices, in a segmented control, or drawn as a link."""

from collections.abc import Hashable, Iterable

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QActionGroup,
    QEnterEvent,
    QFocusEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPalette,
)
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QMenu, QToolButton, QWidget
from typing_extensions import override

from bertviewer.charts.theme import NORMAL
from bertviewer.plots.fonts import sized
from bertviewer.ui.theme.icons import SIZE, put_icon
from bertviewer.ui.widgets.layouts import hbox, named

ARROW = "\N{DOWN ARROWHEAD}"


def tool_button(
    name: str, text: str, tooltip: str = "", *, is_checkable: bool = False
) -> QToolButton:
    """Return a tool button with an object name, a text and a tooltip."""
    button = named(QToolButton(), name, tooltip=tooltip)
    button.setText(text)
    button.setCheckable(is_checkable)
    return button


def fold_button(name: str, text: str, content: QWidget) -> QToolButton:
    """Return a button with an arrow that shows and hides ``content``, which is hidden at first."""
    button = tool_button(name, text, is_checkable=True)
    button.setAutoRaise(True)
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)

    def fold(is_open: bool) -> None:
        button.setArrowType(Qt.ArrowType.DownArrow if is_open else Qt.ArrowType.RightArrow)
        content.setVisible(is_open)

    button.toggled.connect(fold)
    fold(False)
    return button


def flat_button(name: str, text: str, tooltip: str, icon: str = "") -> QToolButton:
    """Return a button that has a frame only under the mouse; its tooltip names it accessibly.

    Raises:
        FileNotFoundError: no line icon has that name.
    """
    button = tool_button(name, text, tooltip)
    button.setAccessibleName(tooltip)
    button.setAutoRaise(True)
    if icon:
        put_icon(button, icon)
        button.setIconSize(QSize(SIZE, SIZE))
    return button


class MenuButton(QToolButton):
    """Button that shows the current choice and opens a menu of all; ``chosen`` has its key."""

    chosen = Signal(object)

    def __init__(self, name: str, tooltip: str) -> None:
        super().__init__()
        named(self, name, tooltip=tooltip)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.setFont(sized(self.font(), NORMAL))
        self.setMenu(QMenu(self))
        self._group = QActionGroup(self)
        self._group.triggered.connect(lambda action: self._on_chosen(action.data()))

    def add(self, key: Hashable, title: str, menu: QMenu | None = None) -> QAction:
        """Add a choice to the menu or to one of its submenus."""
        action = (menu or self.menu()).addAction(title)
        action.setCheckable(True)
        action.setData(key)
        return self._group.addAction(action)

    def show_choice(self, action: QAction, text: str) -> None:
        """Check an action and show a text for it; emits nothing."""
        action.setChecked(True)
        # Qt's own arrow does not stand in line with the text.
        self.setText(f"{text} {ARROW}")
        self.setAccessibleName(text)

    def _on_chosen(self, key: object) -> None:
        self.chosen.emit(key)


class SegmentedControl(QWidget):
    """Row of buttons, one of them checked; ``turned`` has the object name of a clicked one."""

    turned = Signal(str)

    def __init__(self, buttons: Iterable[QToolButton], spacing: int = 0) -> None:
        super().__init__()
        self._group = QButtonGroup(self)
        for button in buttons:
            button.setCheckable(True)
            self._group.addButton(button)
        hbox(*self._group.buttons(), parent=self, spacing=spacing)
        self._group.buttonClicked.connect(lambda button: self.turned.emit(button.objectName()))

    @property
    def chosen(self) -> str:
        """Object name of the checked button, "" for none."""
        button = self._group.checkedButton()
        return "" if button is None else button.objectName()

    def choose(self, name: str) -> None:
        """Check the button of that object name; emits nothing."""
        for button in self._group.buttons():
            button.setChecked(button.objectName() == name)


class LinkButton(QAbstractButton):
    """Button drawn as a link: clicked by mouse, Enter or space, underlined while active.

    Unlike a ``QLabel`` with a link, it is one control in the tab order, and may wrap or elide.
    """

    alignment = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    """Qt's flags for drawing the text."""
    spacing = 2
    """Pixels added to the height of the text."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    @override
    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        width = metrics.horizontalAdvance(self.text()) + 2
        return QSize(width, metrics.height() + self.spacing)

    def shown_text(self) -> str:
        """Return the text as drawn; a subclass may elide it."""
        return self.text()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    @override
    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        font = self.font()
        font.setUnderline(self.underMouse() or self.hasFocus())
        painter.setFont(font)
        painter.setPen(self.palette().color(QPalette.ColorRole.Link))
        painter.drawText(self.rect(), self.alignment, self.shown_text())
        painter.end()
