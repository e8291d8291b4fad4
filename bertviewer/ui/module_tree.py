"""The folded module tree as a model for Qt's views."""

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QObject,
    QSize,
    Qt,
)
from PySide6.QtGui import QFontMetrics, QGuiApplication

from bertviewer.core.folding import TreeRow
from bertviewer.core.run.activation_run import ActivationRun
from bertviewer.core.shape_text import shape_text
from bertviewer.ui.tables import Index, alignment
from bertviewer.ui.tips import plain_tip

COLUMNS = 6
MODULE, CLASS, PARAMETERS, SHARE, SHAPE, OUTPUT_SHAPE = range(COLUMNS)

SHARE_ROLE = Qt.ItemDataRole.UserRole
FILTER_ROLE = Qt.ItemDataRole.UserRole + 1


@dataclass(slots=True)
class _Item:
    """A row in the flattened tree: its place, and the numbers of the rows around it."""

    row: TreeRow
    parent: int
    position: int
    children: list[int]


class ModuleTreeModel(QAbstractItemModel):
    """Rows of a ``TreeRow`` tree, numbered in one flat list; an index carries the number.

    A folded row has its member layers for children. The invisible root is number -1.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._items: list[_Item] = []
        self._numbers: dict[str, int] = {}
        self._output_shapes: dict[str, str] = {}
        # Room for the bars, and for eyes.
        self._row_size = QSize(0, QFontMetrics(QGuiApplication.font()).height() + 7)

    def set_tree(self, tree: TreeRow | None) -> None:
        """Show another tree, without output shapes."""
        self.beginResetModel()
        self._items = []
        self._output_shapes = {}
        if tree is not None:
            self._add(tree, -1, 0)
        self._numbers = {item.row.key: number for number, item in enumerate(self._items)}
        self.endResetModel()

    def set_run(self, run: ActivationRun | None) -> None:
        """Show the output shapes of a run."""
        modules = () if run is None else run.modules
        shapes = {m.path: shape_text(m.output_shape) for m in modules}
        if shapes == self._output_shapes:
            return
        self._output_shapes = shapes
        for number, item in enumerate(self._items):
            if item.position == 0:
                last = len(self._siblings(item)) - 1
                top = self.createIndex(0, OUTPUT_SHAPE, number)
                bottom = self.createIndex(last, OUTPUT_SHAPE, self._siblings(item)[last])
                # Naming the role tells a proxy that its filter has nothing to do.
                self.dataChanged.emit(top, bottom, [Qt.ItemDataRole.DisplayRole])

    def texts(self, column: int) -> frozenset[str]:
        """Return all that a column shows in any row."""
        return frozenset(self._text(item.row, column) for item in self._items)

    def tree_row(self, index: Index) -> TreeRow | None:
        """Return the row behind an index, ``None`` for the invisible root."""
        return self._items[index.internalId()].row if index.isValid() else None

    def index_of(self, key: str) -> QModelIndex:
        """Return the index of the row with that key, an invalid one if there is none."""
        number = self._numbers.get(key)
        if number is None:
            return QModelIndex()
        return self.createIndex(self._items[number].position, MODULE, number)

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        """Return the index of a child; Qt calls it."""
        # Asked for thousands of times after a run: hasIndex() would take twice as long.
        children = () if parent.column() > 0 else self._children(parent)
        if not (0 <= row < len(children) and 0 <= column < COLUMNS):
            return QModelIndex()
        return self.createIndex(row, column, children[row])

    def parent(self, index: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]  # noqa: B008
        """Return the index of the row above; Qt calls it."""
        if not index.isValid():
            return QModelIndex()
        above = self._items[index.internalId()].parent
        return (
            QModelIndex() if above < 0 else self.createIndex(self._items[above].position, 0, above)
        )

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return how many children a row has; Qt calls it."""
        return 0 if parent.column() > 0 else len(self._children(parent))

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
            return alignment(section == PARAMETERS)
        # The title of a narrow column is cut.
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return None
        return (
            self.tr("Module"),
            self.tr("Class"),
            self.tr("Parameters"),
            self.tr("Share"),
            self.tr("Shape"),
            self.tr("Output shape"),
        )[section]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows; Qt calls it."""
        if not index.isValid():
            return None
        row, column = self._items[index.internalId()].row, index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(row, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return alignment(column == PARAMETERS)
        if role == Qt.ItemDataRole.ToolTipRole:
            # A narrow column shows a part of its text only.
            text = "" if column == MODULE else self._text(row, column)
            return plain_tip(text or row.key or row.label)
        if role == Qt.ItemDataRole.SizeHintRole and column == MODULE:
            return self._row_size
        if role == SHARE_ROLE:
            return row.share
        if role == FILTER_ROLE:
            return f"{row.key} {row.class_label}"
        return None

    def _text(self, row: TreeRow, column: int) -> str:
        if column == MODULE:
            return row.label
        if column == CLASS:
            return row.class_label
        if column == PARAMETERS:
            return f"{row.parameters:,}"
        if column == SHARE:
            return f"{row.share:.2%}"
        if column == SHAPE:
            return shape_text(row.shape)
        return self._output_shapes.get(row.node.path, "")

    def _add(self, row: TreeRow, parent: int, position: int) -> int:
        number = len(self._items)
        item = _Item(row, parent, position, [])
        self._items.append(item)
        for place, child in enumerate(row.members or row.children):
            item.children.append(self._add(child, number, place))
        return number

    def _children(self, parent: Index) -> list[int]:
        if parent.isValid():
            return self._items[parent.internalId()].children
        return [0] if self._items else []

    def _siblings(self, item: _Item) -> list[int]:
        return [0] if item.parent < 0 else self._items[item.parent].children
