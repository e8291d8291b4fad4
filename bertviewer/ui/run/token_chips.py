"""The tokens of the last run as chips in a row, coloured by a figure of each."""

from collections.abc import Iterable
from typing import Any

from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt
from PySide6.QtGui import QAction, QFocusEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QApplication, QListView

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import GRID, ROW
from bertviewer.charts.token_measures import TokenMeasure, no_measure
from bertviewer.ui.run.chip_delegate import ChipDelegate, chips_of
from bertviewer.ui.run.token_rows import TOKEN, TokenRows, joined
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.table_export import add_copy_actions
from bertviewer.ui.widgets.tables import Index

SCROLL_BAR = 6
MOST_FITTED = 80
"""More chips than these have no room in any window."""


class ChipRows(TokenRows):
    """Tokens whose tips tell their figures too."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.measure: TokenMeasure = no_measure()

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a chip shows; Qt calls it."""
        is_tip = role == Qt.ItemDataRole.ToolTipRole
        if not is_tip and role != Qt.ItemDataRole.AccessibleTextRole:
            return super().data(index, role)
        if not index.isValid():
            return None
        parts = (self.tip(index.row()), self.measure.text(index.row()))
        text = "\n".join(filter(None, parts))
        return plain_tooltip(text) if is_tip else text


class TokenChips(QListView):
    """One row, which scrolls sideways; a click or the arrow keys select a token for all views."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._rows = ChipRows(self)
        self._delegate = ChipDelegate(self)
        self.setObjectName("tokenChips")
        self.setAccessibleName(self.tr("Tokens of the sentence"))
        self.setModel(self._rows)
        self.setModelColumn(TOKEN)
        self.setItemDelegate(self._delegate)
        self.setFlow(QListView.Flow.LeftToRight)
        self.setWrapping(False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setMouseTracking(True)
        self.horizontalScrollBar().setStyleSheet(f"QScrollBar {{ height: {SCROLL_BAR}px; }}")
        self.setFixedHeight(ROW + SCROLL_BAR + GRID)
        self._add_action(self.tr("Copy token"), QKeySequence(QKeySequence.StandardKey.Copy), False)
        self._add_action(self.tr("Copy all tokens"), QKeySequence("Ctrl+Shift+C"), True)
        add_copy_actions(self, ("copyAllCsv", "copyAllMarkdown"))
        self.selectionModel().currentChanged.connect(self._on_current)
        workspace.selection.token_changed.connect(self.follow)

    def show_run(self) -> None:
        """Show the tokens of the last run, in place of those before."""
        run = self._workspace.runs.run
        tokens = () if run is None else run.tokens
        self._delegate.chips = chips_of(tokens, joined(tokens))
        self._rows.set_run(run)
        self._fit()
        self.scrollToTop()
        self.horizontalScrollBar().setValue(0)
        self.follow()

    def show_measure(self, measure: TokenMeasure) -> None:
        """Colour the chips by other figures."""
        self._rows.measure = self._delegate.measure = measure
        self.viewport().update()

    def follow(self) -> None:
        """Mark the selected token, and bring it into sight."""
        token = self._workspace.selection.token
        if token is None or not 0 <= token < self._rows.rowCount():
            self.setCurrentIndex(QModelIndex())
        elif self.currentIndex().row() != token:
            self.setCurrentIndex(self._rows.index(token, TOKEN))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show all chips if they have room with less padding; Qt calls it."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        if self._rows.rowCount() > MOST_FITTED:
            return

        def widths() -> int:
            return sum(self.sizeHintForIndex(index).width() for index in indices)

        indices = [self._rows.index(row, TOKEN) for row in range(self._rows.rowCount())]
        if self._delegate.fit(widths, self.viewport().width()):
            self.scheduleDelayedItemsLayout()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show where the focus is; Qt calls it."""
        super().focusInEvent(event)
        self.viewport().update()

    def changeEvent(self, event: QEvent) -> None:
        """Measure the chips anew in another font; Qt calls it."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.scheduleDelayedItemsLayout()

    def _add_action(self, text: str, keys: QKeySequence, is_all: bool) -> None:
        action = QAction(text, self)
        action.setShortcut(keys)
        action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        action.triggered.connect(lambda: self._copy(is_all))
        self.addAction(action)

    def _copy(self, is_all: bool) -> None:
        current = self.currentIndex()
        rows: Iterable[int] = range(self._rows.rowCount())
        if not is_all:
            rows = (current.row(),) if current.isValid() else ()
        QApplication.clipboard().setText("\n".join(map(self._rows.text, rows)))

    def _on_current(self, current: QModelIndex) -> None:
        if current.isValid() and current.row() != self._workspace.selection.token:
            self._workspace.selection.go(SelectionKey(token=current.row()))
