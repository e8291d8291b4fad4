"""A page of words in place of what there is not: why, how far it is, and one thing to do."""

from collections.abc import Callable

from msgspec import Struct
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.ui.widgets.labels import muted_label, plain_tooltip
from bertviewer.ui.widgets.layouts import STRETCH, named, vbox
from bertviewer.ui.widgets.progress_bar import ProgressBar

WIDTH, THICKNESS = 220, 6  # pixels of the bar


class Offer(Struct, frozen=True, eq=False):
    """What a person can do: the button's title, what it does, and why it cannot be done now."""

    title: str
    call: Callable[[], object]
    lacking: str = ""


class Message(QWidget):
    """Words in the middle, a bar while something is computed, and a button for what is offered."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._offer: Offer | None = None
        self._words = named(muted_label(""), name)
        self._words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._bar: ProgressBar | None = None  # until there is something to wait for
        self._button = named(QPushButton(), f"{name}Action")
        self._button.clicked.connect(self._carry_out)
        self._column = vbox(
            STRETCH,
            self._words,
            (self._button, Qt.AlignmentFlag.AlignHCenter),
            STRETCH,
            parent=self,
            margins=(6 * GRID, GRID, 6 * GRID, GRID),
            spacing=2 * GRID,
        )

    def show_text(
        self, text: str, offer: Offer | None = None, *, is_computing: bool = False
    ) -> None:
        """Show other words, and what can be done."""
        self._offer = offer
        if self._bar is not None:
            self._bar.setVisible(is_computing)
        if is_computing:
            self.show_progress(0, 0)
        self._words.setText(text)
        self._button.setVisible(offer is not None)
        if offer is not None:
            self._button.setText(offer.title)
            self._button.setEnabled(not offer.lacking)
            self._button.setToolTip(plain_tooltip(offer.lacking))

    def show_progress(self, done: int, total: int) -> None:
        """Show how far it is, of 0 that nobody knows."""
        if self._bar is None:
            self._bar = named(ProgressBar(), f"{self._words.objectName()}Progress")
            self._bar.setFixedWidth(WIDTH)
            self._bar.setMaximumHeight(THICKNESS)
            self._column.insertWidget(2, self._bar, 0, Qt.AlignmentFlag.AlignHCenter)
        self._bar.setRange(0, total)
        self._bar.setValue(done)

    def _carry_out(self) -> None:
        if self._offer is not None:
            self._offer.call()
