"""Buttons in a row of which one is down."""

from collections.abc import Iterable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QToolButton, QWidget

from bertviewer.ui.widgets.layouts import in_row


class Switch(QWidget):
    """``turned`` brings the object name of the button that a person pressed."""

    turned = Signal(str)

    def __init__(self, buttons: Iterable[QToolButton], spacing: int = 0) -> None:
        super().__init__()
        self._group = QButtonGroup(self)
        for button in buttons:
            button.setCheckable(True)
            self._group.addButton(button)
        in_row(*self._group.buttons(), on=self, spacing=spacing)
        self._group.buttonClicked.connect(lambda button: self.turned.emit(button.objectName()))

    @property
    def chosen(self) -> str:
        """The object name of the button that is down, "" for none."""
        button = self._group.checkedButton()
        return "" if button is None else button.objectName()

    def choose(self, name: str) -> None:
        """Have the button of that object name down; nobody is told."""
        for button in self._group.buttons():
            button.setChecked(button.objectName() == name)
