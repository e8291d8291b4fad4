"""Header of the map: the strip of blocks, flow or treemap, and the measure that colours show."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QGridLayout, QMenu, QToolButton, QWidget
from typing_extensions import override

from bertviewer.charts.map.coloring import measure_title
from bertviewer.charts.map.values import (
    CHECK,
    DIFFERENCES,
    MACS,
    PARAMETERS,
    PART,
    STATISTICS,
    MapData,
    MapMeasure,
)
from bertviewer.charts.theme import NORMAL
from bertviewer.core.util.text import upper_first
from bertviewer.plots.fonts import grown, sized
from bertviewer.ui.map.strip import ModelStrip
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.widgets.buttons import MenuButton, SegmentedControl, flat_button
from bertviewer.ui.widgets.layouts import Gap, hbox, named

_BUTTON_HEIGHT = 22


class MapHeader(QWidget):
    """``treemap_wanted`` tells whether the user wants the treemap or the data flow."""

    treemap_wanted = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self.strip, self.measure = ModelStrip(), MeasureButton()
        self.flow = self._button("mapFlow", self.tr("Flow"), self.tr("Data flow (T)"))
        tip = self.tr("Size of each part (T)")
        self.treemap = self._button("mapAreas", self.tr("Treemap"), tip)
        views = SegmentedControl((self.flow, self.treemap), 2)
        views.choose(self.flow.objectName())
        self.treemap.toggled.connect(self.treemap_wanted)
        self._buttons = QWidget()
        self._buttons.setFixedHeight(grown(_BUTTON_HEIGHT))
        self._buttons.setLayout(hbox(views, Gap(8), self.measure, spacing=2))
        self._layout = layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.strip, 0, 0)
        self.set_compact(False)

    def set_compact(self, is_compact: bool) -> None:
        """Put the buttons next to the strip instead of above its blocks."""
        self.strip.set_compact(is_compact)
        corner = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop
        self._layout.addWidget(self._buttons, 0, 1 if is_compact else 0, corner)

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._buttons.setFixedHeight(grown(_BUTTON_HEIGHT))

    def _button(self, name: str, text: str, tip: str) -> QToolButton:
        button = flat_button(name, text, tip)
        button.setFont(sized(button.font(), NORMAL))
        return button


class MeasureButton(MenuButton):
    """Menu of the measures that colours can show; those without data are disabled."""

    def __init__(self) -> None:
        super().__init__("mapMeasure", translate("map", "Choose what colours show"))
        self.measure = PART
        self._actions: dict[MapMeasure, QAction] = {}
        menu = self.menu()
        self._add(menu, (PART, PARAMETERS, MACS))
        menu.addSeparator()
        self._statistics = menu.addMenu(self.tr("Run statistic"))
        self._add(self._statistics, STATISTICS)
        self._differences = menu.addMenu(self.tr("Difference from baseline (A)"))
        self._add(self._differences, DIFFERENCES)
        self._add(menu, (CHECK,))
        self._change = named(self.add(None, ""), "measure-change")
        self._change.setVisible(False)
        self._other = ""  # the compared model
        self.choose(PART)

    def set_data(self, data: MapData) -> None:
        """Enable the measures that have data; if the chosen one has none, choose the parts."""
        has_run, self._other = data.run is not None, data.other
        has_both = has_run and data.baseline is not None
        title = measure_title(MapMeasure("change", other=data.other))
        self._change.setText(capitalized(title).replace("&", "&&"))
        self._change.setVisible(bool(data.other))
        self._statistics.setEnabled(has_run)
        self._differences.setEnabled(has_both)
        self._actions[CHECK].setEnabled(has_run)
        is_available = {
            "change": self.measure.other == data.other,
            "statistic": has_run,
            "check": has_run,
            "difference": has_both,
        }
        if not is_available.get(self.measure.kind, True):
            self.choose(PART)

    def choose(self, measure: MapMeasure) -> None:
        """Show a measure as chosen."""
        self.measure = measure
        text = self.tr("Colour by {0}").format(measure_title(measure))
        self.show_choice(self._actions.get(measure, self._change), text)

    def _add(self, menu: QMenu, measures: Sequence[MapMeasure]) -> None:
        for measure in measures:
            title = measure_title(measure)
            title = title if measure.statistic else capitalized(title)
            self._actions[measure] = self.add(measure, title, menu)

    @override
    def _on_chosen(self, key: object) -> None:
        self.choose(key if isinstance(key, MapMeasure) else MapMeasure("change", other=self._other))
        super()._on_chosen(self.measure)


def capitalized(title: str) -> str:
    """Return a title with an upper-case first letter."""
    return upper_first(title)
