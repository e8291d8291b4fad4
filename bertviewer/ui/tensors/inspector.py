"""Looks into one tensor: what it is, which part of it is wanted, and the views of that."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.heads import HeadLayout
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.tensors.axes import Axis, TokenIndex
from bertviewer.core.tensors.matrix import TensorPart
from bertviewer.core.tensors.values import NamedValues
from bertviewer.ui.jobs.requests import Request
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors.part_choice import PartChoice
from bertviewer.ui.tensors.subject import Subject
from bertviewer.ui.tensors.title import TensorTitle
from bertviewer.ui.tensors.views import TensorViews
from bertviewer.ui.tensors.worst_line import WorstLine
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.layouts import hbox, named, vbox


class Inspector(QWidget):
    """Shows a tensor once its values are found; ``closed`` tells that a person has had enough.

    No values are kept but the last ones.
    """

    closed = Signal()

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._subject: Subject | None = None
        self._is_new = False  # nothing of it has been shown yet
        self._wanted_token: int | None = None
        self._rows = Axis()  # what stands for a parameter's rows, once that is found
        self._values = Request[NamedValues | None](workspace.requests, self, needs_torch=False)
        self._tokens = Request[TokenIndex](workspace.requests, self)
        self._title = named(TensorTitle(workspace), "tensorTitle")
        self._parts = PartChoice()
        self._worst = WorstLine()
        self._views = TensorViews(workspace)
        self._below = hbox(margins=(16, 0, 8, 0))
        self._head = self._make_head()
        vbox(self._head, self._below, self._worst, (self._views, 1), parent=self, spacing=2)
        self._parts.changed.connect(self._on_part)
        self._parts.head_chosen.connect(
            lambda head: workspace.selection.go(SelectionKey(head=head))
        )
        token = self._parts.tokens.token_chosen
        token.connect(lambda place: workspace.selection.go(SelectionKey(token=place)))
        self._worst.wanted.connect(self._go_to_worst)
        self._values.finished.connect(self._on_values)
        self._values.late.connect(self._on_late)
        self._tokens.finished.connect(self._on_tokens)
        workspace.runs.run_changed.connect(self._on_run)
        workspace.weights_arrived.connect(self._look_again)
        workspace.selection.head_changed.connect(self._on_head)
        workspace.selection.token_changed.connect(self._on_token)
        workspace.architecture_changed.connect(self.forget)

    def show_subject(self, subject: Subject) -> None:
        """Look into a tensor, in the view that is chosen."""
        if self._subject is None or self._subject.key != subject.key:
            self._is_new = True
            self._rows = Axis()
            self._tokens.cancel()
        self._subject = subject
        if self._values.want(subject.key, subject.find):
            self._on_values()

    def show_waiting(self) -> None:
        """Show that what is wanted is still looked for."""
        self._subject = None
        self._values.cancel()
        self._on_late()

    def want_token(self, token: int | None) -> None:
        """Show a single token of the run in what comes next, if it has a row for it."""
        self._wanted_token = token

    def leave(self) -> None:
        """Want nothing more: the tab is out of sight, or no tensor is chosen."""
        for request in (self._values, self._tokens):
            request.cancel()
        self._views.leave()

    def forget(self) -> None:
        """Keep nothing: the model is another one."""
        self._subject = None
        self._title.show_name("")
        self._worst.show_worst(None)
        self._parts.show_head(self._workspace.selection.head)
        for request in (self._values, self._tokens):
            request.forget()
        self._views.forget()

    def _make_head(self) -> QHBoxLayout:
        close = flat_button("closeTensor", "×", self.tr("Close and show only the list of tensors"))
        close.setAccessibleName(self.tr("Close the tensor"))
        close.clicked.connect(self.closed)
        title, save = (self._title, 1), self._views.save_button
        return hbox(title, self._parts, save, close, margins=(16, 6, 8, 0))

    def _on_values(self) -> None:
        subject, found = self._subject, self._values.result
        architecture = self._workspace.architecture
        if subject is None or architecture is None or self._values.key != subject.key:
            return
        if found is None:
            self._say(self._values.error or self._why_not())
            return
        self._title.show_values(subject, found)
        layout = subject.heads(found.values.shape)
        self._parts.show_choices(found.values.shape, layout, _shared(layout, architecture))
        self._parts.tokens.show_rows(found.axes[0] if subject.watched else Axis())
        if subject.watched is not None:
            self._parts.tokens.choose(self._wanted_token)
            self._wanted_token = None
        self._parts.show_beside(tuple(found.interleaved))
        self._place_choices()
        self._worst.show_worst(found)
        is_new, self._is_new = self._is_new, False
        if is_new and self._tokens.key == subject.key:
            self._rows = Axis(self._tokens.result or TokenIndex(()))
        self._on_part()
        if is_new and found.worst is not None:
            self._go_to_worst()
        if subject.rows is not None:
            self._tokens.want(subject.key, subject.rows)

    def _place_choices(self) -> None:
        """Have one choice beside the title, and several below it: that has to be read first."""
        is_below = self._parts.count > 1
        if is_below == (self._below.indexOf(self._parts) >= 0):
            return
        (self._head if is_below else self._below).removeWidget(self._parts)
        if is_below:
            self._below.addWidget(self._parts)
            self._below.addStretch(1)
        else:
            self._below.takeAt(0)  # the stretch
            self._head.insertWidget(1, self._parts)

    def _on_tokens(self) -> None:
        if self._subject is not None and self._tokens.key == self._subject.key:
            self._rows = Axis(self._tokens.result or TokenIndex(()))
            self._on_part()

    def _on_part(self) -> None:
        """Show the chosen slice."""
        subject, found = self._subject, self._values.result
        if found is None or subject is None or self._values.key != subject.key:
            return
        rows, columns = found.axes if subject.rows is None else (self._rows, found.axes[1])
        beside = {title: self._parts.matrix(values) for title, values in found.interleaved.items()}
        matrix = beside.get(self._parts.compared) or self._parts.matrix(found.values)
        part = self._views.part
        if part is None or part.matrix != matrix or part.rows is not rows:
            part = TensorPart(matrix, rows, columns, beside, found.metadata)
        self._views.show_part(part)
        self._title.show_part(matrix.shape)

    def _go_to_worst(self) -> None:
        """Bring the element that differs the most into sight."""
        found = self._values.result
        if found is None or found.worst is None or self._views.part is None:
            return
        index = found.worst.index
        self._parts.show_index(index)
        matrix = self._views.part.matrix
        row, column = index[-2:] if len(index) > 1 else (*index, 0, 0)[:2]
        self._views.go_to(row - matrix.row_span[0], column - matrix.column_span[0])

    def _on_head(self) -> None:
        """Follow the head that the window has selected; what is out of sight wants nothing."""
        if self._parts.show_head(self._workspace.selection.head) and self.isVisible():
            self._on_part()

    def _on_token(self) -> None:
        """Follow the token that the window has selected, in the same way."""
        if self._parts.tokens.follow(self._workspace.selection.token) and self.isVisible():
            self._on_part()

    def _on_late(self) -> None:
        self._say(self.tr("Computing…"))

    def _on_run(self) -> None:
        """Keep nothing of a run that was replaced; who lists what there is shows the new one."""
        subject = self._subject
        if subject is not None and subject.watched not in (None, self._workspace.runs.watched):
            self.forget()
        else:
            self._look_again()

    def _look_again(self) -> None:
        """Look again where there was nothing: a run draws weights for a model without any."""
        if self._subject is not None and self._values.result is None:
            self._values.forget()
            if self.isVisible():
                self.show_subject(self._subject)

    def _say(self, words: str) -> None:
        self._title.show_name("" if self._subject is None else self._subject.name)
        self._worst.show_worst(None)
        self._views.say(words)

    def _why_not(self) -> str:
        return self.tr(
            "This model has no weights. Run a sentence with random weights to see the "
            "values that were drawn."
        )


def _shared(layout: HeadLayout | None, architecture: Architecture) -> int:
    """Return how many heads of the attention have one of a tensor's: keys may be shared."""
    count = architecture.config.get("num_attention_heads")
    if layout is None or not isinstance(count, int) or not layout.heads:
        return 1
    return max(1, count // layout.heads)
