"""What people ask about the view in sight, with the known answers and this run's own numbers."""

from collections.abc import Callable
from functools import partial

from PySide6.QtWidgets import QToolButton

from bertviewer.core.explain.explanation import Answer
from bertviewer.ui.jobs.requests import Request
from bertviewer.ui.run import jobs
from bertviewer.ui.run.view import InSight
from bertviewer.ui.run.why_page import WhyPage
from bertviewer.ui.state.workspace import Workspace


class WhyButton(QToolButton):
    """Opens a card beside itself, and closes it; ``in_sight`` says what there is to explain."""

    def __init__(self, workspace: Workspace, in_sight: Callable[[], InSight]) -> None:
        super().__init__()
        self._workspace = workspace
        self._in_sight = in_sight
        self._page: WhyPage | None = None
        self._request = Request[tuple[Answer, ...]](workspace.requests, self, needs_torch=False)
        self._request.finished.connect(self._on_finished)
        self.setObjectName("whyButton")
        self.setText(self.tr("Why?"))
        self.setAutoRaise(True)
        self.setAccessibleName(self.tr("Why do I see this?"))
        self.setToolTip(self.tr("Common questions about this view, with answers"))
        self._wanted = ""  # the question that is opened, the first one for an empty name
        self.clicked.connect(self._ask)
        workspace.question_wanted.connect(self._show_question)
        # It keeps its place, so that what is next to it never moves.
        policy = self.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.setSizePolicy(policy)
        workspace.runs.run_changed.connect(self.follow)

    def follow(self) -> None:
        """Be there where the view in sight has questions; what was told is of another one."""
        self.setVisible(self._in_sight().has_questions)
        if self._page is not None:
            self._page.dismiss()

    def _show_question(self, view: str, name: str) -> None:
        if view and view == self._in_sight().title:
            if self._page is not None:
                self._page.dismiss()
            self._wanted = name
            self._ask()

    def _ask(self) -> None:
        architecture, run = self._workspace.architecture, self._workspace.runs.run
        if self._page is not None and self._page.isVisible():
            self._page.dismiss()
            return
        if architecture is None or run is None:
            return
        if self._page is None:
            self._page = WhyPage(self._workspace, self)
        self._page.open()
        sight = self._in_sight()
        work = partial(jobs.explain_job, sight, architecture, run)
        # What is looked up by is compared by whether it is the same.
        if self._request.want((sight.title, sight.state, id(sight.maps), id(run)), work):
            self._on_finished()

    def _on_finished(self) -> None:
        if self._page is not None and self._page.isVisible():
            self._page.show_answers(
                self._request.result or (), self._request.error, opened=self._wanted
            )
            self._wanted = ""
