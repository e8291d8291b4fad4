"""The dialogs of one text: what went wrong, and what this program is."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from bertviewer import __version__
from bertviewer.core.util.text import as_sentence
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.widgets.layouts import named

MODEL_FILES = "*.json *.safetensors *.bin *.pt *.pth *.ckpt"
"""What a model can be opened by."""


def show_failure(parent: QWidget, title: str, message: str, details: str) -> QMessageBox:
    """Show what went wrong in the program itself; texts are shown literally."""
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
    """Say what this program is."""
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
