"""The one kind of dialog that tells what went wrong."""

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QMessageBox, QWidget


def show_error(parent: QWidget | None, message: str, details: str = "") -> QMessageBox:
    """Show a message without stopping the program; texts are shown literally."""
    box = QMessageBox(parent)
    box.setObjectName("errorDialog")
    box.setIcon(QMessageBox.Icon.Warning)
    box.setWindowTitle(QCoreApplication.translate("dialogs", "bertviewer"))
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(message)
    box.setInformativeText(details)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.open()
    return box
