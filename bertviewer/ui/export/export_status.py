"""The line below a report: how it is, what goes on, and its file once that is written."""

from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.core.util.text import printable
from bertviewer.ui.widgets.labels import ElidedLabel, plain_tooltip


class Outcome(QWidget):
    """A line of words, and what can be done with the file that was written."""

    cancel_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._path: Path | None = None
        self.has_ended = False
        """Whether it tells how the writing of a file has ended."""
        self._words = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self._words.setObjectName("reportOutcome")
        self._open = self._button("reportOpen", self.tr("Open"), self.tr("Open the report"))
        self._open.clicked.connect(self._on_open)
        self._folder = self._button(
            "reportShowFolder", self.tr("Show in folder"), self.tr("Open the report's folder")
        )
        self._folder.clicked.connect(self._on_folder)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2 * GRID)
        layout.addWidget(self._words, 1)
        layout.addWidget(self._open)
        layout.addWidget(self._folder)
        self.say("")

    def say(self, words: str) -> None:
        """Say something, and offer nothing."""
        self._path, self.has_ended = None, False
        self._tell(words)

    def show_end(self, words: str, path: Path | None = None) -> None:
        """Say how the writing has ended, and offer the file if there is one."""
        self._path, self.has_ended = path, True
        self._tell(words)

    def _tell(self, words: str) -> None:
        self._words.setText(words)
        self._words.setAccessibleName(words)
        self._words.setToolTip(plain_tooltip("" if self._path is None else str(self._path)))
        for button in (self._open, self._folder):
            button.setVisible(self._path is not None)

    def _button(self, name: str, words: str, tip: str) -> QPushButton:
        button = QPushButton(words)
        button.setObjectName(name)
        button.setToolTip(tip)
        button.setAutoDefault(False)
        return button

    def _on_open(self) -> None:
        if self._path is not None and not _shown(self._path):
            self._tell(
                self.tr("No application found to open {0}").format(printable(self._path.name))
            )

    def _on_folder(self) -> None:
        if self._path is not None and not _shown(self._path.parent):
            self._tell(
                self.tr("No file manager found to show {0}").format(
                    printable(str(self._path.parent))
                )
            )


def _shown(path: Path) -> bool:
    return path.exists() and QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))
