"""Where a folder or a file is dropped, with a button for each way to choose one."""

from typing import Protocol

from PySide6.QtCore import QRectF, Qt, SignalInstance
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QPushButton, QWidget

from bertviewer.charts.theme import GRID, ROUND
from bertviewer.ui.theme.theme_of import theme_of
from bertviewer.ui.widgets.labels import muted, plain_label
from bertviewer.ui.widgets.layouts import STRETCH, Gap, hbox, named, vbox


class Opens(Protocol):
    """All ways to open one; ``began`` names it, ``dragged`` says that one is over the window."""

    @property
    def began(self) -> SignalInstance: ...  # noqa: D102
    @property
    def dragged(self) -> SignalInstance: ...  # noqa: D102
    def open_named(self, name: str) -> None: ...  # noqa: D102
    def open_recent(self, name: str) -> None: ...  # noqa: D102
    def choose_folder(self) -> None: ...  # noqa: D102
    def choose_file(self) -> None: ...  # noqa: D102
    def choose_hub(self) -> None: ...  # noqa: D102


class DropPlace(QWidget):
    """A dashed frame; the whole window takes what is dropped, wherever that is."""

    def __init__(self, opening: Opens) -> None:
        super().__init__()
        self.setObjectName("dropPlace")
        self._is_over = False
        text = plain_label(self.tr("Drop a model folder or file here"))
        text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        hint = muted(
            plain_label(self.tr("config.json · .safetensors · .bin — no code is executed"))
        )
        hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        buttons = hbox(STRETCH, spacing=2 * GRID)
        for name, title, tip, choose in (
            (
                "chooseFolder",
                self.tr("Open folder…"),
                self.tr("Open a model folder (Ctrl+O)"),
                opening.choose_folder,
            ),
            (
                "chooseFile",
                self.tr("Open file…"),
                self.tr("Open a configuration or weights file (Ctrl+Alt+O)"),
                opening.choose_file,
            ),
            (
                "chooseHub",
                self.tr("From Hugging Face…"),
                self.tr("Open a model from the Hugging Face Hub (Ctrl+Shift+O)"),
                opening.choose_hub,
            ),
        ):
            button = named(QPushButton(title), name, tooltip=tip)
            button.setAccessibleDescription(tip)
            button.clicked.connect(lambda _=False, choose=choose: choose())
            buttons.addWidget(button)
        buttons.addStretch(1)
        vbox(
            STRETCH,
            text,
            hint,
            Gap(GRID),
            buttons,
            STRETCH,
            parent=self,
            margins=(4 * GRID, 4 * GRID, 4 * GRID, 4 * GRID),
            spacing=2 * GRID,
        )

    def set_over(self, is_over: bool) -> None:
        """Show whether something is being dragged over the window."""
        self._is_over = is_over
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the frame; Qt calls it."""
        theme = theme_of(self)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pen = QPen(QColor(theme.accent if self._is_over else theme.faint), 1.25)
        pen.setDashPattern([4, 3])
        painter.setPen(pen)
        painter.setBrush(QColor(theme.selection if self._is_over else theme.background))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), ROUND, ROUND)
        painter.end()
