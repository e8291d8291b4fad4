"""Status line of an export: progress, result, and buttons to open the file."""

from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.core.util.text import printable
from bertviewer.ui.widgets.labels import ElidedLabel, plain_tooltip


class ExportStatus(QWidget):
    """A line of text, and buttons for the file that was written."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._path: Path | None = None
        self.is_result = False
        """Whether the text is the result of an export."""
        self._label = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self._label.setObjectName("reportOutcome")
        self._open = self._button("reportOpen", self.tr("Open"), self.tr("Open the report"))
        self._open.clicked.connect(self._on_open)
        self._folder = self._button(
            "reportShowFolder", self.tr("Show in folder"), self.tr("Open the report's folder")
        )
        self._folder.clicked.connect(self._on_folder)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2 * GRID)
        layout.addWidget(self._label, 1)
        layout.addWidget(self._open)
        layout.addWidget(self._folder)
        self.show_text("")

    def show_text(self, text: str) -> None:
        """Show a text without buttons."""
        self._path, self.is_result = None, False
        self._show(text)

    def show_result(self, text: str, path: Path | None = None) -> None:
        """Show the result of an export, with buttons for its file if there is one."""
        self._path, self.is_result = path, True
        self._show(text)

    def _show(self, text: str) -> None:
        self._label.setText(text)
        self._label.setAccessibleName(text)
        self._label.setToolTip(plain_tooltip("" if self._path is None else str(self._path)))
        for button in (self._open, self._folder):
            button.setVisible(self._path is not None)

    def _button(self, name: str, text: str, tip: str) -> QPushButton:
        button = QPushButton(text)
        button.setObjectName(name)
        button.setToolTip(tip)
        button.setAutoDefault(False)
        return button

    def _on_open(self) -> None:
        if self._path is not None and not _open_file(self._path):
            self._show(
                self.tr("No application found to open {0}").format(printable(self._path.name))
            )

    def _on_folder(self) -> None:
        if self._path is not None and not _open_file(self._path.parent):
            self._show(
                self.tr("No file manager found to show {0}").format(
                    printable(str(self._path.parent))
                )
            )


def _open_file(path: Path) -> bool:
    return path.exists() and QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))
