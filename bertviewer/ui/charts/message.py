"""A page of words in place of a chart: why there is none, and one thing to do about it."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QPushButton, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.core.frozen import frozen
from bertviewer.ui.labels import plain_label
from bertviewer.ui.layouts import STRETCH, in_column, named
from bertviewer.ui.tips import plain_tip


@frozen(eq=False)
class Offer:
    """What a person can do: the button's title, what it does, and why it cannot be done now."""

    title: str
    call: Callable[[], object]
    lacking: str = ""


class Message(QWidget):
    """Words in the middle, and below them a button where something is offered."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._offer: Offer | None = None
        self._words = named(plain_label(""), name)
        self._words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._words.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._button = named(QPushButton(), f"{name}Action")
        self._button.clicked.connect(self._carry_out)
        in_column(
            STRETCH,
            self._words,
            (self._button, Qt.AlignmentFlag.AlignHCenter),
            STRETCH,
            on=self,
            margins=(6 * GRID, GRID, 6 * GRID, GRID),
            spacing=2 * GRID,
        )

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
