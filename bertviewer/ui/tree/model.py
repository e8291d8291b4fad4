"""Item model of the module tree, with layers folded into one row."""

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QObject,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFontMetrics, QGuiApplication
from typing_extensions import override

from bertviewer.charts.theme import ROW, SMALL
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.util.memory import gc_paused
from bertviewer.plots.fonts import sized
from bertviewer.ui.tree.columns import (
    CLASS,
    COLUMNS,
    MODULE,
    PARAMETERS,
    SHAPE,
    SHARE,
    STATISTIC,
    SortKey,
    cell_tip,
    column_title,
    sort_key,
)
from bertviewer.ui.tree.figures import TreeFigures
from bertviewer.ui.tree.filter import TreeFilter, parse_filter
from bertviewer.ui.tree.rows import TreeItem, TreeRows
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.tables import Index, alignment

DEFAULT_STATISTIC = "std"
DESCENDING, ASCENDING = " ↓", " ↑"
"""After the title of the column that rows are sorted by."""
Sources = tuple[Architecture | None, ActivationRun | None, Mapping[str, float] | None]
"""Where figures come from."""


class ModuleTreeModel(QAbstractItemModel):
    """Rows of a ``TreeRow`` tree in one flat list; an index holds the position in the list.

    A filter resets the model: a view would take minutes to insert and remove thousands of rows one
    by one. ``figures_changed`` is emitted when any row may have another shape or value.
    """

    figures_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows = TreeRows()
        self.filter = TreeFilter()
        self.statistic = DEFAULT_STATISTIC
        self.order: tuple[int, bool] | None = None  # column, is_descending
        self._sources: Sources = (None, None, None)

    @gc_paused()
    def set_tree(self, tree: TreeRow | None, architecture: Architecture | None = None) -> None:
        """Show another tree without filter and run; the order stays."""
        self.beginResetModel()
        self.rows = TreeRows(tree)
        self.filter = TreeFilter()
        self._sources = architecture, None, None
        self.rows.figures = TreeFigures(architecture)
        if self.order is not None:
            self._arrange()
        self.endResetModel()

    def set_filter(self, text: str) -> None:
        """Show the rows that match a text, and their ancestors; all rows for an empty text."""
        self.filter = parse_filter(text)
        self.beginResetModel()
        self._arrange()
        self.endResetModel()

    @gc_paused()
    def set_order(self, column: int | None, is_descending: bool = False) -> None:
        """Sort siblings by a column, or in the model's order."""
        self.order = None if column is None else (column, is_descending)
        self.layoutAboutToBeChanged.emit()
        kept = [(each, each.internalId(), each.row()) for each in self.persistentIndexList()]
        self._sort()
        places = [item.position for item in self.rows.items]
        moved = [
            (index, self.createIndex(places[number], index.column(), number))
            for index, number, row in kept
            if places[number] != row
        ]
        self.changePersistentIndexList([old for old, _ in moved], [new for _, new in moved])
        self.layoutChanged.emit()
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(COLUMNS) - 1)

    def set_figures(
        self,
        architecture: Architecture | None,
        run: ActivationRun | None,
        changes: Mapping[str, float] | None,
    ) -> None:
        """Show derived costs, a run, and relative changes by path; ``None`` if not known."""
        sources = architecture, run, changes
        if any(new is not old for new, old in zip(sources, self._sources, strict=True)):
            self._sources = sources
            self.rows.figures = TreeFigures(*sources)
            self._emit_figures()

    def set_statistic(self, name: str) -> None:
        """Show another statistic of the run."""
        self.statistic = name
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, STATISTIC, STATISTIC)
        self._emit_figures()

    def texts(self, column: int) -> frozenset[str]:
        """Return the distinct texts of a column other than the names."""
        is_fixed = column in (CLASS, PARAMETERS, SHARE, SHAPE)
        items = tuple(self.rows.looks.values()) if is_fixed else self.rows.items
        return frozenset(COLUMNS[column].text(item, self.statistic) for item in items)

    def item(self, index: Index) -> TreeItem | None:
        """Return the item at an index, ``None`` for the invisible root."""
        return self.rows.items[index.internalId()] if index.isValid() else None

    def tree_row(self, index: Index) -> TreeRow | None:
        """Return the row at an index, ``None`` for the invisible root."""
        return self.rows.items[index.internalId()].row if index.isValid() else None

    def index_of(self, key: str) -> QModelIndex:
        """Return the index of the row with a key, an invalid one if it is not shown."""
        number = self.rows.numbers.get(key)
        return QModelIndex() if number is None else self.index_at(number)

    def index_at(self, number: int) -> QModelIndex:
        """Return the index of a row by its position in the list, an invalid one if it is hidden."""
        position = self.rows.items[number].position
        return QModelIndex() if position < 0 else self.createIndex(position, MODULE, number)

    @override
    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        # Called thousands of times; hasIndex() would take twice as long.
        children = self._children(parent)
        if not (0 <= row < len(children) and 0 <= column < len(COLUMNS)):
            return QModelIndex()
        return self.createIndex(row, column, children[row])

    @override
    def parent(self, index: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]  # noqa: B008
        if not index.isValid():
            return QModelIndex()
        above = self.rows.items[index.internalId()].parent
        return QModelIndex() if above < 0 else self.index_at(above)

    @override
    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(self._children(parent))

    @override
    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        return bool(self._children(parent))

    @override
    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(COLUMNS)

    @override
    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return alignment(COLUMNS[section].is_number)
        if role == Qt.ItemDataRole.FontRole:
            return sized(QGuiApplication.font(), SMALL)
        # Titles of narrow columns are elided, so they have a tooltip.
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return None
        text = column_title(section, self.statistic)
        if self.order is not None and self.order[0] == section:
            text += DESCENDING if self.order[1] else ASCENDING
        return text

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        item, column = self.rows.items[index.internalId()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return COLUMNS[column].text(item, self.statistic)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return alignment(COLUMNS[column].is_number)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tooltip(cell_tip(item, column, self.statistic))
        if role == Qt.ItemDataRole.SizeHintRole and column == MODULE:
            # Rows grow with the text size.
            return QSize(0, max(ROW, QFontMetrics(QGuiApplication.font()).height() + 7))
        return None

    def _arrange(self) -> None:
        self.rows.arrange([term.matches for term in self.filter.terms])
        if self.order is not None:
            self._sort()

    def _sort(self) -> None:
        if self.order is None:
            self.rows.sort(None)
            return
        column, is_descending = self.order

        def key(item: TreeItem) -> SortKey:
            return sort_key(item, column, self.statistic, is_descending)

        self.rows.sort(key, is_descending)

    def _children(self, parent: Index) -> list[int]:
        column = parent.column()  # -1 for the invisible root
        if column == 0:
            return self.rows.items[parent.internalId()].children
        return self.rows.below(-1) if column < 0 else []

    def _emit_figures(self) -> None:
        # Emitted for one row only: for thousands it would take a view a third of a second.
        if self.rows.below(-1):  # a filter may leave none
            first = self.index(0, SHAPE), self.index(0, len(COLUMNS) - 1)
            self.dataChanged.emit(*first, [Qt.ItemDataRole.DisplayRole])
        self.figures_changed.emit()
