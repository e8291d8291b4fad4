"""The tensors in the selected node, and a look into one of them."""

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QLabel, QVBoxLayout, QWidget

from bertviewer.core.architecture.folding import TreeRow
from bertviewer.core.text.numerals import count_text
from bertviewer.ui.labels import plain_label
from bertviewer.ui.tables import make_sortable, make_table
from bertviewer.ui.tensors.inspector import Inspector
from bertviewer.ui.tensors.tensor_table import TensorTableModel
from bertviewer.ui.turning_splitter import TurningSplitter
from bertviewer.ui.workspace import Workspace

LIST, TENSOR = 10_000, 15_000
"""How the list and the open tensor share the tab."""
WIDEST = 260
"""Pixels of a column of the list."""
NARROW = 37
"""Lines of text are as high as a tab is wide in which they stand below one another."""


class TensorsTab(QWidget):
    """A table of the tensors in and below the node, in the order of ``named_parameters()``.

    One of them is shown beside the list: the one that a person chose, in another layer the tensor
    of the same name; else the largest that the checkpoint has. Who closes it has the list alone.
    """

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._prefix = ""
        self._chosen = ""  # the name in its module of the tensor that a person chose
        self._is_closed = self._is_choosing = False
        self._model = TensorTableModel(self)
        self._summary: QLabel = plain_label("")
        self._summary.setContentsMargins(16, 10, 16, 4)
        self._table = make_table(self._model, "tensorTable", self.tr("Tensors of the module"))
        self._table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        make_sortable(self._table)
        # Names are told apart by their ends.
        self._table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._table.horizontalHeader().setMaximumSectionSize(WIDEST)
        self._inspector = Inspector(workspace)
        self._inspector.hide()
        listed = QWidget()
        layout = QVBoxLayout(listed)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._summary)
        layout.addWidget(self._table, 1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        self._sides = TurningSplitter(listed, self._inspector, (LIST, TENSOR), NARROW)
        outer.addWidget(self._sides)
        self._table.selectionModel().currentRowChanged.connect(self._on_current)
        self._inspector.closed.connect(self._on_closed)
        workspace.architecture_changed.connect(self._forget)
        workspace.tensor_wanted.connect(self._on_wanted)

    def refresh(self) -> None:
        """List the tensors of the selected row."""
        row, architecture = self._workspace.selection.row, self._workspace.architecture
        if row is None or architecture is None:
            return
        path = row.node.path
        tensors = architecture.tensors_below(path)
        self._prefix = f"{path}." if path else ""
        self._model.set_tensors(tensors, self._prefix, architecture.source.random_tensors)
        self._summary.setText(self._text(row, len(tensors)))
        # What can be done is said where it is not seen.
        self._table.setToolTip(self.tr("Choose a tensor to look into it") if tensors else "")
        self._choose(self._chosen)

    def hideEvent(self, event: QHideEvent) -> None:
        """Want nothing more while out of sight; Qt calls it."""
        super().hideEvent(event)
        self._inspector.leave()

    def showEvent(self, event: QShowEvent) -> None:
        """Go on where the tab was left; Qt calls it."""
        super().showEvent(event)
        self._choose(self._chosen)

    def _text(self, row: TreeRow, count: int) -> str:
        if not count:
            return self.tr("{0} has no tensors: nothing in it is learnt.").format(row.class_label)
        tensors = count_text(count, self.tr("1 tensor"), self.tr("{0} tensors"))
        elements = count_text(row.node.parameters, self.tr("1 element"), self.tr("{0} elements"))
        text = f"{tensors}, {elements}"
        if row.is_folded:
            text += self.tr(" in each of the {0} layers; those of layer {1} are shown").format(
                len(row.members), row.node.name
            )
        return text

    def _choose(self, name: str) -> None:
        """Select the tensor of that name in the module, or the one that says most."""
        place = self._model.place(self._prefix + name) if name else None
        if place is None:
            place = None if self._is_closed else self._largest()
        if place is None:
            self._leave()
            return
        index = self._model.index(place, 0)
        self._is_choosing = True
        if self._table.currentIndex().row() != place:
            self._table.setCurrentIndex(index)
        else:
            self._on_current(index)
        self._is_choosing = False

    def _largest(self) -> int | None:
        """Return the row of the tensor to begin with, ``None`` where there is nothing to see."""
        architecture = self._workspace.architecture
        has_values = architecture is not None and architecture.source.weights != "none"
        return self._model.largest() if has_values else None

    def _on_wanted(self, name: str) -> None:
        self._chosen, self._is_closed = name.removeprefix(self._prefix), False
        self._choose(self._chosen)

    def _on_current(self, index: QModelIndex) -> None:
        tensor = self._model.tensor(index.row())
        if tensor is None:
            return
        if not self._is_choosing:
            self._chosen, self._is_closed = tensor.name.removeprefix(self._prefix), False
        is_new = self._inspector.isHidden()
        self._inspector.show()
        if is_new:
            self._sides.share()
            self._table.scrollTo(index)
        if self.isVisible():
            self._inspector.show_tensor(tensor)

    def _on_closed(self) -> None:
        self._chosen, self._is_closed = "", True
        self._leave()

    def _forget(self) -> None:
        """Choose anew: the model is another one."""
        self._chosen, self._is_closed = "", False
        self._leave()

    def _leave(self) -> None:
        """Have nothing but the list."""
        self._table.clearSelection()
        self._table.selectionModel().clearCurrentIndex()
        self._inspector.leave()
        self._inspector.hide()
