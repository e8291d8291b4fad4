"""Answers a question: opens its model, runs its sentence, and selects what answers it."""

from functools import partial
from typing import Protocol, TypeVar

from PySide6.QtCore import QObject, Qt, Signal, SignalInstance
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.plots.fonts import weighted
from bertviewer.ui.jobs.job_queue import Request
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.pages import PageTabs
from bertviewer.ui.welcome.questions import Answer, Question
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import hbox, named, vbox

Child = TypeVar("Child", bound=QObject)


class Window(Protocol):
    """What questions need of the main window."""

    def open_named(self, name: str) -> None: ...  # noqa: D102
    def set_sentence(self, text: str, pair: str | None) -> None: ...  # noqa: D102
    def run(self) -> None: ...  # noqa: D102
    def findChild(self, kind: type[Child], name: str) -> Child | None: ...  # noqa: D102


class ModelOpener(Protocol):
    """Opens models; ``began`` has a name, ``dragged`` whether a file is over the window."""

    @property
    def began(self) -> SignalInstance: ...  # noqa: D102
    @property
    def dragged(self) -> SignalInstance: ...  # noqa: D102
    def open_named(self, name: str) -> None: ...  # noqa: D102
    def open_recent(self, name: str) -> None: ...  # noqa: D102
    def choose_folder(self) -> None: ...  # noqa: D102
    def choose_file(self) -> None: ...  # noqa: D102
    def choose_hub(self) -> None: ...  # noqa: D102


class QuestionRunner(QObject):
    """One question at a time; ``changed`` is emitted for another question and for an answer.

    A question is dropped when another model or sentence is run, or when opening or running fails.
    """

    changed = Signal()

    def __init__(self, workspace: Workspace, window: Window, parent: QObject) -> None:
        super().__init__(parent)
        self.question: Question | None = None
        self.answer = ""
        """The answer or why there is none; empty until it is found."""
        self._is_run = False
        self._workspace = workspace
        self._window = window
        self._request = Request[Answer](workspace.jobs, self)
        self._request.finished.connect(self._on_finished)
        workspace.architecture_changed.connect(self._on_architecture)
        workspace.runs.run_changed.connect(self._on_run)
        workspace.jobs.activity_changed.connect(self._on_activity)

    @property
    def is_of_open_model(self) -> bool:
        """Whether there is a question about the open model."""
        return self.question is not None and self._is_open(self.question)

    def ask(self, question: Question) -> None:
        """Answer a question."""
        self._request.forget()
        self.question, self.answer, self._is_run = question, "", False
        self.changed.emit()
        if self._is_open(question):
            self._run(question)
        else:
            self._window.open_named(question.model)

    def dismiss(self) -> None:
        """Drop the question; the selection stays."""
        self._request.forget()
        self.question, self.answer = None, ""
        self.changed.emit()

    def _is_open(self, question: Question) -> bool:
        source = self._workspace.source
        return source is not None and (source.name, source.task.name) == (question.model, "base")

    def _run(self, question: Question) -> None:
        self._window.set_sentence(question.sentence.text, question.sentence.pair)
        self._is_run = True
        self._window.run()

    def _on_architecture(self) -> None:
        question = self.question
        if question is None:
            return
        if not self._is_open(question):
            self.dismiss()
        elif not self._is_run:
            self._workspace.deferred.add(partial(self._run, question))

    def _on_run(self) -> None:
        question, recorded = self.question, self._workspace.runs.current
        if question is None or recorded is None:
            return
        if recorded.run.sentence != question.sentence:
            self.dismiss()
            return
        views = self._window.findChild(PageTabs, "runViews")
        if views is not None:
            views.bring(question.view)
        for name in question.buttons:
            button = self._window.findChild(QAbstractButton, name)
            if button is not None and not button.isChecked():
                button.click()
        self._request.want(
            recorded, lambda model, progress: question.find(model, recorded, progress)
        )

    def _on_activity(self) -> None:
        if self.question is not None and not self._workspace.jobs.activity:
            # Later: an activity ends before its result is delivered.
            self._workspace.deferred.add(self._drop_failed)

    def _drop_failed(self) -> None:
        """Drop the question if opening or running has failed."""
        question, recorded = self.question, self._workspace.runs.current
        if question is None or self._workspace.jobs.activity:
            return
        has_run = recorded is not None and recorded.run.sentence == question.sentence
        if not has_run and (self._is_run or not self._is_open(question)):
            self.dismiss()

    def _on_finished(self) -> None:
        found, question = self._request.result, self.question
        if found is None or question is None:
            self.answer = self._request.error or translate("questions", "No answer was found.")
        else:
            self.answer = found.text
            for name, data in question.choices:
                box = self._window.findChild(QComboBox, name)
                if box is not None:
                    box.setCurrentIndex(max(box.findData(data), 0))
            self._workspace.selection.go(found.place)
        self.changed.emit()


class AnswerBar(QWidget):
    """The question and its answer, above the views, until it is closed or dropped."""

    def __init__(self, runner: QuestionRunner) -> None:
        super().__init__()
        self.setObjectName("answerBar")
        self._runner = runner
        self._question = named(QLabel(), "askedQuestion")
        self._question.setTextFormat(Qt.TextFormat.PlainText)
        self._question.setFont(weighted(self._question.font()))
        self._answer = named(plain_label(""), "givenAnswer")
        close = flat_button("closeAnswer", "✕", self.tr("Close the answer"))
        close.clicked.connect(runner.dismiss)
        self.setBackgroundRole(QPalette.ColorRole.Highlight)
        self.setAutoFillBackground(True)
        texts = vbox(self._question, self._answer, spacing=0)
        margins = 4 * GRID, 2 * GRID, 2 * GRID, 2 * GRID
        hbox((texts, 1), (close, Qt.AlignmentFlag.AlignTop), parent=self, margins=margins)
        runner.changed.connect(self._update)
        self._update()

    def _update(self) -> None:
        question = self._runner.question
        self.setVisible(question is not None)
        if question is not None:
            self._question.setText(translate("questions", question.title))
            self._answer.setText(self._runner.answer or self.tr("Looking…"))
