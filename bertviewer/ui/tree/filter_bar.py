"""Filter field of the module tree: completions, number of matches, previous and next match."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QPalette
from PySide6.QtWidgets import (
    QLineEdit,
    QMenu,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QToolButton,
    QWidget,
)
from typing_extensions import override

from bertviewer.charts.theme import GRID
from bertviewer.core.util.numbers import count_text
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.tree.filter import KEYS
from bertviewer.ui.tree.rows import TreeItem
from bertviewer.ui.tree.suggestions import FilterSuggestions, Suggestion, TypedTerm, typed_at
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import hbox, named, vbox
from bertviewer.ui.widgets.tables import Column, Index, Row, TableModel, make_table

DELAY = 150
"""Milliseconds after the last key press until the tree is filtered."""
VISIBLE_ROWS, MIN_WIDTH, MAX_WIDTH = 10, 240, 460

_WORD = QT_TRANSLATE_NOOP("filter", "a word in the path or class")
_NOT = QT_TRANSLATE_NOOP("filter", "exclude (works with any term)")


class TreeFilterBar(QWidget):
    """Emits the text as ``changed`` after a pause in typing.

    Enter and F3 ask for the next match, with Shift for the previous one (``stepped``). Escape
    clears the field and returns the focus (``left``); the down arrow moves on into the tree
    (``entered``). ``items`` returns the rows of the open model.
    """

    changed = Signal(str)
    stepped = Signal(int)
    left = Signal()
    entered = Signal()

    def __init__(self, items: Callable[[], Sequence[TreeItem]] = tuple) -> None:
        super().__init__()
        self.field = named(
            QLineEdit(), "treeFilter", accessible_name=self.tr("Filter the module tree")
        )
        self.field.setClearButtonEnabled(True)
        self._items = items
        self._examples = named(QMenu(self), "treeFilterExamples")
        self.show_examples()
        self._completions = _CompletionList(self.field, items)
        self.field.installEventFilter(self)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DELAY)
        self._timer.timeout.connect(self._apply)
        self.field.textChanged.connect(self._timer.start)
        help_button = flat_button("treeFilterHelp", "?", self.tr("Filter syntax"))
        help_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        help_button.setMenu(self._examples)
        self._count = named(
            plain_label(""), "treeFilterCount", accessible_name=self.tr("Filter results")
        )
        self._previous = flat_button("hitBefore", "↑", self.tr("Previous match (Shift+F3)"))
        self._next = flat_button("hitNext", "↓", self.tr("Next match (F3)"))
        self._previous.clicked.connect(lambda: self.stepped.emit(-1))
        self._next.clicked.connect(lambda: self.stepped.emit(1))
        self._result = QWidget()
        result = (self._count, 1), self._previous, self._next
        hbox(*result, parent=self._result, margins=(4, 0, 0, 0), spacing=0)
        self._result.hide()
        line = hbox((self.field, 1), help_button, spacing=2)
        vbox(line, self._result, parent=self, spacing=2)

    def show_result(
        self, hits: int | None = None, modules: int = 0, current: int | None = None, error: str = ""
    ) -> None:
        """Show what the filter found.

        Args:
            hits: the number of matches, ``None`` without a filter.
            modules: the number of all modules.
            current: which match is selected.
            error: what is invalid.
        """
        count = count_text(modules, self.tr("1 module"), self.tr("{0} modules"))
        found = self.tr("{0} of {1}").format(f"{hits or 0:,}", count)
        if not hits:
            found = "" if hits is None else self.tr("No results")
        elif current is not None:
            found = self.tr("Match {0} of {1}").format(f"{current + 1:,}", f"{hits:,}")
        text = " · ".join(filter(None, (error, found)))
        self._result.setVisible(bool(text))
        self._count.setText(text)
        self._count.setForegroundRole(WARNING if error else QPalette.ColorRole.PlaceholderText)
        for button in (self._previous, self._next):
            button.setEnabled(bool(hits))

    def reset(self) -> None:
        """Clear the field for a new, unfiltered tree, without a signal."""
        self._completions.forget_model()
        self.field.clear()
        self._timer.stop()
        self.show_result()

    def show_examples(self) -> None:
        """Show examples that match something in the open model."""
        suggestions = FilterSuggestions(self._items())
        class_term, size_term = suggestions.combined_example()
        placeholder = self.tr("Filter: words, {0}, {1}").format(class_term, size_term)
        self.field.setPlaceholderText(placeholder)
        tip = self.tr("Words in a path or class, {0} or {1}; click “?” for more (Ctrl+F)")
        self.field.setToolTip(tip.format(class_term, size_term))
        self._examples.clear()
        listed = ((suggestions.example(key), key.meaning) for key in KEYS)
        for example, meaning in ((suggestions.word(), _WORD), ("-dropout", _NOT), *listed):
            self._examples.addAction(
                f"{example}\t{translate('filter', meaning)}", partial(self._add, example)
            )

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._completions.handle_key(event) or self._handle_key(event)
        if event.type() == QEvent.Type.FocusOut:
            self._completions.forget_model()
        return super().eventFilter(watched, event)

    def _handle_key(self, event: QKeyEvent) -> bool:
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                if self._timer.isActive():  # include what has just been typed
                    self._apply()
                is_back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
                self.stepped.emit(-1 if is_back else 1)
            case Qt.Key.Key_Escape:
                self.field.clear()
                self._apply()
                self.left.emit()
            case Qt.Key.Key_Down:
                self.entered.emit()
            case _:
                return False
        return True

    def _apply(self) -> None:
        self._timer.stop()
        self.changed.emit(self.field.text().strip())

    def _add(self, example: str) -> None:
        text = self.field.text().strip()
        self.field.setText(f"{text} {example}" if text else example)
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)


class _CompletionList(QObject):
    """List of completions below a field, which keeps the focus.

    Nothing is chosen until an arrow key is pressed, so that Enter keeps its meaning. Tab takes the
    chosen completion or the first one, a click the clicked one; Escape closes the list.

    Not a ``QCompleter``: its popup is a window that keeps receiving the keys. With Qt 6.11, text
    that is typed into the palette after Ctrl+K goes to the filter while the popup is open.
    """

    def __init__(self, field: QLineEdit, items: Callable[[], Sequence[TreeItem]]) -> None:
        super().__init__(field)
        self._field, self._items = field, items
        self._shown: list[Suggestion] = []
        self._typed = TypedTerm(0, 0, "")
        self._suggestions: FilterSuggestions | None = None
        self._table: QTableView | None = None
        self._model = TableModel((Column(""), Column("")), self)
        field.textEdited.connect(self._update)

    def handle_key(self, event: QKeyEvent) -> bool:
        """Handle a key press while the list is open; return whether it is consumed."""
        table = self._table
        if table is None or not table.isVisible():
            return False
        row = table.currentIndex().row()
        match event.key():
            case Qt.Key.Key_Down:
                self._choose(table, (row + 1) % len(self._shown))
            case Qt.Key.Key_Up if row >= 0:
                self._choose(table, row - 1)
            case Qt.Key.Key_Tab:
                self._take(max(row, 0))
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if row >= 0:
                self._take(row)
            case Qt.Key.Key_Escape:
                self._close()
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self._close()
                return False
            case _:
                return False
        return True

    def forget_model(self) -> None:
        """Close the list and drop collected values: another model or run may follow."""
        self._suggestions = None
        self._close()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:  # of the window
            self._close()
        return super().eventFilter(watched, event)

    def _close(self) -> None:
        if self._table is not None:
            self._table.hide()
        self._field.setAccessibleDescription("")

    def _update(self) -> None:
        """Show completions of the term at the cursor."""
        if self._suggestions is None:
            self._suggestions = FilterSuggestions(self._items())
        typed = typed_at(self._field.text(), self._field.cursorPosition())
        self._shown = [] if typed is None else self._suggestions.completions(typed)
        if typed is None or not self._shown:
            self._close()
            return
        self._typed = typed
        if self._table is None:
            self._table = self._make_table()
        self._model.set_rows([Row((each.text, each.meaning)) for each in self._shown])
        self._place(self._table)
        self._choose(self._table, -1)
        self._table.scrollToTop()
        self._table.show()
        self._table.raise_()

    def _place(self, table: QTableView) -> None:
        window = self._field.window()
        if table.parentWidget() is not window:
            table.setParent(window)  # the panel may have been undocked
            window.installEventFilter(self)
        corner = self._field.mapTo(window, QPoint(0, self._field.height() + 2))
        hint = sum(max(0, table.sizeHintForColumn(column)) for column in (0, 1)) + 8 * GRID
        width = max(self._field.width(), MIN_WIDTH, min(hint, MAX_WIDTH))
        rows = min(len(self._shown), VISIBLE_ROWS)
        height = table.verticalHeader().defaultSectionSize() * rows + 2 * table.frameWidth()
        width, height = (
            min(width, window.width() - corner.x()),
            min(height, window.height() - corner.y()),
        )
        table.setGeometry(corner.x(), corner.y(), width, height)

    def _make_table(self) -> QTableView:
        table = make_table(self._model, "treeFilterOffers", self.tr("Suggestions"), copies=False)
        table.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        table.setFrameShape(QTableView.Shape.Box)
        table.horizontalHeader().hide()
        table.setItemDelegateForColumn(1, _MutedDelegate(table))
        table.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        table.viewport().setCursor(Qt.CursorShape.PointingHandCursor)
        table.clicked.connect(lambda index: self._take(index.row()))
        return table

    def _choose(self, table: QTableView, row: int) -> None:
        """Select a row, or none for -1."""
        if row < 0:
            table.clearSelection()
            table.setCurrentIndex(QModelIndex())
            return
        table.selectRow(row)
        chosen = self._shown[row]
        self._field.setAccessibleDescription(f"{chosen.text}, {chosen.meaning}")

    def _take(self, row: int) -> None:
        """Insert a completion; after a key, its values are listed."""
        taken, typed, text = self._shown[row], self._typed, self._field.text()
        self._close()
        self._field.setText(f"{text[: typed.start]}{taken.text}{text[typed.end :]}")
        self._field.setCursorPosition(typed.start + len(taken.text))
        if not taken.is_complete:
            self._update()


class _MutedDelegate(QStyledItemDelegate):
    """Draws the meaning of a completion in a muted colour."""

    @override
    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        muted = option.palette.color(QPalette.ColorRole.PlaceholderText)
        for role in (QPalette.ColorRole.Text, QPalette.ColorRole.HighlightedText):
            option.palette.setColor(role, muted)
