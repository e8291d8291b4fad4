"""By what the map is coloured."""

from collections.abc import Sequence

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

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
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.widgets.buttons import MenuButton
from bertviewer.ui.widgets.layouts import named


def capitalised(title: str) -> str:
    """Return a title with a capital letter at its beginning."""
    return title[:1].upper() + title[1:]


_ALWAYS = (PART, PARAMETERS, MACS)


class MeasureChoice(MenuButton):
    """``chosen`` brings what a person wants to see; what there is not yet, cannot be chosen."""

    def __init__(self) -> None:
        tip = translate("map", "Choose what colours show")
        super().__init__("mapMeasure", tip)
        self.measure = PART
        self._actions: dict[MapMeasure, QAction] = {}
        menu = self.menu()
        self._add(menu, _ALWAYS)
        menu.addSeparator()
        self._statistics = menu.addMenu(self.tr("Run statistic"))
        self._add(self._statistics, STATISTICS)
        self._differences = menu.addMenu(self.tr("Difference from run A"))
        self._add(self._differences, DIFFERENCES)
        self._add(menu, (CHECK,))
        self._change = named(self.add(None, ""), "measure-change")
        self._change.setVisible(False)
        self._other = ""  # the model that changes lead to
        self.choose(PART)

    def offer(self, known: MapData) -> None:
        """Offer what there is; what is gone is no longer chosen."""
        has_run, has_run_a = known.run is not None, known.run_a is not None
        self._other = other = known.other
        title = measure_title(MapMeasure("change", other=other))
        self._change.setText(capitalised(title).replace("&", "&&"))
        self._change.setVisible(bool(other))
        self._statistics.setEnabled(has_run)
        self._differences.setEnabled(has_run and has_run_a)
        self._actions[CHECK].setEnabled(has_run)
        kind = self.measure.kind
        is_gone = (
            (kind == "change" and self.measure.other != other)
            or (kind in ("statistic", "check") and not has_run)
            or (kind == "difference" and not (has_run and has_run_a))
        )
        if is_gone:
            self.choose(PART)

    def choose(self, measure: MapMeasure) -> None:
        """Show another measure as the chosen one."""
        self.measure = measure
        text = self.tr("Colour by {0}").format(measure_title(measure))
        self.show_choice(self._actions.get(measure, self._change), text)

    def _add(self, menu: QMenu, measures: Sequence[MapMeasure]) -> None:
        for measure in measures:
            title = measure_title(measure)
            title = title if measure.statistic else capitalised(title)
            self._actions[measure] = self.add(measure, title, menu)

    def _on_chosen(self, key: object) -> None:
        self.choose(key if isinstance(key, MapMeasure) else MapMeasure("change", other=self._other))
        super()._on_chosen(self.measure)
