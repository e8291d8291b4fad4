"""How heads are drawn: one as a matrix or as lines, all by roots of the weights; remembered."""

from typing import Literal

from PySide6.QtCore import QSettings, Signal
from PySide6.QtWidgets import QButtonGroup, QCheckBox, QToolButton, QWidget

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


ROOT_SETTING = "rootColors"


class RootColors(QCheckBox):
    """A box to check, of no use as long as there is no attention to colour."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("rootColors")
        self.setText(self.tr("√ colours"))
        self.setAccessibleName(self.tr("Square-root colours"))
        self.setToolTip(
            self.tr(
                "Colours follow the square root of each weight, so that small weights can be told\n"
                "apart: it helps with many tokens, where [CLS] and [SEP] take most of the range.\n"
                "The values that are shown, copied and saved stay the weights themselves."
            )
        )
        self.setEnabled(False)
        self.setChecked(bool(QSettings().value(ROOT_SETTING, False, type=bool)))
        self.toggled.connect(self._remember)

    def _remember(self, is_wanted: bool) -> None:
        store(ROOT_SETTING, is_wanted)
