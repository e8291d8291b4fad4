"""How heads are drawn: one as a matrix or as lines, all by roots of the weights; remembered."""

from typing import Literal

from PySide6.QtCore import QSettings, QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QCheckBox

from bertviewer.ui.settings.settings import store
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.widgets.buttons import SegmentedControl, flat_button

Picture = Literal["matrix", "arcs"]
SETTING = "headPicture"


_NAMES: dict[str, Picture] = {"matrixPicture": "matrix", "arcsPicture": "arcs"}


class PictureChoice(SegmentedControl):
    """Two buttons of which one is down; ``picked`` tells which one a person took."""

    picked = Signal(str)

    def __init__(self) -> None:
        matrix = translate("PictureChoice", "Show this head as a matrix")
        arcs = translate("PictureChoice", "Show this head as arcs between tokens")
        super().__init__(
            (
                flat_button("matrixPicture", translate("PictureChoice", "Matrix"), matrix),
                flat_button("arcsPicture", translate("PictureChoice", "Arcs"), arcs),
            ),
            2,
        )
        self.choose(f"{self.picture}Picture")
        self.turned.connect(self._on_turned)

    @property
    def picture(self) -> Picture:
        """What is chosen, and was when the program was used before."""
        return "arcs" if QSettings().value(SETTING) == "arcs" else "matrix"

    def _on_turned(self, name: str) -> None:
        store(SETTING, _NAMES[name])
        self.picked.emit(_NAMES[name])


ROOT_SETTING = "rootColors"


class RootColors(QCheckBox):
    """A box to check, disabled while there is no attention to colour.

    Where its line is short it shows only the sign.
    """

    def __init__(self) -> None:
        super().__init__()
        self._full, self._brief = self.tr("Square-root scale"), "√"
        self.setObjectName("rootColors")
        self.setText(self._full)
        self.setAccessibleName(self.tr("Square-root scale"))
        self.setToolTip(
            self.tr(
                "Colours follow the square root of each weight, so that small weights can "
                "be told\napart. Useful with many tokens, where [CLS] and [SEP] take most "
                "of the range.\nDisplayed, copied and saved values remain the weights "
                "themselves."
            )
        )
        self.setEnabled(False)
        self.setChecked(bool(QSettings().value(ROOT_SETTING, False, type=bool)))
        self.toggled.connect(self._remember)

    def sizeHint(self) -> QSize:
        """Return the room for all of the text, whatever of it is shown; Qt calls it."""
        return self._room_for(self._full)

    def minimumSizeHint(self) -> QSize:
        """Return the room for the sign; Qt calls it."""
        return self._room_for(self._brief)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show as much as there is room for; Qt calls it."""
        super().resizeEvent(event)
        has_room = self.width() >= self.sizeHint().width()
        self.setText(self._full if has_room else self._brief)

    def _room_for(self, text: str) -> QSize:
        hint, metrics = super().sizeHint(), self.fontMetrics()
        spared = metrics.horizontalAdvance(self.text()) - metrics.horizontalAdvance(text)
        return hint - QSize(spared, 0)

    def _remember(self, is_wanted: bool) -> None:
        store(ROOT_SETTING, is_wanted)
