"""What completes a term of the tree's filter, in a list below the field while one types."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt
from PySide6.QtGui import QKeyEvent, QPalette
from PySide6.QtWidgets import QLineEdit, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from bertviewer.charts.theme import GRID
from bertviewer.ui.tree.completion import Completion, Offer, Typed, typed_at
from bertviewer.ui.tree.rows import TreeItem
from bertviewer.ui.widgets.tables import Column, Index, Row, TableModel, make_table

LINES, LEAST, MOST = 10, 240, 460
"""Lines in sight, and pixels of the list's width."""


class _Muted(QStyledItemDelegate):
    """Draws what an offer means more quietly than the offer."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        muted = option.palette.color(QPalette.ColorRole.PlaceholderText)
        for role in (QPalette.ColorRole.Text, QPalette.ColorRole.HighlightedText):
            option.palette.setColor(role, muted)


class TreeOffers(QObject):
    """A part of the window and no window of its own: the keys stay with the field.

    Nothing is chosen until an arrow key does it, so that Enter keeps its meaning; Tab takes the
    chosen offer, or the first, and a click the one below it; Escape puts the list away.
    """

    def __init__(self, field: QLineEdit, items: Callable[[], Sequence[TreeItem]]) -> None:
        super().__init__(field)
        self._field, self._items = field, items
        self._offers: list[Offer] = []
        self._typed: Typed | None = None
        self._completion: Completion | None = None
        self._table: QTableView | None = None
        self._model = TableModel((Column(""), Column("")), self)
        field.textEdited.connect(self._look)

    @property
    def is_open(self) -> bool:
        """Whether the list is in sight."""
        return self._table is not None and self._table.isVisible()

    def take_key(self, event: QKeyEvent) -> bool:
        """Carry out what a key does while the list is open; return whether it does anything."""
        table = self._table
        if table is None or not self.is_open:
            return False
        row = table.currentIndex().row()
        match event.key():
            case Qt.Key.Key_Down:
                self._choose((row + 1) % len(self._offers))
            case Qt.Key.Key_Up if row >= 0:
                self._choose(row - 1)
            case Qt.Key.Key_Tab:
                self._take(max(row, 0))
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if row >= 0:
                self._take(row)
            case Qt.Key.Key_Escape:
                self.close()
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self.close()  # and to the next hit
                return False
            case _:
                return False
        return True

    def close(self) -> None:
        """Go out of sight."""
        if self._table is not None:
            self._table.hide()
        self._field.setAccessibleDescription("")

    def forget(self) -> None:
        """Know nothing of the model any more: it may be another one, or have run meanwhile."""
        self._completion = None
        self.close()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the window's size; Qt calls it."""
        if event.type() == QEvent.Type.Resize:
            self.close()
        return super().eventFilter(watched, event)

    def _look(self) -> None:
        """Offer what the term at the cursor may become."""
        if self._completion is None:
            self._completion = Completion(self._items())
        self._typed = typed_at(self._field.text(), self._field.cursorPosition())
        typed = self._typed
        self._offers = [] if typed is None else self._completion.offers(typed)
        if self._offers:
            self._show()
        else:
            self.close()

    def _show(self) -> None:
        table = self._table
        if table is None:
            table = self._table = self._make_table()
        self._model.set_rows([Row((offer.text, offer.meaning)) for offer in self._offers])
        window, below = self._field.window(), QPoint(0, self._field.height() + 2)
        if table.parentWidget() is not window:
            table.setParent(window)  # a pane may be torn off
            window.installEventFilter(self)
        place = self._field.mapTo(window, below)
        line = table.verticalHeader().defaultSectionSize()
        wanted = sum(max(0, table.sizeHintForColumn(column)) for column in (0, 1)) + 8 * GRID
        width = min(max(self._field.width(), LEAST, min(wanted, MOST)), window.width() - place.x())
        height = line * min(len(self._offers), LINES) + 2 * table.frameWidth()
        table.setGeometry(place.x(), place.y(), width, min(height, window.height() - place.y()))
        table.setCurrentIndex(QModelIndex())
        table.clearSelection()
        table.scrollToTop()
        table.show()
        table.raise_()

    def _make_table(self) -> QTableView:
        table = make_table(self._model, "treeFilterOffers", self.tr("Suggestions"), copies=False)
        table.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        table.setFrameShape(QTableView.Shape.Box)
        table.horizontalHeader().hide()
        table.setItemDelegateForColumn(1, _Muted(table))
        table.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        # A pointer that rests where the list comes up chooses nothing: Enter keeps its meaning.
        table.viewport().setCursor(Qt.CursorShape.PointingHandCursor)
        table.clicked.connect(lambda index: self._take(index.row()))
        return table

    def _choose(self, row: int) -> None:
        """Choose an offer, none for a number below 0."""
        assert self._table is not None
        if row < 0:
            self._table.clearSelection()
            self._table.setCurrentIndex(QModelIndex())
            return
        self._table.selectRow(row)
        offer = self._offers[row]
        self._field.setAccessibleDescription(f"{offer.text}, {offer.meaning}")

    def _take(self, row: int) -> None:
        """Put an offer into the field; behind the beginning of a term its values are offered."""
        offer, typed = self._offers[row], self._typed
        assert typed is not None
        text = self._field.text()
        self.close()
        self._field.setText(f"{text[: typed.start]}{offer.text}{text[typed.end :]}")
        self._field.setCursorPosition(typed.start + len(offer.text))
        if not offer.is_whole:
            self._look()
