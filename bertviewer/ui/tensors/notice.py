"""Says why there is nothing to see, or how far it is, and offers what can be done about it."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from bertviewer.ui.busy_bar import BusyBar
from bertviewer.ui.labels import quiet_label

WIDTH = 220  # pixels of the bar


class Notice(QWidget):
    """A few words, a bar while something is computed, and a button where there is a way out."""

    pressed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = quiet_label("")
        self._words.setObjectName("tensorNotice")
        self._words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._bar = BusyBar()
        self._bar.setObjectName("tensorProgress")
        self._bar.setFixedWidth(WIDTH)
        self._bar.setMaximumHeight(6)
        self._button = QPushButton()
        self._button.setObjectName("tensorNoticeButton")
        self._button.clicked.connect(self.pressed)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 12, 24, 12)
        layout.addStretch(1)
        layout.addWidget(self._words)
        for widget in (self._bar, self._button):
            layout.addWidget(widget, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(1)

    def say(self, words: str, button: str = "", is_computing: bool = False) -> None:
        """Show these words; no button without a title."""
        self._words.setText(words)
        self._button.setText(button)
        self._button.setVisible(bool(button))
        self._bar.setVisible(is_computing)
        if is_computing:
            self._bar.setRange(0, 0)

    def show_progress(self, done: int, total: int) -> None:
        """Show how far it is."""
        self._bar.setRange(0, total)
        self._bar.setValue(done)
