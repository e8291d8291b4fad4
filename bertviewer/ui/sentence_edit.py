"""The field of a sentence: the arrow keys go through the sentences before."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from bertviewer.core.activations.text import MAX_CHARACTERS


class SentenceEdit(QLineEdit):
    """One line of text. ``earlier`` and ``later`` are wished with arrow up and down."""

    earlier = Signal()
    later = Signal()

    def __init__(self, name: str, hint: str, tip: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setPlaceholderText(hint)
        self.setAccessibleName(hint)
        self.setToolTip(tip)
        # Longer texts are refused with a word about it; the default would cut them off in silence.
        self.setMaxLength(MAX_CHARACTERS + 1)

    def show_text(self, text: str) -> None:
        """Show another text, its beginning in sight."""
        if text != self.text():
            self.setText(text)
            self.setCursorPosition(0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go through the sentences before; Qt calls it."""
        wishes = {Qt.Key.Key_Up: self.earlier, Qt.Key.Key_Down: self.later}
        wish = wishes.get(Qt.Key(event.key()))
        if wish is None or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            super().keyPressEvent(event)
            return
        event.accept()
        wish.emit()
