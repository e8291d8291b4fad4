"""Bar above the views while weights of the open model are not downloaded yet."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.labels import ElidedLabel, plain_tooltip
from bertviewer.ui.widgets.layouts import hbox, named
from bertviewer.ui.widgets.progress_bar import ProgressBar


class HubBar(QWidget):
    """Size of the missing weights, the progress, and a button that downloads them.

    The run panel has the button that cancels.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.setObjectName("hubBar")
        self._text = named(ElidedLabel(), "hubText")
        self._progress = named(ProgressBar(), "hubProgress")
        self._progress.setFixedSize(200, 6)
        self._download = named(QPushButton(self.tr("Download")), "hubDownload")
        hbox(
            (self._text, 1),
            (self._progress, Qt.AlignmentFlag.AlignVCenter),
            self._download,
            parent=self,
            margins=(12, 6, 8, 6),
            spacing=12,
        )
        self._download.clicked.connect(self._on_download)
        workspace.architecture_changed.connect(self._update)
        workspace.jobs.activity_changed.connect(self._update)
        workspace.jobs.progressed.connect(self._on_progress)
        self._update()

    def _on_download(self) -> None:
        if (remote := self._workspace.remote) is not None:
            arrived = self._workspace.weights_arrived
            self._workspace.jobs.start("download", remote.fetch, lambda _: arrived.emit())

    def _update(self) -> None:
        remote = self._workspace.remote
        missing = 0 if remote is None else remote.missing_bytes()
        self.setVisible(missing > 0 or bool(remote and remote.why_no_weights))
        is_downloading = self._workspace.jobs.activity == "download"
        self._download.setVisible(missing > 0)
        self._download.setEnabled(not self._workspace.jobs.activity)
        self._progress.setVisible(is_downloading)
        self._progress.setRange(0, 0)
        if missing:
            self._show(
                self.tr(
                    "The weights ({0} MB) are not downloaded yet. The first run downloads them."
                ).format(f"{missing / 1e6:,.1f}")
            )
        elif remote is not None:
            self._show(remote.why_no_weights)

    def _on_progress(self, done: int, total: int, label: str) -> None:
        # A run downloads missing weights, too.
        if self.isVisible() and self._workspace.jobs.activity in ("download", "run"):
            self._progress.setRange(0, total)
            self._progress.setValue(done)
            self._show(label)

    def _show(self, text: str) -> None:
        self._text.setText(text)
        self._text.setToolTip(plain_tooltip(text))
