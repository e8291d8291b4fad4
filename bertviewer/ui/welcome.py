"""What the window shows while no model is open: that one is loading, or how to open one."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QIcon, QPalette
from PySide6.QtWidgets import QLabel, QProgressBar, QVBoxLayout, QWidget

from bertviewer.ui.workspace import Workspace


class WelcomePage(QWidget):
    """The icon, one line of text, and a bar while something goes on."""

    def __init__(self, workspace: Workspace, icon: QIcon, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        picture = QLabel()
        picture.setPixmap(icon.pixmap(QSize(96, 96), self.devicePixelRatio()))
        self._text = QLabel()
        self._text.setObjectName("loadingLabel")
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._bar = QProgressBar()
        self._bar.setRange(0, 0)
        self._bar.setTextVisible(False)
        self._bar.setFixedSize(220, 6)
        layout = QVBoxLayout(self)
        layout.setSpacing(14)
        layout.addStretch(2)
        for widget in (picture, self._text, self._bar):
            layout.addWidget(widget, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)
        workspace.scheduler.activity_changed.connect(self._update)
        workspace.scheduler.progressed.connect(lambda _done, _total, label: self._say(label))
        self._update()

    def _update(self) -> None:
        busy = bool(self._workspace.scheduler.activity)
        self._bar.setVisible(busy)
        self._say(
            self.tr("Loading")
            if busy
            else self.tr("No model is open. Choose one from the menu File, or drop it here.")
        )

    def _say(self, text: str) -> None:
        self._text.setText(f"{text} …" if self._workspace.scheduler.activity else text)
