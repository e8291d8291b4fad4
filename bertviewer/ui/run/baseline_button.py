"""Keeps the last run as run A, to compare the next ones with it."""

from PySide6.QtWidgets import QPushButton

from bertviewer.ui.state.workspace import Workspace


class KeepButton(QPushButton):
    """Keeps the last run as A; of no use while that is A already."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.setObjectName("keepRun")
        self.set_narrow(False)
        self.setAccessibleName(self.tr("Keep as A"))
        self.setToolTip(self.tr("Keep this run as A and compare later runs (B) with it"))
        self.clicked.connect(workspace.runs.keep)
        workspace.runs.run_changed.connect(self._update)
        workspace.runs.comparison_changed.connect(self._update)
        self._update()

    def set_narrow(self, is_narrow: bool) -> None:
        """Show no more than the letter where the bar is narrow."""
        self.setText(self.tr("A") if is_narrow else self.tr("Keep as A"))

    def _update(self) -> None:
        watched = self._workspace.runs.watched
        self.setEnabled(watched is not None and watched is not self._workspace.runs.watched_a)
