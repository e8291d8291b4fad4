"""Above the map: the strip of blocks, flow or treemap, and by what both are coloured."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QGridLayout, QHBoxLayout, QToolButton, QWidget

from bertviewer.charts.theme import NORMAL
from bertviewer.plots.fonts import sized
from bertviewer.ui.flat_button import flat_button
from bertviewer.ui.map.choice import HEIGHT
from bertviewer.ui.map.measure_choice import MeasureChoice
from bertviewer.ui.map.strip import ModelStrip


class MapHead(QWidget):
    """``treemap_wanted`` tells which of the two pictures a person wants to see."""

    treemap_wanted = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.strip, self.measure = ModelStrip(), MeasureChoice()
        self.flow = self._button("mapFlow", self.tr("Flow"), self.tr("How data go through it (T)"))
        self.treemap = self._button(
            "mapAreas", self.tr("Treemap"), self.tr("How large its parts are (T)")
        )
        self.flow.setChecked(True)
        group = QButtonGroup(self)
        group.setExclusive(True)
        choices = QHBoxLayout()
        choices.setSpacing(2)
        for button in (self.flow, self.treemap):
            group.addButton(button)
            choices.addWidget(button)
        choices.addSpacing(8)
        choices.addWidget(self.measure)
        self.treemap.toggled.connect(self.treemap_wanted)
        corner = QWidget()
        choices.setContentsMargins(0, 0, 0, 0)
        corner.setLayout(choices)
        # The choices stand beside the strip's caption, above its blocks.
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.strip, 0, 0)
        layout.addWidget(corner, 0, 0, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)

    def _button(self, name: str, text: str, tip: str) -> QToolButton:
        button = flat_button(name, text, tip)
        button.setFont(sized(button.font(), NORMAL))
        button.setMaximumHeight(HEIGHT)
        button.setCheckable(True)
        return button
