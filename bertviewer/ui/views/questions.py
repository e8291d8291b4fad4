"""Common questions as links; each opens its answer, with its source, below it."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget
from typing_extensions import override

from bertviewer.charts.theme import GRID, SMALL
from bertviewer.core.explain.explanation import Answer
from bertviewer.plots.fonts import sized
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.links import RichLabel
from bertviewer.ui.widgets.buttons import LinkButton
from bertviewer.ui.widgets.labels import muted_label, plain_tooltip
from bertviewer.ui.widgets.layouts import named, vbox


class QuestionLink(LinkButton):
    """A question as a link whose text is wrapped."""

    alignment = LinkButton.alignment | int(Qt.TextFlag.TextWordWrap)
    spacing = GRID

    def __init__(self, name: str) -> None:
        super().__init__(f"question-{name}")
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setMinimumWidth(1)

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int) -> int:
        metrics = self.fontMetrics()
        room = metrics.boundingRect(0, 0, max(width, 1), 10_000, self.alignment, self.text())
        return room.height() + self.spacing


class Questions(QWidget):
    """A column of questions, each with its answer once that is opened.

    Opened answers stay open when a run gives them new numbers. ``resized`` is emitted when the
    needed height changes.
    """

    resized = Signal()

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._rows: dict[str, _Question] = {}
        self._layout = vbox(parent=self, spacing=0)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the explanations, in order."""
        return tuple(self._rows)

    def show_answers(self, answers: Sequence[Answer]) -> None:
        """Show these answers instead of the previous ones."""
        wanted = {answer.name: answer for answer in answers}
        for name in [name for name in self._rows if name not in wanted]:
            row = self._rows.pop(name)
            self._layout.removeWidget(row)
            row.hide()
            row.deleteLater()
        rows = {}
        for place, (name, answer) in enumerate(wanted.items()):
            row = self._rows.get(name) or _Question(name, self._workspace, self)
            if name not in self._rows:
                row.toggled.connect(self.resized)
            if self._layout.indexOf(row) != place:
                self._layout.insertWidget(place, row)
            row.show_answer(answer)
            row.show()
            rows[name] = row
        self._rows = rows

    def open(self, name: str) -> QWidget | None:
        """Open the answer of an explanation and return its row, ``None`` if it is not shown."""
        row = self._rows.get(name)
        if row is not None:
            row.open()
        return row

    def focus_first(self) -> None:
        """Set the focus on the first question."""
        for row in list(self._rows.values())[:1]:
            row.link.setFocus(Qt.FocusReason.TabFocusReason)


class _Question(QWidget):
    toggled = Signal()

    def __init__(self, name: str, workspace: Workspace, parent: QWidget) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.link = QuestionLink(name)
        self._answer: RichLabel | None = None
        self._source: QLabel | None = None
        self._shown: Answer | None = None
        self._layout = vbox(self.link, parent=self, spacing=0)
        self.link.toggled.connect(self._on_toggled)

    def open(self) -> None:
        self.link.setChecked(True)

    def show_answer(self, answer: Answer) -> None:
        self._shown = answer
        self.link.setText(answer.question)
        self.link.setAccessibleName(answer.question)
        self.link.updateGeometry()
        self.link.setToolTip(self.tr("Show or hide the answer (Enter)"))
        if self._answer is not None:
            self._write()

    def _on_toggled(self, is_open: bool) -> None:
        if self._answer is None:
            self._answer = named(RichLabel("", self._workspace), f"{self.link.objectName()}-answer")
            self._source = muted_label("")
            self._source.setFont(sized(self._source.font(), SMALL))
            self._source.setContentsMargins(0, 0, 0, 2 * GRID)
            self._source.setMinimumWidth(1)
            self._layout.addWidget(self._answer)
            self._layout.addWidget(self._source)
            self._write()
        assert self._source is not None
        self._answer.setVisible(is_open)
        self._source.setVisible(is_open and bool(self._source.text()))
        self.toggled.emit()

    def _write(self) -> None:
        answer = self._shown
        assert answer is not None
        assert self._answer is not None
        assert self._source is not None
        self._answer.show_text("\n".join(filter(None, (answer.text, answer.measured))))
        self._source.setText(answer.source)
        self._source.setToolTip(
            plain_tooltip("\n".join(f"{one.text} {one.link}" for one in answer.references))
        )
