"""Empty state: why a view shows nothing, the progress of the work, and one action."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QStackedWidget, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.ui.widgets.labels import muted_label, plain_tooltip
from bertviewer.ui.widgets.layouts import STRETCH, named, vbox
from bertviewer.ui.widgets.progress_bar import ProgressBar

BAR_WIDTH, BAR_HEIGHT = 220, 6  # pixels


class CallToAction(Struct, frozen=True, eq=False):
    """A button's title, its callback, and why it is disabled ("" if it is not)."""

    title: str
    callback: Callable[[], object]
    disabled_reason: str = ""


class StateDisplay(Protocol):
    """What shows that a view is empty, has failed or is busy."""

    def show_message(self, text: str, action: CallToAction | None = None) -> None:
        """Show a message instead of the content."""

    def show_busy(self, text: str, cancel: CallToAction | None = None) -> None:
        """Show that the content is being computed."""

    def show_progress(self, done: int, total: int) -> None:
        """Show the progress of the work, which has no known length if ``total`` is 0."""


class EmptyState(QWidget):
    """Centred text with a progress bar while the view is busy, and a button for the action.

    The text is a ``QLabel`` called ``name``, the button ``{name}Action``.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._action: CallToAction | None = None
        self._text = named(muted_label(""), name)
        self._text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._bar: ProgressBar | None = None  # created when it is first needed
        self._button = named(QPushButton(), f"{name}Action")
        self._button.hide()
        self._button.clicked.connect(self._on_clicked)
        self._column = vbox(
            STRETCH,
            self._text,
            (self._button, Qt.AlignmentFlag.AlignHCenter),
            STRETCH,
            parent=self,
            margins=(6 * GRID, GRID, 6 * GRID, GRID),
            spacing=2 * GRID,
        )

    def show_message(self, text: str, action: CallToAction | None = None) -> None:
        """Show a text and an action."""
        self._action = action
        if self._bar is not None:
            self._bar.hide()
        self._text.setText(text)
        self._button.setVisible(action is not None)
        if action is not None:
            self._button.setText(action.title)
            self._button.setEnabled(not action.disabled_reason)
            self._button.setToolTip(plain_tooltip(action.disabled_reason))

    def show_busy(self, text: str, cancel: CallToAction | None = None) -> None:
        """Show a text above a progress bar."""
        self.show_message(text, cancel)
        if self._bar is None:
            self._bar = named(ProgressBar(), f"{self._text.objectName()}Progress")
            self._bar.setFixedWidth(BAR_WIDTH)
            self._bar.setMaximumHeight(BAR_HEIGHT)
            self._column.insertWidget(2, self._bar, 0, Qt.AlignmentFlag.AlignHCenter)
        self.show_progress(0, 0)
        self._bar.show()

    def show_progress(self, done: int, total: int) -> None:
        """Show the progress of the work, which has no known length if ``total`` is 0."""
        if self._bar is not None:
            self._bar.setRange(0, total)
            self._bar.setValue(done)

    def _on_clicked(self) -> None:
        if self._action is not None:
            self._action.callback()


class ContentStack(QStackedWidget):
    """Content, or an empty state instead of it."""

    def __init__(self, content: QWidget, name: str) -> None:
        super().__init__()
        self._empty_state = EmptyState(name)
        self.addWidget(content)
        self.addWidget(self._empty_state)

    def show_content(self) -> None:
        """Show the content."""
        self.setCurrentIndex(0)

    def show_message(self, text: str, action: CallToAction | None = None) -> None:
        """Show a message instead of the content."""
        self._empty_state.show_message(text, action)
        self.setCurrentIndex(1)

    def show_busy(self, text: str, cancel: CallToAction | None = None) -> None:
        """Show a progress bar instead of the content."""
        self._empty_state.show_busy(text, cancel)
        self.setCurrentIndex(1)

    def show_progress(self, done: int, total: int) -> None:
        """Show the progress of the work, which has no known length if ``total`` is 0."""
        self._empty_state.show_progress(done, total)
