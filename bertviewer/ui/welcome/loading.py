"""What is going on while a model is opened: which one, how far it is, and a way to stop it."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from bertviewer.charts.theme import GRID, TITLE
from bertviewer.plots.fonts import sized, weighted
from bertviewer.ui.jobs.scheduler import Scheduler
from bertviewer.ui.widgets.labels import ElidedLabel
from bertviewer.ui.widgets.layouts import named, vbox
from bertviewer.ui.widgets.progress_bar import ProgressBar

WIDTH = 320


class LoadingPage(QWidget):
    """The model's name, a bar that moves, what is done just now, and Cancel."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self._scheduler = scheduler
        self._title = named(ElidedLabel(), "loadingTitle")
        self._title.setFont(weighted(sized(self._title.font(), TITLE)))
        self._title.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._text = named(QLabel(), "loadingLabel")
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._bar = named(ProgressBar(), "loadingBar", accessible_name=self.tr("Loading progress"))
        self._bar.setFixedSize(WIDTH, GRID)
        self._cancel = QPushButton(self.tr("Cancel"))
        self._cancel.setObjectName("loadingCancel")
        self._cancel.setToolTip(self.tr("Cancel opening (Ctrl+.)"))
        self._cancel.clicked.connect(scheduler.cancel)
        vbox(
            2,
            self._title,
            (self._bar, Qt.AlignmentFlag.AlignHCenter),
            self._text,
            (self._cancel, Qt.AlignmentFlag.AlignHCenter),
            3,
            parent=self,
            margins=None,
            spacing=3 * GRID,
        )
        scheduler.activity_changed.connect(self._on_activity)
        scheduler.progressed.connect(self._on_progress)
        self.set_name("")
        self._on_activity()

    def set_name(self, name: str) -> None:
        """Say which model it is."""
        text = self.tr("Opening {0}").format(name) if name else self.tr("Opening a model")
        self._title.setText(text)

    def _on_activity(self) -> None:
        self._bar.setRange(0, 0)
        self._text.setText(self.tr("Loading…"))
        self._cancel.setEnabled(bool(self._scheduler.activity))

    def _on_progress(self, done: int, total: int, label: str) -> None:
        if self._scheduler.activity:
            self._bar.setRange(0, total)
            self._bar.setValue(done)
            self._text.setText(f"{label}…")
