"""A table's rows taken along: for a spreadsheet, as CSV, as Markdown."""

import re
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QApplication, QTableView

from bertviewer.charts.table import CellValue, Rows, csv_text, tabbed_lines, value_text
from bertviewer.core.util.numbers import MINUS
from bertviewer.core.util.text import markdown_table, python_expression
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.widgets.layouts import named

PATH_ROLE = Qt.ItemDataRole.UserRole + 3
"""The path of the module, or the name of the tensor, that a row is about; ``None`` for none."""

COPY_ROLE = Qt.ItemDataRole.UserRole + 4
"""A cell's text to take along, where it is another one than that on the screen."""

_GROUPED = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?")


class Cells(Struct, frozen=True, eq=False):
    """Cells of a table.

    Attributes:
        titles: of the columns.
        rows: the values, as data.
        texts: what is read, where that is another text.
        first: the number of the first row, where rows are told by their numbers.
    """

    titles: tuple[str, ...]
    rows: Sequence[tuple[CellValue, ...]]
    texts: Sequence[Sequence[str]] = ()
    first: int | None = None

    def table(self) -> Rows:
        """Return a header and rows, to take along as data."""
        if self.first is None:
            return self.titles, list(self.rows)
        return ("", *self.titles), [(n, *row) for n, row in enumerate(self.rows, self.first)]


Chosen = Callable[[bool], Cells | None]
"""Gives all cells, or those that are selected; ``None`` where they cannot be had."""


def offer_copies(
    table: QAbstractItemView, names: Collection[str] = (), chosen: Chosen | None = None
) -> None:
    """Put ways to copy into a context menu, those of these names or all, the first on Ctrl+C.

    ``chosen`` gives the cells where the model's texts are not what is taken along.
    """
    cells = chosen or partial(_chosen, table)
    for name, title, copy, is_all in _COPIES:
        if names and name not in names:
            continue
        action = named(QAction(translate("tables", title), table), name)
        if name in _KEYS:
            action.setShortcut(QKeySequence(_KEYS[name]))
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        action.triggered.connect(partial(_carry_out, copy, cells, is_all))
        table.addAction(action)
    table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)


def _carry_out(
    copy: Callable[[Cells], str], chosen: Chosen, is_all: bool, _checked: bool = False
) -> None:
    if (cells := chosen(is_all)) is not None:
        QApplication.clipboard().setText(copy(cells))


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
    action = named(QAction(title, table), name)
    action.triggered.connect(lambda _=False: call())
    if is_first and table.actions():
        table.insertAction(table.actions()[0], action)
    else:
        table.addAction(action)

    def show(current: QModelIndex) -> None:
        action.setVisible(bool(current.data(PATH_ROLE)))

    show(table.currentIndex())
    table.selectionModel().currentChanged.connect(show)


def _chosen(table: QAbstractItemView, is_all: bool) -> Cells:
    """Return the selected cells, all of them if that is wished or nothing is selected."""
    model, indexes = table.model(), table.selectionModel().selectedIndexes()
    columns = [n for n in range(model.columnCount()) if not _is_hidden(table, n)]
    rows: Sequence[int] = range(model.rowCount())
    if indexes and not is_all:
        rows = sorted({index.row() for index in indexes})
        within = {index.column() for index in indexes}
        columns = [n for n in columns if n in within]
    across, side = Qt.Orientation.Horizontal, Qt.ItemDataRole.TextAlignmentRole
    titles = tuple(str(model.headerData(n, across) or "") for n in columns)
    are_numbers = [_is_right(model.headerData(n, across, side)) for n in columns]
    texts = [tuple(_text(model.index(row, column)) for column in columns) for row in rows]
    data = [
        tuple(
            _bare(text) if is_number else text
            for text, is_number in zip(row, are_numbers, strict=True)
        )
        for row in texts
    ]
    return Cells(titles, data, texts)


def _is_right(side: Any) -> bool:
    return side is not None and bool(Qt.AlignmentFlag(side) & Qt.AlignmentFlag.AlignRight)


def _is_hidden(table: QAbstractItemView, column: int) -> bool:
    return isinstance(table, QTableView) and table.isColumnHidden(column)


def _lines(cells: Cells) -> str:
    """Return cells for a spreadsheet, without titles."""
    return tabbed_lines(cells.rows)


def _titled_lines(cells: Cells) -> str:
    return tabbed_lines([cells.titles, *cells.rows])


def _markdown(cells: Cells) -> str:
    """Return cells as a table in Markdown, as they are read."""
    titles, rows = cells.table()
    texts = cells.texts or [list(map(value_text, row)) for row in rows]
    return "\n".join(markdown_table(titles, texts))


def _text(index: QModelIndex) -> str:
    text = index.data(COPY_ROLE)
    return str(index.data() or "") if text is None else str(text)


def _bare(text: str) -> str:
    """Return a number as programs read it, any other text as it is."""
    plain = text.replace(MINUS, "-")
    return plain.replace(",", "") if _GROUPED.fullmatch(plain) else plain


_COPIES: tuple[tuple[str, str, Callable[[Cells], str], bool], ...] = (
    ("copyCells", QT_TRANSLATE_NOOP("tables", "&Copy"), _lines, False),
    ("copyAll", QT_TRANSLATE_NOOP("tables", "Copy a&ll"), _titled_lines, True),
    ("copyCsv", QT_TRANSLATE_NOOP("tables", "Copy as CS&V"), csv_text, False),
    ("copyMarkdown", QT_TRANSLATE_NOOP("tables", "Copy as &Markdown"), _markdown, False),
    ("copyAllCsv", QT_TRANSLATE_NOOP("tables", "Copy &all as CSV"), csv_text, True),
    ("copyAllMarkdown", QT_TRANSLATE_NOOP("tables", "Copy all as Mar&kdown"), _markdown, True),
)
_PATHS: tuple[tuple[str, str, Callable[[str], str]], ...] = (
    ("copyRowPath", QT_TRANSLATE_NOOP("tables", "Copy &path"), str),
    ("copyRowPython", QT_TRANSLATE_NOOP("tables", "Copy as P&ython"), python_expression),
)
_KEYS = {"copyCells": "Ctrl+C", "copyAll": "Ctrl+Shift+C"}
