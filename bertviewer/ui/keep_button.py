"""Keeps the last run as run A, to compare the next ones with it."""

from PySide6.QtWidgets import QPushButton

from bertviewer.ui.workspace import Workspace


class KeepButton(QPushButton):
    """Keeps the last run as A; of no use while that is A already."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.setObjectName("keepRun")
        self.setText(self.tr("Keep as A"))
        self.setToolTip(self.tr("Keep this run, to compare the next ones (B) with it"))
        self.clicked.connect(workspace.runs.keep)
        workspace.runs.run_changed.connect(self._update)
        workspace.runs.comparison_changed.connect(self._update)
        self._update()

    def _update(self) -> None:
        watched = self._workspace.runs.watched
        self.setEnabled(watched is not None and watched is not self._workspace.runs.watched_a)
