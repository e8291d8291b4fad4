"""A page of words in place of a chart: why there is none, and one thing to do about it."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.core.frozen import frozen
from bertviewer.ui.labels import plain_label
from bertviewer.ui.tips import plain_tip


@frozen(eq=False)
class Offer:
    """What a person can do: the button's title, what it does, and why it cannot be done now."""

    title: str
    call: Callable[[], object]
    lacking: str = ""


class Message(QWidget):
    """Words in the middle, and below them a button where something is offered."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._offer: Offer | None = None
        self._words = plain_label("")
        self._words.setObjectName(name)
        self._words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._words.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._button = QPushButton()
        self._button.setObjectName(f"{name}Action")
        self._button.clicked.connect(self._carry_out)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6 * GRID, GRID, 6 * GRID, GRID)
        layout.setSpacing(2 * GRID)
        layout.addStretch(1)
        layout.addWidget(self._words)
        layout.addWidget(self._button, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(1)

    def show_text(self, text: str, offer: Offer | None = None) -> None:
        """Show other words, and what can be done."""
        self._offer = offer
        self._words.setText(text)
        self._button.setVisible(offer is not None)
        if offer is not None:
            self._button.setText(offer.title)
            self._button.setEnabled(not offer.lacking)
            self._button.setToolTip(plain_tip(offer.lacking))

    def _carry_out(self) -> None:
        if self._offer is not None:
            self._offer.call()
