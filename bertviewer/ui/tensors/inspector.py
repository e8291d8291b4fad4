"""Inspector of one tensor: its title, the choice of a slice, and its views."""

from math import prod

from PySide6.QtCore import Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QHBoxLayout, QWidget

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.tensor_charts import position_text
from bertviewer.charts.theme import GRID
from bertviewer.core.analysis.heads import HeadLayout
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.tensors.axes import Axis, TokenIndex
from bertviewer.core.tensors.matrix import TensorPart
from bertviewer.core.tensors.values import NamedValues
from bertviewer.core.util.numbers import number_text
from bertviewer.core.util.text import isolated
from bertviewer.ui.jobs.job_queue import Request
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors.part_choice import PartChoice
from bertviewer.ui.tensors.subject import Subject
from bertviewer.ui.tensors.views import TensorViews
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.views.staleness import why_stale
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import MAX_TOOLTIP, ElidedLabel, plain_label, plain_tooltip
from bertviewer.ui.widgets.layouts import STRETCH, hbox, named, vbox


class TensorTitle(ElidedLabel):
    """Name, shape, dtype and origin of a tensor; its full name and file are in the tooltip."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._shown: tuple[Subject, NamedValues] | None = None
        self._part: tuple[int, ...] = ()
        for signal in (
            workspace.run_input.changed,
            workspace.device_chosen,
            workspace.devices_changed,
        ):
            signal.connect(self._update)

    def show_name(self, name: str) -> None:
        """Show only a name, as there are no values."""
        self._shown = None
        self.setText(name)
        self.setToolTip("")
        self.setForegroundRole(QPalette.ColorRole.WindowText)

    def show_values(self, subject: Subject, found: NamedValues) -> None:
        """Show the name and the origin of values."""
        self._shown, self._part = (subject, found), ()
        self._update()

    def show_part(self, shape: tuple[int, ...]) -> None:
        """Show the shape of the chosen slice too, if it is smaller than the tensor."""
        if shape != self._part:
            self._part = shape
            self._update()

    def _update(self) -> None:
        if self._shown is None:
            return
        subject, found = self._shown
        values, origin, recorded = found.values, found.values.origin, subject.recorded
        shape = shape_text(values.shape)
        if self._part and prod(self._part) != prod(values.shape):
            shape = self.tr("{0} of {1}").format(shape_text(self._part), shape)
        stale = ""
        if recorded is not None:
            stale = why_stale(recorded.run, self._workspace.run_input, self._workspace.device)
        # What must not be elided comes first.
        texts = [stale, self.tr("Random weights") if origin.is_random else ""]
        texts += [subject.title, f"{shape}  {values.dtype}"]
        if origin.file is not None:
            texts.append(self.tr("from {0}").format(origin.file.name))
        self.setText(" · ".join(filter(None, texts)))
        is_doubtful = origin.is_random or bool(stale)
        self.setForegroundRole(WARNING if is_doubtful else QPalette.ColorRole.WindowText)
        lines = [subject.name]
        if origin.file is not None:
            lines.append(str(origin.file))
            if origin.key != values.name:
                lines.append(self.tr("stored as {0}").format(origin.key))
        elif recorded is None:
            lines.append(self.tr("initialised randomly, not read from a checkpoint"))
        else:
            sentence = isolated(recorded.run.sentence.text[:MAX_TOOLTIP])
            lines.append(self.tr("from the run of “{0}”").format(sentence))
            if origin.is_random:
                lines.append(self.tr("random weights: values are not meaningful"))
        self.setToolTip(plain_tooltip("\n".join(lines)))


class LargestDifference(QWidget):
    """The largest difference found by a check; ``clicked`` on the button that goes there."""

    clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._text = named(plain_label(""), "largestDifferenceText")
        tooltip = self.tr("Go to the element with the largest difference")
        button = flat_button("largestDifference", self.tr("Go to element"), tooltip)
        button.clicked.connect(self.clicked)
        hbox((self._text, 1), button, parent=self, margins=(4 * GRID, 0, 2 * GRID, 0))
        self.hide()

    def show_values(self, found: NamedValues | None) -> None:
        """Show where and how large it is; hide for values without a check."""
        worst = None if found is None else found.worst
        self.setVisible(worst is not None)
        if found is None or worst is None:
            self._text.clear()
            return
        element = filter(None, (shape_text(worst.index), position_text(worst.index, found.axes)))
        text = self.tr("Max difference {0} at {1}, tolerance {2}").format(
            number_text(abs(worst.difference), 3),
            " ".join(element),
            number_text(worst.tolerance, 3),
        )
        self._text.setText(text)


class Inspector(QWidget):
    """Requests the values of a subject and shows them; ``closed`` by the user.

    Only the values of the last subject are kept.
    """

    closed = Signal()

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._subject: Subject | None = None
        self._is_new = False  # the subject has not been shown yet
        self._preferred_token: int | None = None
        self._rows = Axis()  # of a parameter, once it is known
        self._values = Request[NamedValues | None](workspace.jobs, self, needs_torch=False)
        self._tokens = Request[TokenIndex](workspace.jobs, self)
        self._title = named(TensorTitle(workspace), "tensorTitle")
        self._parts = PartChoice()
        self._difference = LargestDifference()
        self._views = TensorViews(workspace)
        self._second_line = hbox(margins=(16, 0, 8, 0))
        self._head = self._make_head()
        lines = self._head, self._second_line, self._difference
        vbox(*lines, (self._views, 1), parent=self, spacing=2)
        self._parts.changed.connect(self._on_part)
        self._parts.head_chosen.connect(
            lambda head: workspace.selection.go(SelectionKey(head=head))
        )
        token_chosen = self._parts.tokens.token_chosen
        token_chosen.connect(lambda token: workspace.selection.go(SelectionKey(token=token)))
        self._difference.clicked.connect(self._go_to_difference)
        self._values.finished.connect(self._on_values)
        self._values.late.connect(self._on_late)
        self._tokens.finished.connect(self._on_tokens)
        workspace.runs.run_changed.connect(self._on_run)
        workspace.weights_arrived.connect(self._retry)
        workspace.selection.head_changed.connect(self._on_head)
        workspace.selection.token_changed.connect(self._on_token)
        workspace.architecture_changed.connect(self.clear)

    def show_subject(self, subject: Subject) -> None:
        """Show a tensor in the chosen view."""
        if self._subject is None or self._subject.key != subject.key:
            self._is_new = True
            self._rows = Axis()
            self._tokens.cancel()
        self._subject = subject
        if self._values.want(subject.key, subject.find):
            self._on_values()

    def show_waiting(self) -> None:
        """Show that it is not known yet which tensors there are."""
        self._subject = None
        self._values.cancel()
        self._on_late()

    def prefer_token(self, token: int | None) -> None:
        """Show only the row of a token in the next subject, if it has one."""
        self._preferred_token = token

    def cancel(self) -> None:
        """Cancel all requests, as the inspector is hidden."""
        for request in (self._values, self._tokens):
            request.cancel()
        self._views.cancel()

    def clear(self) -> None:
        """Forget everything, as the model is another one."""
        self._subject = None
        self._title.show_name("")
        self._difference.show_values(None)
        self._parts.show_head(self._workspace.selection.head)
        for request in (self._values, self._tokens):
            request.forget()
        self._views.clear()

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
            no_weights = self.tr(
                "This model has no weights. Run a sentence with random weights to see the "
                "values that were drawn."
            )
            self._show_message(self._values.error or no_weights)
            return
        self._title.show_values(subject, found)
        shape = found.values.shape
        layout = subject.heads(shape)
        self._parts.show_choices(shape, layout, _group_size(layout, architecture))
        self._parts.tokens.show_rows(found.axes[0] if subject.recorded else Axis())
        if subject.recorded is not None:
            self._parts.tokens.choose(self._preferred_token)
            self._preferred_token = None
        self._parts.show_compared(tuple(found.interleaved))
        self._place_choices()
        self._difference.show_values(found)
        is_new, self._is_new = self._is_new, False
        if is_new and self._tokens.key == subject.key:
            self._rows = Axis(self._tokens.result or TokenIndex(()))
        self._on_part()
        if is_new and found.worst is not None:
            self._go_to_difference()
        if subject.rows is not None:
            self._tokens.want(subject.key, subject.rows)

    def _place_choices(self) -> None:
        """Put one choice next to the title, several below it, where they leave room for it."""
        is_below = self._parts.count > 1
        if is_below == (self._second_line.indexOf(self._parts) >= 0):
            return
        (self._head if is_below else self._second_line).removeWidget(self._parts)
        if is_below:
            self._second_line.addWidget(self._parts)
            self._second_line.addStretch(STRETCH)
        else:
            self._second_line.takeAt(0)  # the stretch
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
        compared = {
            title: self._parts.matrix(values) for title, values in found.interleaved.items()
        }
        matrix = compared.get(self._parts.compared) or self._parts.matrix(found.values)
        part = self._views.part
        if part is None or part.matrix != matrix or part.rows is not rows:
            part = TensorPart(matrix, rows, columns, compared, found.metadata)
        self._views.show_part(part)
        self._title.show_part(matrix.shape)

    def _go_to_difference(self) -> None:
        """Scroll to the element with the largest difference."""
        found = self._values.result
        if found is None or found.worst is None or self._views.part is None:
            return
        index = found.worst.index
        self._parts.show_index(index)
        matrix = self._views.part.matrix
        row, column = index[-2:] if len(index) > 1 else (*index, 0, 0)[:2]
        self._views.go_to(row - matrix.row_span[0], column - matrix.column_span[0])

    def _on_head(self) -> None:
        if self._parts.show_head(self._workspace.selection.head) and self.isVisible():
            self._on_part()

    def _on_token(self) -> None:
        if self._parts.tokens.follow(self._workspace.selection.token) and self.isVisible():
            self._on_part()

    def _on_late(self) -> None:
        self._show_message(self.tr("Computing…"))

    def _on_run(self) -> None:
        """Forget a subject of an earlier run."""
        subject = self._subject
        if subject is not None and subject.recorded not in (None, self._workspace.runs.current):
            self.clear()
        else:
            self._retry()

    def _retry(self) -> None:
        """Request values again that did not exist: a run draws weights for a model without any."""
        if self._subject is not None and self._values.result is None:
            self._values.forget()
            if self.isVisible():
                self.show_subject(self._subject)

    def _show_message(self, text: str) -> None:
        self._title.show_name("" if self._subject is None else self._subject.name)
        self._difference.show_values(None)
        self._views.show_message(text)


def _group_size(layout: HeadLayout | None, architecture: Architecture) -> int:
    """Return how many attention heads share a head of the tensor, as in grouped-query attention."""
    count = architecture.config.get("num_attention_heads")
    if layout is None or not isinstance(count, int) or not layout.heads:
        return 1
    return max(1, count // layout.heads)
