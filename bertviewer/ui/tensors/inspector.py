"""Looks into one tensor: what it is, which part of it is wanted, and the views of that."""

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from bertviewer.charts.place import Place
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.tensor_info import TensorInfo
from bertviewer.core.tensors.heads import HeadLayout, head_layout
from bertviewer.core.tensors.token_index import TokenIndex
from bertviewer.core.tensors.values import TensorValues
from bertviewer.ui.background.requests import Request
from bertviewer.ui.tensors import jobs
from bertviewer.ui.tensors.part_choice import PartChoice
from bertviewer.ui.tensors.tensor_part import TensorPart
from bertviewer.ui.tensors.title import TensorTitle
from bertviewer.ui.tensors.views import TensorViews
from bertviewer.ui.workspace import Workspace

NO_TOKENS = TokenIndex(())


class Inspector(QWidget):
    """Shows a tensor once its values are found; ``closed`` tells that a person has had enough."""

    closed = Signal()

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._tensor: TensorInfo | None = None
        self._values = Request[TensorValues | None](workspace.requests, self, needs_torch=False)
        self._tokens = Request[TokenIndex](workspace.requests, self)
        self._title = TensorTitle()
        self._title.setObjectName("tensorTitle")
        self._parts = PartChoice()
        self._views = TensorViews(workspace)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(self._make_head())
        layout.addWidget(self._views, 1)
        self._parts.changed.connect(self._on_part)
        self._parts.head_chosen.connect(lambda head: workspace.selection.go(Place(head=head)))
        self._values.finished.connect(self._on_values)
        self._values.late.connect(self._on_late)
        self._tokens.finished.connect(self._on_part)
        workspace.runs.run_changed.connect(self._on_run)
        workspace.weights_arrived.connect(self._on_run)
        workspace.selection.head_changed.connect(self._on_head)
        workspace.architecture_changed.connect(self.forget)

    def show_tensor(self, tensor: TensorInfo) -> None:
        """Look into a tensor, in the view that is chosen."""
        architecture = self._workspace.architecture
        is_same = self._tensor is not None and self._tensor.name == tensor.name
        self._tensor = tensor
        if architecture is None:
            return
        if not is_same:
            self._tokens.cancel()
            layout = head_layout(architecture, tensor)
            self._parts.show_choices(tensor.shape, layout, _shared(layout, architecture))
        if self._values.want(tensor.name, partial(jobs.tensor_values_job, tensor.name)):
            self._on_values()

    def leave(self) -> None:
        """Want nothing more: the tab is out of sight, or no tensor is chosen."""
        for request in (self._values, self._tokens):
            request.cancel()
        self._views.leave()

    def forget(self) -> None:
        """Keep nothing: the model is another one."""
        self._tensor = None
        self._title.show_name("")
        self._parts.show_head(self._workspace.selection.head)
        for request in (self._values, self._tokens):
            request.forget()
        self._views.forget()

    def _make_head(self) -> QHBoxLayout:
        close = QToolButton()
        close.setObjectName("closeTensor")
        close.setText("×")
        close.setAutoRaise(True)
        close.setToolTip(self.tr("Close: only the list of tensors is left"))
        close.setAccessibleName(self.tr("Close the tensor"))
        close.clicked.connect(self.closed)
        line = QHBoxLayout()
        line.setContentsMargins(16, 6, 8, 0)
        line.addWidget(self._title, 1)
        line.addWidget(self._parts)
        line.addWidget(self._views.save_button)
        line.addWidget(close)
        return line

    def _on_values(self) -> None:
        tensor, values = self._tensor, self._values.result
        if tensor is None:
            return
        if values is None:
            self._say(self._values.error or self._why_not())
            return
        self._title.show_values(values)
        self._on_part()
        self._tokens.want(tensor.name, partial(jobs.token_rows_job, tensor))

    def _on_part(self) -> None:
        """Show the chosen slice."""
        values = self._values.result
        if values is None or self._tensor is None or self._values.key != self._tensor.name:
            return
        known = self._tokens.result if self._tokens.key == self._tensor.name else None
        tokens = NO_TOKENS if known is None else known
        matrix = self._parts.matrix(values)
        part = self._views.part
        if part is None or part.matrix != matrix or part.tokens is not tokens:
            part = TensorPart(matrix, tokens)
        self._views.show_part(part)

    def _on_head(self) -> None:
        """Follow the head that the window has selected; what is out of sight wants nothing."""
        if self._parts.show_head(self._workspace.selection.head) and self.isVisible():
            self._on_part()

    def _on_late(self) -> None:
        self._say(self.tr("Computing…"))

    def _on_run(self) -> None:
        """Look again where there was nothing: a run draws weights for a model without any."""
        if self._tensor is not None and self._values.result is None:
            self._values.forget()
            if self.isVisible():
                self.show_tensor(self._tensor)

    def _say(self, words: str) -> None:
        self._title.show_name("" if self._tensor is None else self._tensor.name)
        self._views.say(words)

    def _why_not(self) -> str:
        return self.tr(
            "This model has no weights. Run a sentence with random weights, and the values that "
            "were drawn are shown here."
        )


def _shared(layout: HeadLayout | None, architecture: Architecture) -> int:
    """Return how many heads of the attention have one of a tensor's: keys may be shared."""
    count = architecture.config.get("num_attention_heads")
    if layout is None or not isinstance(count, int) or not layout.heads:
        return 1
    return max(1, count // layout.heads)
