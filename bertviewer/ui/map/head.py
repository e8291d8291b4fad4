"""Above the map: the strip of blocks, flow or treemap, and by what both are coloured."""

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QGridLayout, QToolButton, QWidget
from typing_extensions import override

from bertviewer.charts.theme import NORMAL
from bertviewer.plots.fonts import grown, sized
from bertviewer.ui.map.measure_choice import MeasureChoice
from bertviewer.ui.map.strip import ModelStrip
from bertviewer.ui.widgets.buttons import SegmentedControl, flat_button
from bertviewer.ui.widgets.layouts import Gap, hbox

_HEIGHT = 22


class MapHead(QWidget):
    """``treemap_wanted`` tells which of the two pictures a person wants to see."""

    treemap_wanted = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self.strip, self.measure = ModelStrip(), MeasureChoice()
        self.flow = self._button("mapFlow", self.tr("Flow"), self.tr("Data flow (T)"))
        self.treemap = self._button(
            "mapAreas", self.tr("Treemap"), self.tr("Size of each part (T)")
        )
        pictures = SegmentedControl((self.flow, self.treemap), 2)
        pictures.choose(self.flow.objectName())
        choices = hbox(pictures, Gap(8), self.measure, spacing=2)
        self.treemap.toggled.connect(self.treemap_wanted)
        self._corner = corner = QWidget()
        corner.setFixedHeight(grown(_HEIGHT))
        corner.setLayout(choices)
        # The choices stand beside the strip's caption, above its blocks, where there is one.
        self._layout = layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.strip, 0, 0)
        self.set_low(False)

    def set_low(self, is_low: bool) -> None:
        """Take one line: the choices stand beside the strip, which has no caption then."""
        self.strip.set_low(is_low)
        place = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop
        self._layout.addWidget(self._corner, 0, 1 if is_low else 0, place)

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._corner.setFixedHeight(grown(_HEIGHT))

    def _button(self, name: str, text: str, tip: str) -> QToolButton:
        button = flat_button(name, text, tip)
        button.setFont(sized(button.font(), NORMAL))
        return button
