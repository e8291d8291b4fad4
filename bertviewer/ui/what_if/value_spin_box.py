"""A field for a whole number whose arrows go from one good value to the next."""

from collections.abc import Callable

from PySide6.QtCore import QLocale, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFocusEvent, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QSpinBox

MAX_VALUE = 2**31 - 1
"""What a field of Qt's can hold."""
WIDTH = 5.75
"""In heights of its type."""


class KnobSpin(QSpinBox):
    """A whole number; its arrows go to the next value that the model's rules allow."""

    noticed = Signal()

    def __init__(self, step: Callable[[int, int], int], least: int) -> None:
        super().__init__()
        self._step = step
        self.setRange(least, MAX_VALUE)
        # The thousands separator of all other numbers in the window.
        self.setLocale(QLocale.c())
        self.setGroupSeparatorShown(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Return room for a large number of these; Qt calls it."""
        return QSize(round(WIDTH * self.fontMetrics().height()), super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """Return the same; Qt calls it."""
        return self.sizeHint()

    def stepBy(self, steps: int) -> None:
        """Go so many allowed values up or down; Qt calls it."""
        value = self.value()
        for _ in range(abs(steps)):
            value = min(self._step(value, 1 if steps > 0 else -1), MAX_VALUE)
        self.setValue(value)
        self.selectAll()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to the page unless the field is being edited; Qt calls it."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Say that the field is of interest; Qt calls it."""
        super().focusInEvent(event)
        self.noticed.emit()

    def enterEvent(self, event: QEnterEvent) -> None:
        """Say that the field is of interest; Qt calls it."""
        super().enterEvent(event)
        self.noticed.emit()
