"""Tab with the tensors of the selected module, and an inspector for one of them."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QComboBox, QWidget
from typing_extensions import override

from bertviewer.charts.labels import tensors_text
from bertviewer.core.replay.recorded_run import FROM_FILE, RecordedRun
from bertviewer.core.schema.activation_run import ModuleTensor, TensorKey
from bertviewer.core.schema.check import CheckStep
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.progress import Progress
from bertviewer.ui.jobs.job_queue import Request
from bertviewer.ui.state.pages import PageSubject, RecordedValues
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors.inspector import Inspector
from bertviewer.ui.tensors.subject import (
    Listed,
    Preference,
    Subject,
    parameter_subject,
    preference_for,
    preferred_row,
    run_subject,
    step_subject,
)
from bertviewer.ui.tensors.tensor_list import Group, TensorListModel
from bertviewer.ui.views.choice_box import offer
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import ResponsiveSplitter, hbox, named, vbox
from bertviewer.ui.widgets.tables import make_sortable, make_table

if TYPE_CHECKING:
    from bertviewer.core.loading.loaded_model import LoadedModel

Recorded = tuple[ModuleTensor, ...]

SHARES = 10_000, 15_000  # of the list and the inspector
MAX_COLUMN = 260  # pixels of a column of the list
MEASURED_ROWS = 20  # above and below the visible ones, for the widths of columns
NARROW = 37  # text lines: in a narrower tab the inspector is below the list


class TensorsTab(QWidget):
    """List of the parameters in and below a module and, after a run, its inputs and outputs.

    The inspector shows the chosen tensor, in another module the one of the same name, and else the
    largest parameter of the checkpoint. After the user has closed it, the list is alone.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._preference: Preference = None
        self._is_closed = self._is_choosing = False
        self._path = ""
        self._list_request = Request[Recorded](workspace.jobs, self, needs_torch=False)
        self._calls = named(
            QComboBox(),
            "callChoice",
            accessible_name=self.tr("Module call"),
            tooltip=self.tr("Call to show (the run called this module several times)"),
        )
        self._calls.hide()
        self._model = TensorListModel(self)
        self._summary = plain_label("")
        self._table = make_table(self._model, "tensorTable", self.tr("Tensors of the module"))
        self._table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        make_sortable(self._table)
        self._table.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # names differ at their ends
        self._table.horizontalHeader().setMaximumSectionSize(MAX_COLUMN)
        self._table.horizontalHeader().setResizeContentsPrecision(MEASURED_ROWS)
        self._inspector = Inspector(workspace)
        self._inspector.hide()
        head = hbox((self._summary, 1), self._calls, margins=(16, 10, 8, 4))
        listed = QWidget()
        vbox(head, (self._table, 1), parent=listed, spacing=0)
        self._sides = ResponsiveSplitter(listed, self._inspector, SHARES, NARROW)
        vbox(self._sides, parent=self)
        self._table.selectionModel().currentRowChanged.connect(self._on_current)
        self._inspector.closed.connect(self._on_closed)
        self._calls.currentIndexChanged.connect(self.refresh)
        self._list_request.finished.connect(self.refresh)
        self._list_request.late.connect(self._on_late)
        workspace.runs.run_changed.connect(self._list_request.forget)
        workspace.architecture_changed.connect(self._clear)
        workspace.runs.check_changed.connect(self._on_check)

    def refresh(self) -> None:
        """List the tensors of the selected module."""
        row, architecture = self._workspace.selection.row, self._workspace.architecture
        if row is None or architecture is None:
            return
        self._path = row.node.path
        tensors = architecture.tensors_below(self._path)
        reason = self._request_recorded()
        groups = [Group(self.tr("Parameters"), tensors)]
        of_run = self._run_groups()
        if any(group.listed for group in of_run):
            groups += of_run
        self._is_choosing = True
        self._model.set_groups(groups, self._prefix, architecture.source)
        self._is_choosing = False
        self._table.clearSpans()
        for number, listed in enumerate(self._model.listed):
            if listed is None:
                self._table.setSpan(number, 0, 1, self._model.columnCount())
        texts = self._summary_text(row, tensors), reason
        self._summary.setText(" ".join(filter(None, texts)))
        has_rows = self._model.rowCount() > 0
        self._table.setToolTip(self.tr("Select a tensor to inspect it") if has_rows else "")
        self._choose()

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._inspector.cancel()
        self._list_request.cancel()

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._model.rowCount():
            self._request_recorded()
        self._choose()

    @property
    def _prefix(self) -> str:
        """Start of the names of the module's parameters."""
        return f"{self._path}." if self._path else ""

    @property
    def _call(self) -> int:
        """The chosen call of the module in the last run, counted from 0."""
        return max(0, self._calls.currentIndex())

    @property
    def _recorded_key(self) -> object:
        return self._workspace.runs.current, self._path, self._call

    @property
    def _recorded_tensors(self) -> Recorded:
        """Inputs and outputs of the call, as far as they are known."""
        is_current = self._list_request.key == self._recorded_key
        return (self._list_request.result or ()) if is_current else ()

    def _request_recorded(self) -> str:
        """Request the inputs and outputs of the module; return why there are none."""
        recorded = self._workspace.runs.current
        activation = None if recorded is None else recorded.run.activation(self._path)
        calls = 0 if activation is None else len(activation.calls)
        title = self.tr("call {0} of {1}")
        offer(self._calls, ((title.format(n, calls), n) for n in range(calls)))
        self._calls.setVisible(calls > 1)
        if recorded is None or recorded.capture is None or activation is None:
            self._list_request.cancel()
            if recorded is None:
                return ""
            not_called = self.tr("The last run did not call this module, or it returned no tensor.")
            return FROM_FILE if recorded.capture is None else not_called
        work = partial(_list_tensors, recorded, self._path, self._call)
        return self._list_request.error if self._list_request.want(self._recorded_key, work) else ""

    def _run_groups(self) -> list[Group]:
        """Return a module's inputs and outputs in the last run, and the steps of its check."""
        inputs, outputs = (
            tuple(each for each in self._recorded_tensors if each.key.side == side)
            for side in ("input", "output")
        )
        check = self._workspace.runs.checks.get(self._path)
        return [
            Group(self.tr("Inputs"), inputs),
            Group(self.tr("Output"), outputs),
            Group(self.tr("Verified: given, recomputed, difference"), check.steps if check else ()),
        ]

    def _summary_text(self, row: TreeRow, tensors: Sequence[TensorInfo]) -> str:
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
        """Select the preferred tensor, or else the default one."""
        listed = self._model.listed
        number = preferred_row(self._preference, listed, self._prefix)
        if (
            number is None
            and isinstance(self._preference, TensorKey)
            and self._list_request.is_waiting
        ):
            return
        if number is None and not self._is_closed:
            default = self._default()
            number = None if default is None else listed.index(default)
        if number is None:
            self._close_inspector()
            return
        index = self._model.index(number, 0)
        self._is_choosing = True
        if self._table.currentIndex().row() != number:
            self._table.setCurrentIndex(index)
        else:
            self._on_current(index)
        self._is_choosing = False

    def _default(self) -> Listed | None:
        """Return the largest parameter, without weights the output; ``None`` if there is none."""
        architecture = self._workspace.architecture
        has_values = architecture is not None and architecture.source.weights != "none"
        outputs = (each for each in self._recorded_tensors if each.key.side == "output")
        return (self._model.largest() if has_values else None) or next(outputs, None)

    def show_subject(self, subject: PageSubject) -> None:
        """Show a tensor of the selected module by its name, or values of the last run."""
        if isinstance(subject, RecordedValues):
            self._preference = subject.values
            self._inspector.prefer_token(subject.token)
        elif isinstance(subject, str):
            self._preference = subject.removeprefix(self._prefix)
            self._inspector.prefer_token(None)
        self._is_closed = False
        self._choose()

    def _on_late(self) -> None:
        """Show nothing of another module while this one's tensors are listed."""
        if isinstance(self._preference, TensorKey):
            self._inspector.show_waiting()

    def _on_check(self) -> None:
        if self.isVisible():
            self.refresh()

    def _on_current(self, index: QModelIndex) -> None:
        listed = self._model.listed[index.row()] if index.isValid() else None
        subject = None if listed is None else self._subject(listed)
        if listed is None or subject is None:
            return
        if not self._is_choosing:  # by the user
            self._preference, self._is_closed = preference_for(listed, self._prefix), False
        is_new = self._inspector.isHidden()
        self._inspector.show()
        if is_new:
            self._sides.reset_sizes()
            self._table.scrollTo(index)
        if self.isVisible():
            self._inspector.show_subject(subject)

    def _subject(self, listed: Listed) -> Subject | None:
        architecture, recorded = self._workspace.architecture, self._workspace.runs.current
        if architecture is None:
            return None
        if isinstance(listed, TensorInfo):
            return parameter_subject(listed, architecture)
        if recorded is None:
            return None
        if isinstance(listed, CheckStep):
            return step_subject(listed, recorded, architecture)
        return run_subject(listed, recorded, self._path, self._call, architecture)

    def _on_closed(self) -> None:
        self._preference, self._is_closed = None, True
        self._close_inspector()

    def _clear(self) -> None:
        """Forget the preference, as the model is another one."""
        self._preference, self._is_closed = None, False
        self._list_request.forget()
        self._close_inspector()

    def _close_inspector(self) -> None:
        self._table.clearSelection()
        self._table.selectionModel().clearCurrentIndex()
        self._inspector.cancel()
        self._inspector.hide()


def _list_tensors(
    recorded: RecordedRun, path: str, call: int, model: "LoadedModel", progress: Progress
) -> Recorded:
    # Replaying imports torch, which the worker does when it is needed.
    from bertviewer.core.replay.module_tensors import list_tensors

    return list_tensors(recorded.cached(model), path, progress, call=call)
