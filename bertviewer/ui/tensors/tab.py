"""The tensors of the selected node, and a look into one of them."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QWidget

from bertviewer.charts.labels import tensors_text
from bertviewer.core.schema.activation_run import TensorKey
from bertviewer.core.schema.check import CheckStep
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.util.numbers import count_text
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors import subject
from bertviewer.ui.tensors.inspector import Inspector
from bertviewer.ui.tensors.preference import Wish, place_of, wish_of
from bertviewer.ui.tensors.recorded_tensor_list import SeenList
from bertviewer.ui.tensors.tensor_table import Group, Listed, TensorTableModel
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import ResponsiveSplitter, hbox, vbox
from bertviewer.ui.widgets.tables import make_sortable, make_table

LIST, TENSOR = 10_000, 15_000
"""How the list and the open tensor share the tab."""
WIDEST = 260
"""Pixels of a column of the list."""
MEASURED = 20
"""Rows above and below those in sight that a column has room for."""
NARROW = 37
"""Lines of text are as high as a tab is wide in which they stand below one another."""


class TensorsTab(QWidget):
    """A table of the tensors in and below the node, in the order of ``named_parameters()``.

    After a run it has what the module took and gave, and what was checked of it. One of them is
    shown beside the list: the one that a person chose, in another module the one of the same name;
    else the largest that the checkpoint has. Who closes it has the list alone.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._prefix = ""
        self._wish: Wish = None
        self._is_closed = self._is_choosing = False
        self._seen = SeenList(workspace, self)
        self._model = TensorTableModel(self)
        self._summary = plain_label("")
        self._table = make_table(self._model, "tensorTable", self.tr("Tensors of the module"))
        self._table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        make_sortable(self._table)
        # Names are told apart by their ends.
        self._table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._table.horizontalHeader().setMaximumSectionSize(WIDEST)
        self._table.horizontalHeader().setResizeContentsPrecision(MEASURED)
        self._inspector = Inspector(workspace)
        self._inspector.hide()
        head = hbox((self._summary, 1), self._seen.choice, margins=(16, 10, 8, 4))
        listed = QWidget()
        vbox(head, (self._table, 1), parent=listed, spacing=0)
        self._sides = ResponsiveSplitter(listed, self._inspector, (LIST, TENSOR), NARROW)
        vbox(self._sides, parent=self)
        self._table.selectionModel().currentRowChanged.connect(self._on_current)
        self._inspector.closed.connect(self._on_closed)
        self._seen.changed.connect(self.refresh)
        self._seen.late.connect(self._on_late)
        workspace.architecture_changed.connect(self._forget)
        workspace.tensor_wanted.connect(self._on_name_wanted)
        workspace.values_wanted.connect(self._on_wanted)
        workspace.runs.check_changed.connect(self._on_check)

    def refresh(self) -> None:
        """List the tensors of the selected row."""
        row, architecture = self._workspace.selection.row, self._workspace.architecture
        if row is None or architecture is None:
            return
        path = row.node.path
        tensors = architecture.tensors_below(path)
        self._prefix = f"{path}." if path else ""
        self._seen.show_module(path)
        groups = [Group(self.tr("Parameters"), tensors), *self._of_run(path)]
        self._is_choosing = True  # what is listed anew is not what a person chose
        self._model.set_groups(
            groups if any(group.listed for group in groups[1:]) else groups[:1],
            self._prefix,
            architecture.source,
        )
        self._is_choosing = False
        self._table.clearSpans()
        for place in range(self._model.rowCount()):
            if self._model.listed(place) is None:
                self._table.setSpan(place, 0, 1, self._model.columnCount())
        words = self._text(row, tensors), self._seen.why
        self._summary.setText(" ".join(filter(None, words)))
        # What can be done is said where it is not seen.
        is_there = self._model.rowCount() > 0
        self._table.setToolTip(self.tr("Select a tensor to inspect it") if is_there else "")
        self._choose()

    def hideEvent(self, event: QHideEvent) -> None:
        """Want nothing more while out of sight; Qt calls it."""
        super().hideEvent(event)
        self._inspector.leave()
        self._seen.cancel()

    def showEvent(self, event: QShowEvent) -> None:
        """Go on where the tab was left; Qt calls it."""
        super().showEvent(event)
        if self._model.rowCount():
            self._seen.show_module(self._seen.path)
        self._choose()

    def _of_run(self, path: str) -> tuple[Group, ...]:
        """Return what the last run had of a module, and what was checked of it."""
        took, gave = (
            tuple(one for one in self._seen.tensors if one.key.side == side)
            for side in ("input", "output")
        )
        check = self._workspace.runs.checks.get(path)
        return (
            Group(self.tr("Inputs"), took),
            Group(self.tr("Output"), gave),
            Group(self.tr("Verified: given, recomputed, difference"), check.steps if check else ()),
        )

    def _text(self, row: TreeRow, tensors: Sequence[TensorInfo]) -> str:
        if not tensors:
            return self.tr("{0} has no parameters.").format(row.class_label)
        elements = count_text(row.node.parameters, self.tr("1 element"), self.tr("{0} elements"))
        text = f"{tensors_text(tensors)}, {elements}"
        if row.is_folded:
            text += self.tr(" in each of the {0} layers; layer {1} is shown").format(
                len(row.members), row.node.name
            )
        return text

    def _choose(self) -> None:
        """Select what a person chose, or else the tensor that says most."""
        listed = [self._model.listed(row) for row in range(self._model.rowCount())]
        place = place_of(self._wish, listed, self._prefix)
        if place is None and isinstance(self._wish, TensorKey) and self._seen.is_waiting:
            return  # it is on its way
        if place is None:
            place = None if self._is_closed else self._usual()
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

    def _usual(self) -> int | None:
        """Return the row of the tensor to begin with, ``None`` where there is nothing to see."""
        architecture = self._workspace.architecture
        has_values = architecture is not None and architecture.source.weights != "none"
        largest = self._model.largest() if has_values else None
        given = next((seen for seen in self._seen.tensors if seen.key.side == "output"), None)
        return self._model.place(given) if largest is None and given is not None else largest

    def _on_name_wanted(self, name: str) -> None:
        self._on_wanted(name.removeprefix(self._prefix))

    def _on_wanted(self, wish: Wish, token: int | None = None) -> None:
        self._wish, self._is_closed = wish, False
        self._inspector.want_token(token)
        self._choose()

    def _on_late(self) -> None:
        """Show nothing of another module while this one's tensors are looked for."""
        if isinstance(self._wish, TensorKey):
            self._inspector.show_waiting()

    def _on_check(self) -> None:
        if self.isVisible():
            self.refresh()

    def _on_current(self, index: QModelIndex) -> None:
        listed = self._model.listed(index.row())
        found = None if listed is None else self._subject(listed)
        if listed is None or found is None:
            return
        if not self._is_choosing:
            self._wish, self._is_closed = wish_of(listed, self._prefix), False
        is_new = self._inspector.isHidden()
        self._inspector.show()
        if is_new:
            self._sides.reset_sizes()
            self._table.scrollTo(index)
        if self.isVisible():
            self._inspector.show_subject(found)

    def _subject(self, listed: Listed) -> subject.Subject | None:
        """Return what a row is of as something to look into."""
        architecture, watched = self._workspace.architecture, self._workspace.runs.watched
        if architecture is None:
            return None
        if isinstance(listed, TensorInfo):
            return subject.of_parameter(listed, architecture)
        if watched is None:
            return None
        if isinstance(listed, CheckStep):
            return subject.of_step(listed, watched, architecture)
        make = partial(subject.of_run, listed, watched, self._seen.path, self._seen.call)
        return make(architecture)

    def _on_closed(self) -> None:
        self._wish, self._is_closed = None, True
        self._leave()

    def _forget(self) -> None:
        """Choose anew: the model is another one."""
        self._wish, self._is_closed = None, False
        self._seen.forget()
        self._leave()

    def _leave(self) -> None:
        """Have nothing but the list."""
        self._table.clearSelection()
        self._table.selectionModel().clearCurrentIndex()
        self._inspector.leave()
        self._inspector.hide()
