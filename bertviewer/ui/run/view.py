"""What all views of a run share."""

from PySide6.QtWidgets import QWidget

from bertviewer.charts.comparison import Partners
from bertviewer.core.analysis.alignment import align
from bertviewer.ui.run.in_sight import InSight
from bertviewer.ui.workspace import Workspace


class View(QWidget):
    """A view of the last run, and of run A where there is one.

    A subclass shows them in ``refresh()``, which is called while the view is in sight and what it
    shows has changed, also before there is a run. What takes long to compute, it requests.
    """

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.workspace = workspace

    def refresh(self) -> None:
        """Show the present state."""
        raise NotImplementedError

    def in_sight(self, title: str) -> InSight:
        """Return what the view, which has this title, shows: what an explanation is about."""
        return InSight(title)

    def partners(self, rows: bool = False, columns: bool = True) -> Partners:
        """Return which tokens of run A and of the last run are the same."""
        a, b = self.workspace.runs.watched_a, self.workspace.runs.run
        pairs = align(a.run.tokens, b.tokens) if a is not None and b is not None else ()
        return Partners(pairs, pairs if rows else None, pairs if columns else None)
