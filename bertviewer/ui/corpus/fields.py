"""Fields of the corpus dialog: the list of sentence files, and the equivalent command."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDropEvent,
    QGuiApplication,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPalette,
)
from PySide6.QtWidgets import (
    QFileDialog,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QWidget,
)
from typing_extensions import override

from bertviewer.charts.theme import GRID
from bertviewer.core.util.text import printable
from bertviewer.plots.fonts import monospaced
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import STRETCH, hbox, named, vbox

VISIBLE_ROWS = 3
PATH = Qt.ItemDataRole.UserRole


class FileField(QWidget):
    """List of files with buttons to add and remove; ``changed`` by the user."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.list = named(
            _FileList(),
            "corpusData",
            accessible_name=self.tr("Sentence files"),
            tooltip=self.tr(
                "One sentence per line, or a column of a JSONL, CSV or Parquet file. Press "
                "Delete to remove a file."
            ),
        )
        self.list.delete_pressed.connect(self._remove)
        self.list.itemSelectionChanged.connect(self._enable)
        add = named(
            QPushButton(self.tr("&Add files…")),
            "corpusAdd",
            tooltip=self.tr("Text files with one sentence per line, JSONL, CSV or Parquet"),
        )
        self._remove_button = named(
            QPushButton(self.tr("Remove")),
            "corpusRemove",
            tooltip=self.tr("Remove the selected file from the list (Delete)"),
        )
        for button, call in ((add, self._choose), (self._remove_button, self._remove)):
            button.setAutoDefault(False)
            button.clicked.connect(call)
        buttons = vbox(add, self._remove_button, STRETCH, spacing=GRID)
        hbox((self.list, 1), (buttons, 0), parent=self, spacing=2 * GRID)
        self.setAcceptDrops(True)
        self._enable()

    @property
    def files(self) -> tuple[str, ...]:
        """The paths, in order."""
        return tuple(self.list.item(row).data(PATH) for row in range(self.list.count()))

    def set_files(self, files: Sequence[str]) -> None:
        """Replace the files; emits nothing."""
        self.list.clear()
        for file in files:
            item = QListWidgetItem(printable(Path(file).name))
            item.setData(PATH, file)
            item.setToolTip(plain_tooltip(file))
            self.list.addItem(item)
        self._enable()

    def add(self, files: Sequence[str]) -> None:
        """Append those files that are not in the list."""
        new = [file for file in files if file not in self.files]
        if new:
            self.set_files((*self.files, *new))
            self.changed.emit()

    @override
    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    @override
    def dropEvent(self, event: QDropEvent) -> None:
        event.acceptProposedAction()
        self.add([url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()])

    def _choose(self) -> None:
        files, _ = QFileDialog.getOpenFileNames(
            self,
            self.tr("Add sentence files: text with one sentence per line, JSONL, CSV or Parquet"),
            str(Path(self.files[-1]).parent) if self.files else "",
            self.tr("All files (*)"),
        )
        self.add(files)

    def _remove(self) -> None:
        row = self.list.currentRow()
        if row >= 0:
            self.list.takeItem(row)
            self._enable()
            self.changed.emit()

    def _enable(self) -> None:
        self._remove_button.setEnabled(bool(self.list.selectedItems()))


class _FileList(QListWidget):
    """List of a few rows, with a placeholder text while it is empty."""

    delete_pressed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setUniformItemSizes(True)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.delete_pressed.emit()
        else:
            super().keyPressEvent(event)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self.count():
            painter = QPainter(self.viewport())
            painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
            area = self.viewport().rect().adjusted(2 * GRID, GRID, -2 * GRID, -GRID)
            text = self.tr(
                "Drop files here: text with one sentence per line, JSONL, CSV or Parquet"
            )
            painter.drawText(area, int(Qt.TextFlag.TextWordWrap), text)
            painter.end()

    @override
    def sizeHint(self) -> QSize:
        row = self.fontMetrics().height() + 2 * GRID
        return QSize(super().sizeHint().width(), VISIBLE_ROWS * row + 2 * self.frameWidth())

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), self.sizeHint().height())


class CommandField(QWidget):
    """Read-only command line with a button that copies it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        title = self.tr("Equivalent terminal command")
        self._field = named(QLineEdit(), name, accessible_name=title, tooltip=title)
        self._field.setReadOnly(True)
        self._field.setFont(monospaced(self._field.font()))
        copy = flat_button(f"{name}Copy", self.tr("Copy"), self.tr("Copy the command"))
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.text))
        hbox((self._field, 1), copy, parent=self, spacing=4)

    @property
    def text(self) -> str:
        """The command."""
        return self._field.text()

    def show_command(self, text: str) -> None:
        """Show a command from its beginning."""
        if text != self.text:
            self._field.setText(text)
            self._field.setCursorPosition(0)
