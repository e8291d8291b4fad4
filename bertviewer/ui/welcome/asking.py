"""Asks a question: opens its model, runs its sentence, finds the answer and selects it."""

from functools import partial
from typing import Protocol, TypeVar

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QAbstractButton, QComboBox

from bertviewer.ui.jobs.requests import Request
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.pages import PageTabs
from bertviewer.ui.welcome.answers import Answer
from bertviewer.ui.welcome.questions import Question

Child = TypeVar("Child", bound=QObject)


class Asks(Protocol):
    """What questions are carried out with: the main window."""

    def open_named(self, name: str) -> None: ...  # noqa: D102
    def set_sentence(self, text: str, pair: str | None) -> None: ...  # noqa: D102
    def run(self) -> None: ...  # noqa: D102
    def findChild(self, kind: type[Child], name: str) -> Child | None: ...  # noqa: D102


class Asking(QObject):
    """One question at a time. ``changed`` says that there is another one, or an answer."""

    changed = Signal()

    def __init__(self, workspace: Workspace, window: Asks, parent: QObject) -> None:
        super().__init__(parent)
        self.question: Question | None = None
        self.answer = ""
        """What was found, or why nothing was; empty as long as it is looked for."""
        self._is_run = False  # its sentence
        self._workspace = workspace
        self._window = window
        self._request = Request[Answer](workspace.requests, self)
        self._request.finished.connect(self._on_finished)
        workspace.architecture_changed.connect(self._on_architecture)
        workspace.runs.run_changed.connect(self._on_run)
        workspace.scheduler.activity_changed.connect(self._on_activity)

    @property
    def is_of_open_model(self) -> bool:
        """Whether there is a question, and the open model answers it."""
        return self.question is not None and self._has_model(self.question)

    def ask(self, question: Question) -> None:
        """Answer this one."""
        self._request.forget()
        self.question, self.answer, self._is_run = question, "", False
        self.changed.emit()
        if self._has_model(question):
            self._run(question)
        else:
            self._window.open_named(question.model)

    def dismiss(self) -> None:
        """Have no question any more; what it selected stays."""
        self._request.forget()
        self.question, self.answer = None, ""
        self.changed.emit()

    def _has_model(self, question: Question) -> bool:
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
        if not self._has_model(question):
            self.dismiss()
        elif not self._is_run:
            self._workspace.draw_queue.later(partial(self._run, question))

    def _on_run(self) -> None:
        question, watched = self.question, self._workspace.runs.watched
        if question is None or watched is None:
            return
        if watched.run.sentence != question.sentence:
            self.dismiss()
            return
        views = self._window.findChild(PageTabs, "runViews")
        if views is not None:
            views.bring(question.view)
        for name in question.presses:
            button = self._window.findChild(QAbstractButton, name)
            if button is not None and not button.isChecked():
                button.click()
        self._request.want(watched, lambda model, progress: question.find(model, watched, progress))

    def _choose(self) -> None:
        """Have the view show the measure that the answer is about."""
        for name, data in () if self.question is None else self.question.chooses:
            choice = self._window.findChild(QComboBox, name)
            if choice is not None:
                choice.setCurrentIndex(max(choice.findData(data), 0))

    def _on_activity(self) -> None:
        if self.question is not None and not self._workspace.scheduler.activity:
            # Later: an activity has ended before its result is taken.
            self._workspace.draw_queue.later(self._give_up)

    def _give_up(self) -> None:
        """Have no question any more where opening or running came to nothing."""
        question, watched = self.question, self._workspace.runs.watched
        if question is None or self._workspace.scheduler.activity:
            return
        has_run = watched is not None and watched.run.sentence == question.sentence
        if not has_run and (self._is_run or not self._has_model(question)):
            self.dismiss()

    def _on_finished(self) -> None:
        found = self._request.result
        if found is None:
            self.answer = self._request.error or translate("questions", "No answer was found.")
        else:
            self.answer = found.text
            self._choose()
            self._workspace.selection.go(found.place)
        self.changed.emit()
