"""A table's rows taken along: for a spreadsheet, as CSV, as Markdown."""

import re
from collections.abc import Callable, Collection, Sequence
from functools import partial

from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QApplication, QTableView

from bertviewer.charts.table import Table, csv_text
from bertviewer.core.text.markdown import markdown_table
from bertviewer.core.text.numerals import MINUS
from bertviewer.core.text.python_path import python_expression
from bertviewer.ui.translation import QT_TRANSLATE_NOOP, translate

PATH_ROLE = Qt.ItemDataRole.UserRole + 3
"""The path of the module, or the name of the tensor, that a row is about; ``None`` for none."""

COPY_ROLE = Qt.ItemDataRole.UserRole + 4
"""A cell's text to take along, where it is another one than that on the screen."""

_GROUPED = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?")


class CopiedTable:
    """Cells of a table as texts; numbers without what is only there to be read."""

    def __init__(
        self, model: QAbstractItemModel, rows: Sequence[int], columns: Sequence[int]
    ) -> None:
        self._model, self._rows, self._columns = model, rows, columns

    def header(self) -> tuple[str, ...]:
        """Return the titles."""
        across = Qt.Orientation.Horizontal
        return tuple(str(self._model.headerData(n, across) or "") for n in self._columns)

    def texts(self) -> list[tuple[str, ...]]:
        """Return the cells as they are read."""
        return [
            tuple(_text(self._model.index(row, column)) for column in self._columns)
            for row in self._rows
        ]

    def table(self) -> Table:
        """Return a header and rows, to take along as data."""
        numbers = [self._is_number(column) for column in self._columns]
        rows = [
            tuple(
                _bare(text) if is_number else text
                for text, is_number in zip(row, numbers, strict=True)
            )
            for row in self.texts()
        ]
        return self.header(), list(rows)

    def _is_number(self, column: int) -> bool:
        role = Qt.ItemDataRole.TextAlignmentRole
        side = self._model.headerData(column, Qt.Orientation.Horizontal, role)
        return side is not None and bool(Qt.AlignmentFlag(side) & Qt.AlignmentFlag.AlignRight)


def offer_copies(table: QAbstractItemView, names: Collection[str] = ()) -> None:
    """Put ways to copy into a context menu, those of these names or all, the first on Ctrl+C."""
    for name, title, copy, is_all in _COPIES:
        if names and name not in names:
            continue
        action = QAction(translate("tables", title), table)
        action.setObjectName(name)
        if name in _KEYS:
            action.setShortcut(QKeySequence(_KEYS[name]))
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)

        def carry_out(
            _checked: bool = False,
            copy: Callable[[CopiedTable], str] = copy,
            is_all: bool = is_all,
        ) -> None:
            QApplication.clipboard().setText(copy(_chosen(table, is_all)))

        action.triggered.connect(carry_out)
        table.addAction(action)
    table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)


def offer_paths(table: QAbstractItemView) -> None:
    """Put ways to copy what a row is about into a context menu, for rows that are about it."""

    def copy(convert: Callable[[str], str]) -> None:
        path = table.currentIndex().data(PATH_ROLE)
        QApplication.clipboard().setText(convert(str(path)))

    for name, title, convert in _PATHS:
        offer(table, name, translate("tables", title), partial(copy, convert))


def offer(
    table: QAbstractItemView,
    name: str,
    title: str,
    call: Callable[[], object],
    *,
    is_first: bool = False,
) -> None:
    """Put into a context menu what is done with a row that is about something."""
    action = QAction(title, table)
    action.setObjectName(name)
    action.triggered.connect(lambda _=False: call())
    if is_first and table.actions():
        table.insertAction(table.actions()[0], action)
    else:
        table.addAction(action)

    def show(current: QModelIndex) -> None:
        action.setVisible(bool(current.data(PATH_ROLE)))

    show(table.currentIndex())
    table.selectionModel().currentChanged.connect(show)


def markdown_text(copied: CopiedTable) -> str:
    """Return cells as a table in Markdown, as they are read."""
    return "\n".join(markdown_table(copied.header(), copied.texts()))


def _chosen(table: QAbstractItemView, is_all: bool) -> CopiedTable:
    """Return the selected cells, all of them if that is wished or nothing is selected."""
    model, chosen = table.model(), table.selectionModel().selectedIndexes()
    columns = [n for n in range(model.columnCount()) if not _is_hidden(table, n)]
    if is_all or not chosen:
        return CopiedTable(model, range(model.rowCount()), columns)
    rows = sorted({index.row() for index in chosen})
    within = {index.column() for index in chosen}
    return CopiedTable(model, rows, [n for n in columns if n in within])


def _is_hidden(table: QAbstractItemView, column: int) -> bool:
    return isinstance(table, QTableView) and table.isColumnHidden(column)


def _lines(copied: CopiedTable) -> str:
    """Return cells for a spreadsheet, without titles."""
    _, rows = copied.table()
    return "\n".join("\t".join(str(cell).replace("\n", " ") for cell in row) for row in rows)


def _text(index: QModelIndex) -> str:
    text = index.data(COPY_ROLE)
    return str(index.data() or "") if text is None else str(text)


def _bare(text: str) -> str:
    """Return a number as programs read it, any other text as it is."""
    plain = text.replace(MINUS, "-")
    return plain.replace(",", "") if _GROUPED.fullmatch(plain) else plain


_COPIES: tuple[tuple[str, str, Callable[[CopiedTable], str], bool], ...] = (
    ("copyCells", QT_TRANSLATE_NOOP("tables", "&Copy"), _lines, False),
    ("copyAll", QT_TRANSLATE_NOOP("tables", "Copy a&ll"), _lines, True),
    ("copyCsv", QT_TRANSLATE_NOOP("tables", "Copy as CS&V"), csv_text, False),
    ("copyMarkdown", QT_TRANSLATE_NOOP("tables", "Copy as &Markdown"), markdown_text, False),
    ("copyAllCsv", QT_TRANSLATE_NOOP("tables", "Copy &all as CSV"), csv_text, True),
    ("copyAllMarkdown", QT_TRANSLATE_NOOP("tables", "Copy all as Mar&kdown"), markdown_text, True),
)
_PATHS: tuple[tuple[str, str, Callable[[str], str]], ...] = (
    ("copyRowPath", QT_TRANSLATE_NOOP("tables", "Copy &path"), str),
    ("copyRowPython", QT_TRANSLATE_NOOP("tables", "Copy as P&ython"), python_expression),
)
_KEYS = {"copyCells": "Ctrl+C", "copyAll": "Ctrl+Shift+C"}
