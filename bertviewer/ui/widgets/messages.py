"""Error bar at the top of a window, and message boxes."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QCloseEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QMessageBox, QPushButton, QWidget
from typing_extensions import override

from bertviewer import __version__
from bertviewer.core.util.text import as_sentence
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.theme.warning_frame import WarningFrame
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import hbox, named

Remedy = tuple[str, Callable[[], object]]
"""The text of a button, and what a click does."""

MODEL_FILES = "*.json *.safetensors *.bin *.pt *.pth *.ckpt"
"""Filter of file dialogs for models."""


class ErrorBar(WarningFrame):
    """A message that is visible until it is closed or one of its buttons is clicked."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("errorBar")
        self.is_persistent = False
        self._text = named(plain_label(""), "errorText")
        self._text.setForegroundRole(WARNING)
        self._buttons = QHBoxLayout()
        close = flat_button("closeError", "✕", translate("ErrorBar", "Close this message"))
        close.clicked.connect(self.close)
        hbox(
            (self._text, 1),
            self._buttons,
            (close, Qt.AlignmentFlag.AlignVCenter),
            parent=self,
            margins=(12, 5, 8, 5),
            spacing=8,
        )
        self.hide()

    def text(self) -> str:
        """Return the message."""
        return self._text.text()

    def show_message(self, message: str, *remedies: Remedy, is_persistent: bool = False) -> None:
        """Replace the message by another plain text, with a button for each remedy.

        ``is_persistent``: it is not about a job, and stays when another one starts.
        """
        self.is_persistent = is_persistent
        self._text.setText(as_sentence(message))
        self._text.setAccessibleName(self.text())
        self._remove_buttons()
        for title, call in remedies:
            button = named(QPushButton(title), "errorRemedy")
            # Closed first: the remedy may fail at once and show another message.
            button.clicked.connect(self.close)
            button.clicked.connect(lambda _checked=False, call=call: call())
            self._buttons.addWidget(button)
        self.show()
        self._fit_height()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_height()

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        self._remove_buttons()  # with what their slots refer to

    def _fit_height(self) -> None:
        """Set the height for the wrapped text: toolbars ignore ``heightForWidth``."""
        height = self._text.heightForWidth(self._text.width())
        if height > 0:  # it has a width already
            self._text.setFixedHeight(height)

    def _remove_buttons(self) -> None:
        while (item := self._buttons.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()


def error_bar(widget: QWidget) -> ErrorBar | None:
    """Return the error bar of a widget's window, ``None`` if it has none."""
    window = widget.window()
    return next((bar for bar in window.findChildren(ErrorBar) if bar.window() is window), None)


def show_error(
    widget: QWidget, message: str, *remedies: Remedy, is_persistent: bool = False
) -> None:
    """Show a message in a widget's window; see ``ErrorBar.show_message``.

    A dialog gets an error bar with its first message; a window without a box layout, such as a
    floating dock, passes the message to its parent window.
    """
    bar, layout, owner = error_bar(widget), widget.window().layout(), widget.window().parentWidget()
    if bar is None and isinstance(layout, QBoxLayout):
        bar = ErrorBar()
        layout.insertWidget(0, bar)
    if bar is not None:
        bar.show_message(message, *remedies, is_persistent=is_persistent)
    elif owner is not None:
        show_error(owner, message, *remedies, is_persistent=is_persistent)


def show_failure(parent: QWidget, title: str, message: str, details: str) -> QMessageBox:
    """Show an internal error in a message box, as plain text."""
    box = named(QMessageBox(parent), "errorDialog")
    box.setIcon(QMessageBox.Icon.Warning)
    box.setWindowTitle(title)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(as_sentence(message))
    box.setInformativeText(details)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.open()
    return box


def show_about(window: QWidget) -> None:
    """Show the program's name, version and purpose."""
    text = translate(
        "dialogs",
        "bertviewer {0}\n\nOpen a BERT-family transformer and understand every number in it.",
    )
    box = QMessageBox(
        QMessageBox.Icon.NoIcon, "bertviewer", text.format(__version__), parent=window
    )
    box.setIconPixmap(window.windowIcon().pixmap(64, 64))
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.open()
