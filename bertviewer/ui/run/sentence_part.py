"""What is found out of a whole sentence by running it again: in words, and in a table."""

from collections.abc import Hashable
from typing import Generic, TypeVar

from PySide6.QtWidgets import QSizePolicy, QWidget

from bertviewer.charts.table import DataTable
from bertviewer.ui.jobs.recorded_run import FROM_FILE, RecordedRun
from bertviewer.ui.jobs.requests import ModelWork, Request
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.figure_view import FigureView
from bertviewer.ui.widgets.labels import muted_label
from bertviewer.ui.widgets.layouts import named

Found = TypeVar("Found")


class SentencePart(QWidget, Generic[Found]):
    """Words, and below them a table where there is something to show.

    A subclass puts ``words`` and ``table`` into its layout, and says in ``told()`` what is shown of
    what was found, and in ``waiting`` what is told until then.
    """

    waiting = ""

    def __init__(self, workspace: Workspace, words: str, table: str, says: str) -> None:
        super().__init__()
        self.workspace = workspace
        self.words = named(muted_label(""), words)
        self.table = FigureView(workspace, table, says)
        self._request = Request[Found](workspace.requests, self)
        self._request.finished.connect(self._show)
        self._request.late.connect(lambda: self.say(self.waiting))
        policy = self.table.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # the words stay where they are
        policy.setVerticalPolicy(QSizePolicy.Policy.Ignored)  # and have what room they need
        self.table.setSizePolicy(policy)

    def told(self, found: Found) -> tuple[str, DataTable]:
        """Return what is said of what was found, and its figures."""
        raise NotImplementedError

    def want(
        self, key: Hashable, work: ModelWork[Found], watched: RecordedRun, why_not: str = ""
    ) -> None:
        """Have it found of a run, or say why it cannot be."""
        why_not = why_not or (FROM_FILE if watched.capture is None else "")
        is_known = self._request.refuse(key, why_not) if why_not else self._request.want(key, work)
        if is_known:
            self._show()

    def leave(self, words: str) -> None:
        """Want nothing more, and say why there is nothing."""
        self._request.cancel()
        self.say(words)

    def say(self, words: str) -> None:
        """Show nothing but words."""
        self.words.setText(words)
        self.table.hide()

    def _show(self) -> None:
        found = self._request.result
        if found is None:
            self.say(self._request.error)
            return
        words, table = self.told(found)
        self.words.setText(words)
        self.table.show_table(table)
        self.table.show()
