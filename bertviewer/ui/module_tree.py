"""The folded module tree as a model for Qt's views."""

from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QObject,
    QSize,
    Qt,
)
from PySide6.QtGui import QFontMetrics, QGuiApplication

from bertviewer.charts.theme import ROW
from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.architecture.folding import TreeRow
from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.system.garbage import no_search_for_garbage
from bertviewer.ui.tables import Index, alignment
from bertviewer.ui.tips import plain_tip

COLUMNS = 6
MODULE, CLASS, PARAMETERS, SHARE, SHAPE, OUTPUT_SHAPE = range(COLUMNS)

SHARE_ROLE = Qt.ItemDataRole.UserRole


@dataclass(slots=True)
class _Item:
    """A row in the flattened tree: its place, and the numbers of the rows around it.

    ``position`` and ``children`` are about the rows that the filter leaves.
    """

    row: TreeRow
    key: str
    parent: int
    filter_text: str
    position: int = -1
    children: list[int] = field(default_factory=list)


class ModuleTreeModel(QAbstractItemModel):
    """Rows of a ``TreeRow`` tree, numbered in one flat list; an index carries the number.

    A folded row has its member layers for children. The invisible root is number -1. A filter
    leaves the rows whose path or class has a text in it, and all rows above them. A view is told
    that all is new: thousands of rows that come and go one by one would take it minutes.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._items: list[_Item] = []
        self._top: list[int] = []
        self._numbers: dict[str, int] = {}
        self._looks: dict[tuple[object, ...], TreeRow] = {}  # one row of all that look the same
        self._output_shapes: dict[str, str] = {}
        # Large letters need more than the usual row.
        self._row_size = QSize(0, max(ROW, QFontMetrics(QGuiApplication.font()).height() + 7))

    @no_search_for_garbage()
    def set_tree(self, tree: TreeRow | None) -> None:
        """Show another tree, without a filter and without output shapes."""
        self.beginResetModel()
        self._items = []
        self._looks = {}
        self._output_shapes = {}
        if tree is not None:
            self._add(tree, -1)
        self._numbers = {item.key: number for number, item in enumerate(self._items)}
        self._arrange("")
        self.endResetModel()

    def set_filter(self, text: str) -> None:
        """Show the rows with this text in their paths or classes alone; all for an empty one."""
        self.beginResetModel()
        self._arrange(text.casefold())
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
                siblings = self._below(item.parent)
                top = self.createIndex(0, OUTPUT_SHAPE, number)
                bottom = self.createIndex(len(siblings) - 1, OUTPUT_SHAPE, siblings[-1])
                self.dataChanged.emit(top, bottom, [Qt.ItemDataRole.DisplayRole])

    def texts(self, column: int) -> frozenset[str]:
        """Return all that a column shows in any row; not for the first one, of names."""
        if column == OUTPUT_SHAPE:
            return frozenset(self._output_shapes.values())
        return frozenset(self._text(row, column) for row in self._looks.values())

    def tree_row(self, index: Index) -> TreeRow | None:
        """Return the row behind an index, ``None`` for the invisible root."""
        return self._items[index.internalId()].row if index.isValid() else None

    def index_of(self, key: str) -> QModelIndex:
        """Return the index of the row with that key, an invalid one if it is not shown."""
        number = self._numbers.get(key)
        if number is None or self._items[number].position < 0:
            return QModelIndex()
        return self.createIndex(self._items[number].position, MODULE, number)

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
        above = self._items[index.internalId()].parent
        return (
            QModelIndex() if above < 0 else self.createIndex(self._items[above].position, 0, above)
        )

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

    def _add(self, row: TreeRow, parent: int) -> None:
        number, key, class_label = len(self._items), row.key, row.class_label
        self._items.append(_Item(row, key, parent, f"{key} {class_label}".casefold()))
        self._looks.setdefault((class_label, row.parameters, row.share, row.shape), row)
        for child in row.members or row.children:
            self._add(child, number)

    def _arrange(self, text: str) -> None:
        """Put the rows with the text in them into their places, and those above them."""
        shown = [text in item.filter_text for item in self._items]
        # Rows stand after the ones that they are below.
        for number in range(len(self._items) - 1, 0, -1):
            if shown[number]:
                shown[self._items[number].parent] = True
        self._top = []
        for number, item in enumerate(self._items):
            item.position, item.children = -1, []
            if shown[number]:
                siblings = self._below(item.parent)
                item.position = len(siblings)
                siblings.append(number)

    def _children(self, parent: Index) -> list[int]:
        column = parent.column()  # -1 for the invisible root
        if column == 0:
            return self._items[parent.internalId()].children
        return self._top if column < 0 else []

    def _below(self, number: int) -> list[int]:
        return self._top if number < 0 else self._items[number].children
