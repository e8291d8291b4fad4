"""The folded module tree as a model for Qt's views."""

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

from bertviewer.charts.theme import ROW, SMALL
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.util.memory import gc_paused
from bertviewer.plots.fonts import sized
from bertviewer.ui.tree.cells import (
    CLASS,
    COLUMNS,
    MODULE,
    NUMBERS,
    OUTPUT_SHAPE,
    PARAMETERS,
    SHAPE,
    SHARE,
    STATISTIC,
    SortKey,
    cell_text,
    sort_key,
    tip,
    title,
)
from bertviewer.ui.tree.figures import TreeFigures
from bertviewer.ui.tree.filter import parse_filter
from bertviewer.ui.tree.rows import TreeItem, TreeRows
from bertviewer.ui.tree.terms import TreeFilter
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.tables import Index, alignment

__all__ = (
    "CLASS",
    "COLUMNS",
    "MODULE",
    "OUTPUT_SHAPE",
    "PARAMETERS",
    "SHAPE",
    "SHARE",
    "STATISTIC",
    "ModuleTreeModel",
)

FIRST_STATISTIC = "std"
FALLING, RISING = " ↓", " ↑"
"""Behind the title of the column that rows are in order of."""


class ModuleTreeModel(QAbstractItemModel):
    """Rows of a ``TreeRow`` tree, numbered in one flat list; an index carries the number.

    A view is told of a filter that all is new: thousands of rows that come and go one by one would
    take it minutes. ``figures_changed``: any row may show another shape or figure.
    """

    figures_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows = TreeRows()
        self.filter = TreeFilter()
        self.statistic = FIRST_STATISTIC
        self.order: tuple[int, bool] | None = None  # a column, and whether from the largest on
        self._architecture: Architecture | None = None
        self._run: ActivationRun | None = None
        self._changes: Mapping[str, float] = {}

    @gc_paused()
    def set_tree(self, tree: TreeRow | None, architecture: Architecture | None = None) -> None:
        """Show another tree, without a filter and without a run; the order stays."""
        self.beginResetModel()
        self.rows = TreeRows(tree)
        self.filter = TreeFilter()
        self._architecture, self._run, self._changes = architecture, None, {}
        self.rows.figures = TreeFigures(architecture)
        if self.order is not None:
            self._arrange()
        self.endResetModel()

    def set_filter(self, text: str) -> None:
        """Show the rows that fit what somebody typed, and those above them; all for nothing."""
        self.filter = parse_filter(text)
        self.arrange()

    @gc_paused()
    def set_order(self, column: int | None, is_falling: bool = False) -> None:
        """Put the rows below each row in order of a column, or as they are in the model."""
        self.order = None if column is None else (column, is_falling)
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
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, COLUMNS - 1)

    def set_run(self, run: ActivationRun | None) -> None:
        """Show what a run gave."""
        if run is not self._run:
            self._run = run
            self._renew_figures()

    def set_architecture(self, architecture: Architecture | None) -> None:
        """Show the costs of the same model, which come after its tree."""
        if architecture is not self._architecture:
            self._architecture = architecture
            self._renew_figures()

    def set_changes(self, changes: Mapping[str, float]) -> None:
        """Show how far modules are from those of another model; nothing if that is not known."""
        if changes is not self._changes:
            self._changes = changes
            self._renew_figures()

    def set_statistic(self, name: str) -> None:
        """Show another statistic of the run in its column."""
        self.statistic = name
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, STATISTIC, STATISTIC)
        self._tell_of_figures()

    def arrange(self) -> None:
        """Filter and order the rows anew: figures may have come that this hangs on."""
        self.beginResetModel()
        self._arrange()
        self.endResetModel()

    def texts(self, column: int) -> frozenset[str]:
        """Return all that a column shows in any row; not for the first one, of names."""
        hangs_on_looks = column in (CLASS, PARAMETERS, SHARE, SHAPE)
        looks = tuple(self.rows.looks.values()) if hangs_on_looks else self.rows.items
        return frozenset(cell_text(item, column, self.statistic) for item in looks)

    def item(self, index: Index) -> TreeItem | None:
        """Return what stands at an index, ``None`` for the invisible root."""
        return self.rows.items[index.internalId()] if index.isValid() else None

    def tree_row(self, index: Index) -> TreeRow | None:
        """Return the row behind an index, ``None`` for the invisible root."""
        return self.rows.items[index.internalId()].row if index.isValid() else None

    def index_of(self, key: str) -> QModelIndex:
        """Return the index of the row with that key, an invalid one if it is not shown."""
        number = self.rows.numbers.get(key)
        return QModelIndex() if number is None else self.index_at(number)

    def index_at(self, number: int) -> QModelIndex:
        """Return the index of a row by its number, an invalid one if it is not shown."""
        position = self.rows.items[number].position
        return QModelIndex() if position < 0 else self.createIndex(position, MODULE, number)

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        """Return the index of a child; Qt calls it."""
        # Asked for thousands of times: hasIndex() would take twice as long.
        children = self._children(parent)
        if not (0 <= row < len(children) and 0 <= column < COLUMNS):
            return QModelIndex()
        return self.createIndex(row, column, children[row])

    def parent(self, index: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]  # noqa: B008
        """Return the index of the row above; Qt calls it."""
        if not index.isValid():
            return QModelIndex()
        above = self.rows.items[index.internalId()].parent
        return QModelIndex() if above < 0 else self.index_at(above)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return how many children a row has; Qt calls it."""
        return len(self._children(parent))

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        """Return whether a row has children; Qt calls it, more often than anything else."""
        return bool(self._children(parent))

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return the number of columns; Qt calls it."""
        return COLUMNS

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a column's title; Qt calls it."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return alignment(section in NUMBERS)
        if role == Qt.ItemDataRole.FontRole:
            return sized(QGuiApplication.font(), SMALL)
        # The title of a narrow column is cut.
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return None
        text = title(section, self.statistic)
        if self.order is not None and self.order[0] == section:
            text += FALLING if self.order[1] else RISING
        return text

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows; Qt calls it."""
        if not index.isValid():
            return None
        item, column = self.rows.items[index.internalId()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return cell_text(item, column, self.statistic)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return alignment(column in NUMBERS)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tooltip(tip(item, column, self.statistic))
        if role == Qt.ItemDataRole.SizeHintRole and column == MODULE:
            # Large letters need more than the usual row.
            return QSize(0, max(ROW, QFontMetrics(QGuiApplication.font()).height() + 7))
        return None

    def _arrange(self) -> None:
        self.rows.arrange(self.filter)
        if self.order is not None:
            self._sort()

    def _sort(self) -> None:
        if self.order is None:
            self.rows.sort(None)
            return
        column, is_falling = self.order

        def key(item: TreeItem) -> SortKey:
            return sort_key(item, column, self.statistic, is_falling)

        self.rows.sort(key, is_falling)

    def _children(self, parent: Index) -> list[int]:
        column = parent.column()  # -1 for the invisible root
        if column == 0:
            return self.rows.items[parent.internalId()].children
        return self.rows.below(-1) if column < 0 else []

    def _renew_figures(self) -> None:
        self.rows.figures = TreeFigures(self._architecture, self._run, self._changes)
        self._tell_of_figures()

    def _tell_of_figures(self) -> None:
        # One row for all: a view would take a third of a second to hear of every row of thousands.
        if self.rows.below(-1):  # a filter may leave none
            first = self.index(0, SHAPE), self.index(0, COLUMNS - 1)
            self.dataChanged.emit(*first, [Qt.ItemDataRole.DisplayRole])
        self.figures_changed.emit()
