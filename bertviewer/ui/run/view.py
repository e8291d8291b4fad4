"""What all views of a run share."""

from collections.abc import Callable
from typing import Any

from PySide6.QtWidgets import QWidget

from bertviewer.core.analysis.alignment import align
from bertviewer.plots.theme import PlotTheme
from bertviewer.ui.charts.arrangement import Partners
from bertviewer.ui.charts.chart_panel import ChartPanel
from bertviewer.ui.watched_run import Task, WatchedRun
from bertviewer.ui.workspace import Workspace


class View(QWidget):
    """A view of the last run, and of run A where there is one.

    A subclass shows them in ``refresh()``, which is called while the view is in sight and what it
    shows has changed; there is a run then. What it takes long to compute, it looks for.
    """

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.workspace = workspace

    @property
    def looks(self) -> tuple[str, str]:
        """The names of the wishes for B and for A."""
        name = type(self).__name__
        return f"{name} B", f"{name} A"

    def refresh(self) -> None:
        """Show the present state."""
        raise NotImplementedError

    def set_theme(self, theme: PlotTheme) -> None:
        """Draw all charts in other colours."""
        for panel in self.findChildren(ChartPanel):
            panel.set_theme(theme)

    def leave(self) -> None:
        """Wish for nothing more: the view is out of sight."""
        for name in self.looks:
            self.workspace.forget_look(name)

    def partners(self, rows: bool = False, columns: bool = True) -> Partners:
        """Return which tokens of run A and of the last run are the same."""
        a, b = self.workspace.kept, self.workspace.run
        pairs = align(a.run.tokens, b.tokens) if a is not None and b is not None else ()
        return Partners(pairs, pairs if rows else None, pairs if columns else None)

    def look_at_both(
        self,
        task: Task,
        done: Callable[[Any, Any], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        """Have something computed of B and of A, and call ``done`` with both results, or None."""
        watched, kept = self.workspace.watched, self.workspace.kept
        if watched is None:
            return
        found: dict[str, Any] = {}
        wanted = {"B": watched} | ({} if kept is None else {"A": kept})

        def take(which: str, result: Any) -> None:
            found[which] = result
            if len(found) == len(wanted):
                done(found["B"], found.get("A"))

        def ask(name: str, which: str, run: WatchedRun) -> None:
            self.workspace.look(name, run, task, lambda result: take(which, result), failed)

        for name, (which, run) in zip(self.looks, wanted.items(), strict=False):
            ask(name, which, run)
        if kept is None:
            self.workspace.forget_look(self.looks[1])
