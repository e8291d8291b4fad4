"""First page of the window: the start page, or the progress of opening a model."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QIcon, QPalette
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QStackedWidget, QWidget
from typing_extensions import override

from bertviewer.charts.theme import GRID, TITLE
from bertviewer.plots.fonts import sized, weighted
from bertviewer.ui.jobs.job_queue import JobQueue
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.welcome.question_runner import ModelOpener, QuestionRunner
from bertviewer.ui.widgets.labels import ElidedLabel
from bertviewer.ui.widgets.layouts import named, vbox
from bertviewer.ui.widgets.progress_bar import ProgressBar

if TYPE_CHECKING:
    from bertviewer.ui.welcome.start_page import StartPage

PROGRESS_WIDTH = 320


class WelcomePage(QStackedWidget):
    """The start page is created when it is first shown.

    ``left`` is emitted when the user wants to see the open model.
    """

    left = Signal()

    def __init__(
        self, workspace: Workspace, opener: ModelOpener, runner: QuestionRunner, icon: QIcon
    ) -> None:
        super().__init__()
        self.setObjectName("welcomePage")
        self._workspace = workspace
        self._opener, self._runner, self._icon = opener, runner, icon
        self._loading = LoadingPage(workspace.jobs)
        self._start: StartPage | None = None
        self._note = ""
        self._is_expecting = False
        self.opens_by_itself = False
        """Whether a model is opened at startup: if that fails, there is no dialog."""
        self.addWidget(self._loading)
        opener.began.connect(self._loading.set_name)
        workspace.jobs.activity_changed.connect(self._on_activity)
        runner.changed.connect(self._on_question)

    def expect(self, name: str, *, by_itself: bool = False) -> None:
        """Show that a model is being opened, before that starts."""
        self._is_expecting, self.opens_by_itself = True, by_itself
        self._loading.set_name(name)

    def say(self, text: str) -> None:
        """Show a note at the top of the start page, none for an empty text."""
        self._note = text
        if self._start is not None:
            self._start.show_note(text)

    @override
    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show:
            self._update()
        elif event.type() == QEvent.Type.Hide:
            self.opens_by_itself = False
        return super().event(event)

    def _on_activity(self) -> None:
        self._is_expecting = False
        if self._workspace.jobs.activity:
            self._update_visible()
        else:
            # An opened model is shown first, which hides this page.
            QTimer.singleShot(0, self, self._update_visible)

    def _update_visible(self) -> None:
        if self.isVisible():
            self._update()

    def _on_question(self) -> None:
        # Nothing else is emitted if the question's model is open already.
        if self._runner.is_of_open_model:
            self.left.emit()

    def _update(self) -> None:
        if self._is_expecting or self._workspace.jobs.activity:
            if self.isAncestorOf(QApplication.focusWidget() or self._loading):
                # Otherwise Cancel would get the focus, and the next key press.
                self.setFocus(Qt.FocusReason.OtherFocusReason)
            self.setCurrentWidget(self._loading)
            return
        if self._start is None:
            from bertviewer.ui.welcome.start_page import StartPage  # not needed with a model

            self._start = StartPage(self._opener, self._runner, self._icon)
            self._start.left.connect(self.left)
            self._start.show_note(self._note)
            self.addWidget(self._start)
        architecture = self._workspace.architecture
        self._start.show_open_model("" if architecture is None else architecture.source.name)
        self._start.show_recent()
        self.setCurrentWidget(self._start)


class LoadingPage(QWidget):
    """The name of the model that is being opened, the progress, and Cancel."""

    def __init__(self, jobs: JobQueue) -> None:
        super().__init__()
        self._jobs = jobs
        self._title = named(ElidedLabel(), "loadingTitle")
        self._title.setFont(weighted(sized(self._title.font(), TITLE)))
        self._title.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._text = named(QLabel(), "loadingLabel")
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._bar = named(ProgressBar(), "loadingBar", accessible_name=self.tr("Loading progress"))
        self._bar.setFixedSize(PROGRESS_WIDTH, GRID)
        tip = self.tr("Cancel opening (Ctrl+.)")
        self._cancel = named(QPushButton(self.tr("Cancel")), "loadingCancel", tooltip=tip)
        self._cancel.clicked.connect(jobs.cancel)
        center = Qt.AlignmentFlag.AlignHCenter
        parts = 2, self._title, (self._bar, center), self._text, (self._cancel, center), 3
        vbox(*parts, parent=self, margins=None, spacing=3 * GRID)
        jobs.activity_changed.connect(self._on_activity)
        jobs.progressed.connect(self._on_progress)
        self.set_name("")
        self._on_activity()

    def set_name(self, name: str) -> None:
        """Show a model's name."""
        text = self.tr("Opening {0}").format(name) if name else self.tr("Opening a model")
        self._title.setText(text)

    def _on_activity(self) -> None:
        self._bar.setRange(0, 0)
        self._text.setText(self.tr("Loading…"))
        self._cancel.setEnabled(bool(self._jobs.activity))

    def _on_progress(self, done: int, total: int, label: str) -> None:
        if self._jobs.activity:
            self._bar.setRange(0, total)
            self._bar.setValue(done)
            self._text.setText(f"{label}…")
