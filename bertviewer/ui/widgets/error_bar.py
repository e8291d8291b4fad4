"""Says at the top of a window what failed, with buttons for what can be done about it."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QCloseEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QPushButton, QWidget

from bertviewer.core.util.text import as_sentence
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.theme.warning_frame import WarningFrame
from bertviewer.ui.widgets.flat_button import flat_button
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import in_row, named

Remedy = tuple[str, Callable[[], object]]
"""The text of a button, and what a click does."""


class ErrorBar(WarningFrame):
    """A message that is visible until it is closed, or until one of its buttons is clicked."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("errorBar")
        self.lasts = False
        self._text = named(plain_label(""), "errorText")
        self._text.setForegroundRole(WARNING)
        self._buttons = QHBoxLayout()
        close = flat_button("closeError", "✕", translate("ErrorBar", "Close this message"))
        close.clicked.connect(self.close)
        in_row(
            (self._text, 1),
            self._buttons,
            (close, Qt.AlignmentFlag.AlignVCenter),
            on=self,
            margins=(12, 5, 8, 5),
            spacing=8,
        )
        self.hide()

    def text(self) -> str:
        """Return the message."""
        return self._text.text()

    def say(self, message: str, *remedies: Remedy, lasts: bool = False) -> None:
        """Show a message literally, with a button for each remedy, in place of the last one.

        One that ``lasts`` is not about a job, and stays when another one starts.
        """
        self.lasts = lasts
        self._text.setText(as_sentence(message))
        self._text.setAccessibleName(self.text())
        self._remove_buttons()
        for title, call in remedies:
            button = named(QPushButton(title), "errorRemedy")
            # Closed first: what is tried again may fail at once and say so here.
            button.clicked.connect(self.close)
            button.clicked.connect(lambda _checked=False, call=call: call())
            self._buttons.addWidget(button)
        self.show()
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Take the height of the text: a toolbar asks for none for a width. Qt calls it."""
        super().resizeEvent(event)
        self._fit()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Let go of what the buttons would do; Qt calls it."""
        super().closeEvent(event)
        self._remove_buttons()

    def _fit(self) -> None:
        height = self._text.heightForWidth(self._text.width())
        if height > 0:  # it has a width already
            self._text.setFixedHeight(height)

    def _remove_buttons(self) -> None:
        while (item := self._buttons.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()


def error_bar(widget: QWidget) -> ErrorBar | None:
    """Return the error bar of the window that a widget is part of, ``None`` if it has none."""
    window = widget.window()
    return next((bar for bar in window.findChildren(ErrorBar) if bar.window() is window), None)


def show_error(widget: QWidget, message: str, *remedies: Remedy, lasts: bool = False) -> None:
    """Show a message in the window that a widget is part of.

    A dialog gets its error bar with the first message. A window that has no place for one, such as
    a floating pane, leaves it to the window that it belongs to. See ``ErrorBar.say``.
    """
    bar, layout, owner = error_bar(widget), widget.window().layout(), widget.window().parentWidget()
    if bar is None and isinstance(layout, QBoxLayout):
        bar = ErrorBar()
        layout.insertWidget(0, bar)
    if bar is not None:
        bar.say(message, *remedies, lasts=lasts)
    elif owner is not None:
        show_error(owner, message, *remedies, lasts=lasts)
