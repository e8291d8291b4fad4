"""Empty state: why a view shows nothing, the progress of the work, and what to do about it."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from msgspec import Struct
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QStackedWidget, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.ui.widgets.labels import muted_label, plain_tooltip
from bertviewer.ui.widgets.layouts import STRETCH, hbox, named, vbox
from bertviewer.ui.widgets.progress_bar import ProgressBar

BAR_WIDTH, BAR_HEIGHT = 220, 6  # pixels


class CallToAction(Struct, frozen=True, eq=False):
    """A button's title and callback, why it is disabled ("" if it is not), and its tooltip."""

    title: str
    callback: Callable[[], object]
    disabled_reason: str = ""
    tooltip: str = ""
    name: str = ""  # of the button, if there are several


class StateDisplay(Protocol):
    """What shows that a view is empty, has failed or is busy."""

    def show_message(self, text: str, *actions: CallToAction) -> None:
        """Show a message instead of the content."""

    def show_busy(self, text: str, cancel: CallToAction | None = None) -> None:
        """Show that the content is being computed."""

    def show_progress(self, done: int, total: int) -> None:
        """Show the progress of the work, which has no known length if ``total`` is 0."""


class EmptyState(QWidget):
    """Centred text with a progress bar while the view is busy, and a button for each action.

    The text is a ``QLabel`` called ``name``, a button without a name ``{name}Action``.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._actions: tuple[CallToAction, ...] = ()
        self._text = named(muted_label(""), name)
        self._text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._bar: ProgressBar | None = None  # created when it is first needed
        self._buttons: list[QPushButton] = []
        self._row = hbox()
        self._column = vbox(
            STRETCH,
            self._text,
            hbox(STRETCH, self._row, STRETCH),
            STRETCH,
            parent=self,
            margins=(6 * GRID, GRID, 6 * GRID, GRID),
            spacing=2 * GRID,
        )

    def show_message(self, text: str, *actions: CallToAction) -> None:
        """Show a text and actions."""
        self._actions = actions
        if self._bar is not None:
            self._bar.hide()
        self._text.setText(text)
        while len(self._buttons) < len(actions):
            button = QPushButton()
            button.clicked.connect(partial(self._on_clicked, len(self._buttons)))
            self._buttons.append(button)
            self._row.addWidget(button)
        for button, action in zip(self._buttons, actions, strict=False):
            named(button, action.name or f"{self._text.objectName()}Action")
            button.setText(action.title)
            button.setEnabled(not action.disabled_reason)
            button.setToolTip(plain_tooltip(action.disabled_reason or action.tooltip))
        for number, button in enumerate(self._buttons):
            button.setVisible(number < len(actions))

    def show_busy(self, text: str, cancel: CallToAction | None = None) -> None:
        """Show a text above a progress bar."""
        self.show_message(text, *([] if cancel is None else [cancel]))
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

    def _on_clicked(self, number: int, _checked: bool = False) -> None:
        self._actions[number].callback()


class ContentStack(QStackedWidget):
    """Content, or an empty state instead of it."""

    def __init__(self, content: QWidget, name: str) -> None:
        super().__init__()
        self._empty_state = EmptyState(name)
        self.addWidget(content)
        self.addWidget(self._empty_state)

    @property
    def is_content_shown(self) -> bool:
        """Whether the content is shown, and not the empty state."""
        return self.currentIndex() == 0

    def show_content(self) -> None:
        """Show the content."""
        self.setCurrentIndex(0)

    def show_message(self, text: str, *actions: CallToAction) -> None:
        """Show a message instead of the content."""
        self._empty_state.show_message(text, *actions)
        self.setCurrentIndex(1)

    def show_busy(self, text: str, cancel: CallToAction | None = None) -> None:
        """Show a progress bar instead of the content."""
        self._empty_state.show_busy(text, cancel)
        self.setCurrentIndex(1)

    def show_progress(self, done: int, total: int) -> None:
        """Show the progress of the work, which has no known length if ``total`` is 0."""
        self._empty_state.show_progress(done, total)
