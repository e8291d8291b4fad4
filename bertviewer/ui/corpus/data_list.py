"""The files that many sentences are read from."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QKeyEvent, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFileDialog,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QWidget,
)

from bertviewer.charts.theme import GRID
from bertviewer.core.util.text import printable
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import STRETCH, hbox, named, vbox

ROWS = 3
"""So many files are seen at once."""
PATH = Qt.ItemDataRole.UserRole


class DataList(QWidget):
    """A list with buttons to add files and to take them out; ``changed`` tells of either."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.list = named(_Files(), "corpusData", accessible_name=self.tr("Sentence files"))
        self.list.setToolTip(
            self.tr(
                "One sentence per line, or a column of a JSONL, CSV or Parquet file. Press "
                "Delete to remove a file."
            )
        )
        self.list.removed.connect(self._remove)
        self.list.itemSelectionChanged.connect(self._update)
        add = named(QPushButton(self.tr("&Add files…")), "corpusAdd")
        add.setToolTip(self.tr("Text files with one sentence per line, JSONL, CSV or Parquet"))
        self._take = named(QPushButton(self.tr("Remove")), "corpusRemove")
        self._take.setToolTip(self.tr("Remove the selected file from the list (Delete)"))
        for button, call in ((add, self._choose), (self._take, self._remove)):
            button.setAutoDefault(False)
            button.clicked.connect(call)
        buttons = vbox(add, self._take, STRETCH, spacing=GRID)
        hbox((self.list, 1), (buttons, 0), parent=self, spacing=2 * GRID)
        self.setAcceptDrops(True)
        self._update()

    @property
    def files(self) -> tuple[str, ...]:
        """Their paths, in order."""
        return tuple(self.list.item(row).data(PATH) for row in range(self.list.count()))

    def show_files(self, files: Sequence[str]) -> None:
        """Show these in place of those before, without saying so."""
        self.list.clear()
        for file in files:
            item = QListWidgetItem(printable(Path(file).name))
            item.setData(PATH, file)
            item.setToolTip(plain_tooltip(file))
            self.list.addItem(item)
        self._update()

    def add(self, files: Sequence[str]) -> None:
        """Add files behind those that are there."""
        new = [file for file in files if file not in self.files]
        if new:
            self.show_files((*self.files, *new))
            self.changed.emit()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take files; Qt calls it."""
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Add the files that are dropped; Qt calls it."""
        event.acceptProposedAction()
        urls = event.mimeData().urls()
        self.add([url.toLocalFile() for url in urls if url.isLocalFile()])

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
            self.show_files([file for place, file in enumerate(self.files) if place != row])
            self.list.setCurrentRow(min(row, self.list.count() - 1))
            self.changed.emit()

    def _update(self) -> None:
        self._take.setEnabled(bool(self.list.selectedItems()))


class _Files(QListWidget):
    removed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setUniformItemSizes(True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Take a file out with Delete; Qt calls it."""
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.removed.emit()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Say what belongs here while there is nothing; Qt calls it."""
        super().paintEvent(event)
        if not self.count():
            painter = QPainter(self.viewport())
            painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
            room = self.viewport().rect().adjusted(2 * GRID, GRID, -2 * GRID, -GRID)
            words = self.tr(
                "Drop files here: text with one sentence per line, JSONL, CSV or Parquet"
            )
            painter.drawText(room, int(Qt.TextFlag.TextWordWrap), words)
            painter.end()

    def sizeHint(self) -> QSize:
        """Return room for a few files; Qt calls it."""
        row = self.fontMetrics().height() + 2 * GRID
        return QSize(super().sizeHint().width(), ROWS * row + 2 * self.frameWidth())

    def minimumSizeHint(self) -> QSize:
        """Return the same height; Qt calls it."""
        return QSize(super().minimumSizeHint().width(), self.sizeHint().height())
