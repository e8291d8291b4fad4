"""By what the map is coloured: a small menu."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from bertviewer.charts.map.coloring import measure_title
from bertviewer.charts.map.measures import (
    CHECK,
    DIFFERENCES,
    MACS,
    PARAMETERS,
    PART,
    STATISTICS,
    Measure,
)
from bertviewer.charts.map.values import Known
from bertviewer.charts.theme import NORMAL
from bertviewer.plots.fonts import sized
from bertviewer.ui.translation import translate

HEIGHT = 22
_ALWAYS = (PART, PARAMETERS, MACS)


class MeasureChoice(QToolButton):
    """``chosen`` brings what a person wants to see; what there is not yet, cannot be chosen."""

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("mapMeasure")
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.setFont(sized(self.font(), NORMAL))
        self.setMaximumHeight(HEIGHT)
        self.setToolTip(self.tr("What the colours and figures of the map are of"))
        self.measure = PART
        self._group = QActionGroup(self)
        self._actions: dict[Measure, QAction] = {}
        menu = QMenu(self)
        self._add(menu, _ALWAYS)
        menu.addSeparator()
        self._statistics = menu.addMenu(self.tr("Statistic of the run"))
        self._add(self._statistics, STATISTICS)
        self._differences = menu.addMenu(self.tr("Difference to run A"))
        self._add(self._differences, DIFFERENCES)
        self._add(menu, (CHECK,))
        self._change = menu.addAction("")
        self._change.setObjectName("measure-change")
        self._change.setCheckable(True)
        self._change.setVisible(False)
        self._group.addAction(self._change)
        self._other = ""  # the model that changes lead to
        self.setMenu(menu)
        self._group.triggered.connect(self._on_action)
        self.choose(PART)

    def offer(self, known: Known) -> None:
        """Offer what there is; what is gone is no longer chosen."""
        has_run, has_run_a = known.run is not None, known.run_a is not None
        self._other = other = known.other
        title = measure_title(Measure("change", other=other), translate)
        self._change.setText((title[:1].upper() + title[1:]).replace("&", "&&"))
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

    def choose(self, measure: Measure) -> None:
        """Show another measure as the chosen one."""
        self.measure = measure
        self._actions.get(measure, self._change).setChecked(True)
        title = measure_title(measure, translate)
        text = self.tr("Colour by {0}").format(title)
        self.setText(f"{text} ▾")
        self.setAccessibleName(text)

    def _add(self, menu: QMenu, measures: Sequence[Measure]) -> None:
        for measure in measures:
            title = measure_title(measure, translate)
            if not measure.statistic:
                title = title[:1].upper() + title[1:]
            action = menu.addAction(title)
            action.setCheckable(True)
            self._group.addAction(action)
            self._actions[measure] = action

    def _on_action(self, action: QAction) -> None:
        found = (each for each, known in self._actions.items() if known is action)
        measure = next(found, Measure("change", other=self._other))
        self.choose(measure)
        self.chosen.emit(measure)
