"""The command that does the same in a terminal, to be read and copied."""

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit, QWidget

from bertviewer.plots.fonts import monospaced
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.layouts import hbox, named


class CommandLine(QWidget):
    """A field that is read and not written, and a button that copies it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._field = named(
            QLineEdit(), name, accessible_name=self.tr("Equivalent terminal command")
        )
        self._field.setToolTip(self._field.accessibleName())
        self._field.setReadOnly(True)
        self._field.setFont(monospaced(self._field.font()))
        self._copy = flat_button(f"{name}Copy", self.tr("Copy"), self.tr("Copy the command"))
        self._copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.text))
        hbox((self._field, 1), self._copy, parent=self, spacing=4)

    @property
    def text(self) -> str:
        """The command."""
        return self._field.text()

    def show_command(self, text: str) -> None:
        """Show a command from its beginning."""
        if text != self.text:
            self._field.setText(text)
            self._field.setCursorPosition(0)
