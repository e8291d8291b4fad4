"""A quiet button that says what is chosen, with a menu of what there is to choose."""

from collections.abc import Hashable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton

from bertviewer.charts.theme import NORMAL
from bertviewer.plots.fonts import sized

ARROW = "\N{DOWN ARROWHEAD}"


class QuietChoice(QToolButton):
    """``chosen`` brings what a person wants."""

    chosen = Signal(object)

    def __init__(self, name: str, tip: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setToolTip(tip)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.setFont(sized(self.font(), NORMAL))
        self.setMenu(QMenu(self))
        self._group = QActionGroup(self)
        self._group.triggered.connect(lambda action: self._on_chosen(action.data()))

    def add(self, key: Hashable, title: str, menu: QMenu | None = None) -> QAction:
        """Add something that can be chosen; a title begins with a capital letter."""
        action = (menu or self.menu()).addAction(title)
        action.setCheckable(True)
        action.setData(key)
        return self._group.addAction(action)

    def show_choice(self, action: QAction, text: str) -> None:
        """Say what is chosen."""
        action.setChecked(True)
        self.setText(f"{text} {ARROW}")
        self.setAccessibleName(text)

    def _on_chosen(self, key: object) -> None:
        self.chosen.emit(key)
