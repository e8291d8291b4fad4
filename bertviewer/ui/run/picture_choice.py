"""How one head is drawn: as a matrix of cells, or as lines between its tokens; remembered."""

from typing import Literal

from PySide6.QtCore import QSettings, Signal
from PySide6.QtWidgets import QButtonGroup, QToolButton, QWidget

from bertviewer.ui.flat_button import flat_button
from bertviewer.ui.layouts import in_row
from bertviewer.ui.settings import store

Picture = Literal["matrix", "arcs"]
SETTING = "headPicture"


class PictureChoice(QWidget):
    """Two buttons of which one is down; ``chosen`` tells which one a person took."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._group = QButtonGroup(self)
        self._buttons: dict[Picture, QToolButton] = {}
        layout = in_row(on=self, spacing=2)
        self._add("matrix", self.tr("Matrix"), self.tr("Show this head as a matrix of cells"))
        self._add("arcs", self.tr("Arcs"), self.tr("Show this head as lines between its tokens"))
        for button in self._buttons.values():
            layout.addWidget(button)
        self._buttons[self.picture].setChecked(True)

    @property
    def picture(self) -> Picture:
        """What is chosen, and was when the program was used before."""
        return "arcs" if QSettings().value(SETTING) == "arcs" else "matrix"

    def _add(self, picture: Picture, title: str, tip: str) -> None:
        button = flat_button(f"{picture}Picture", title, tip)
        button.setCheckable(True)
        button.clicked.connect(lambda: self._choose(picture))
        self._group.addButton(button)
        self._buttons[picture] = button

    def _choose(self, picture: Picture) -> None:
        store(SETTING, picture)
        self.chosen.emit(picture)
