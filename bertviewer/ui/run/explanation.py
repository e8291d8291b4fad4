"""Button that explains the view in sight, and its popup of common questions with answers."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QToolButton, QWidget
from typing_extensions import override

from bertviewer.charts.theme import GRID
from bertviewer.core.explain.explanation import Answer
from bertviewer.ui.jobs.job_queue import Request
from bertviewer.ui.run import jobs
from bertviewer.ui.run.run_view import EXPLAINED, ViewTopic
from bertviewer.ui.state.pages import Page, PageSubject, Question
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.questions import Questions
from bertviewer.ui.widgets.card import CardPopup, contains
from bertviewer.ui.widgets.labels import blank_page, muted_label
from bertviewer.ui.widgets.layouts import STRETCH, named, scroll_area, vbox

WIDTH, MAX_HEIGHT = 420, 460  # pixels


class ExplainButton(QToolButton):
    """Opens and closes the popup; ``topic`` returns what the view in sight shows."""

    def __init__(self, workspace: Workspace, topic: Callable[[], ViewTopic]) -> None:
        super().__init__()
        self._workspace = workspace
        self._topic = topic
        self._popup: ExplanationPopup | None = None
        self._request = Request[tuple[Answer, ...]](workspace.jobs, self, needs_torch=False)
        self._request.finished.connect(self._on_finished)
        self.setObjectName("whyButton")
        self.setText(self.tr("Why?"))
        self.setAutoRaise(True)
        self.setAccessibleName(self.tr("Why do I see this?"))
        self.setToolTip(self.tr("Common questions about this view, with answers"))
        self._opened = ""  # the question to open, "" for the first one
        self.clicked.connect(self._toggle)
        workspace.page_requested.connect(self._on_page_requested)
        # It keeps its room, so that its neighbours never move.
        policy = self.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.setSizePolicy(policy)
        workspace.runs.run_changed.connect(self.follow)

    def follow(self) -> None:
        """Show the button if there are questions about the view in sight, and close the popup."""
        self.setVisible(self._topic().title in EXPLAINED)
        if self._popup is not None:
            self._popup.dismiss()

    def _on_page_requested(self, page: Page, subject: PageSubject | None) -> None:
        if isinstance(subject, Question) and page == self._topic().title:
            if self._popup is not None:
                self._popup.dismiss()
            self._opened = subject.name
            self._toggle()

    def _toggle(self) -> None:
        architecture, run = self._workspace.architecture, self._workspace.runs.run
        if self._popup is not None and self._popup.isVisible():
            self._popup.dismiss()
            return
        if architecture is None or run is None:
            return
        if self._popup is None:
            self._popup = ExplanationPopup(self._workspace, self)
        self._popup.open()
        topic = self._topic()
        work = partial(jobs.answers_job, topic, architecture, run)
        shown = topic.title, topic.state, id(topic.maps), id(topic.predictions), id(run)
        if self._request.want(shown, work):
            self._on_finished()

    def _on_finished(self) -> None:
        if self._popup is not None and self._popup.isVisible():
            answers = self._request.result or ()
            self._popup.show_answers(answers, self._request.error, opened=self._opened)
            self._opened = ""


class ExplanationPopup(CardPopup):
    """Questions and answers next to a button; Escape or a click elsewhere closes it."""

    def __init__(self, workspace: Workspace, button: QWidget) -> None:
        super().__init__(button.window())
        self._button = button
        self.setObjectName("whyPage")
        self.setAccessibleName(button.accessibleName())
        self._questions = Questions(workspace)
        self._questions.resized.connect(self.fit)
        self._message = named(muted_label(""), "whyWords")
        inside = blank_page()
        self._rows = vbox(
            self._message,
            self._questions,
            STRETCH,
            parent=inside,
            margins=(3 * GRID, 2 * GRID, 3 * GRID, 2 * GRID),
        )
        scroll = scroll_area(inside)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        vbox(scroll, parent=self, margins=(2, GRID, 2, GRID))

    def open(self) -> None:
        """Show the popup before its answers are known."""
        self._questions.show_answers(())
        self._message.setText(self.tr("Analysing this run…"))
        self._message.show()
        window = self._button.window()
        if self.parentWidget() is not window:  # the dock was floated or docked again
            self.setParent(window)
        self.fit()
        self.show_popup()

    def show_answers(self, answers: tuple[Answer, ...], error: str, *, opened: str = "") -> None:
        """Show answers or an error, with the answer ``opened`` or else the first one open."""
        no_question = self.tr("None of the common questions about this view applies to this run.")
        self._message.setText(error or no_question)
        self._message.setVisible(not answers)
        self._questions.show_answers(answers)
        if answers:
            exists = any(answer.name == opened for answer in answers)
            self._questions.open(opened if exists else answers[0].name)
            self._questions.focus_first()
        self.fit()

    def dismiss(self, *, restores_focus: bool = False) -> None:
        """Close the popup."""
        if self.isHidden():
            return
        self.hide_popup()
        if restores_focus:
            self._button.setFocus(Qt.FocusReason.PopupFocusReason)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss(restores_focus=True)
        else:
            super().keyPressEvent(event)

    @override
    def contains_click(self, position: QPoint) -> bool:
        # A click on the button closes the popup by itself.
        return super().contains_click(position) or contains(self._button, position)

    def fit(self) -> None:
        """Fit the height to the content, above or below the button."""
        window = self._button.window()
        width = min(WIDTH, window.width() - 2 * GRID)
        self._rows.activate()
        needed = self._rows.heightForWidth(width - 4) + 2 * GRID
        top = self._button.mapTo(window, QPoint(0, 0)).y()
        below = top + self._button.height()
        is_above = top > window.height() - below
        room = top if is_above else window.height() - below
        height = min(needed, MAX_HEIGHT, max(room - 2 * GRID, 1))
        right = self._button.mapTo(window, QPoint(self._button.width(), 0)).x()
        left = max(GRID, min(right, window.width() - GRID) - width)
        self.setGeometry(left, top - height - GRID if is_above else below + GRID, width, height)
