"""By which figure the tokens are coloured: a quiet button with a list behind it."""

from collections.abc import Mapping

from PySide6.QtWidgets import QSizePolicy

from bertviewer.charts.labels import shortened
from bertviewer.charts.token_measures import MEASURES, MeasureName
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.widgets.buttons import ARROW, MenuButton
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import named

_TITLES: Mapping[MeasureName, str] = {
    "norm": QT_TRANSLATE_NOOP("MeasureChoice", "Norm ‖h‖ after the selected layer"),
    "cosine": QT_TRANSLATE_NOOP("MeasureChoice", "Cosine to the token’s initial vector"),
    "attention": QT_TRANSLATE_NOOP("MeasureChoice", "Attention received by the token"),
    "probability": QT_TRANSLATE_NOOP("MeasureChoice", "Probability of the token"),
    "segment": QT_TRANSLATE_NOOP("MeasureChoice", "Segment"),
    "none": QT_TRANSLATE_NOOP("MeasureChoice", "No colour"),
}
LONGEST = 44


class MeasureChoice(MenuButton):
    """Says what the colours are, in a quiet colour."""

    def __init__(self) -> None:
        super().__init__("tokenMeasure", "")
        self.setAccessibleName(self.tr("What the token colours show"))
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self._actions = {
            name: named(self.add(name, self.tr(_TITLES[name])), f"measure-{name}")
            for name in MEASURES
        }
        self._actions["norm"].setChecked(True)

    @property
    def name(self) -> MeasureName:
        """The figure that is chosen."""
        return next(name for name, action in self._actions.items() if action.isChecked())

    def offer(self, names: frozenset[MeasureName]) -> None:
        """Let these be chosen; where the chosen one is not among them, there is no colour."""
        for name, action in self._actions.items():
            action.setEnabled(name in names)
        if self.name not in names:
            self._actions["none"].setChecked(True)

    def show_title(self, title: str, tip: str = "") -> None:
        """Say what the colours are."""
        text = self.tr("colour: {0}").format(shortened(title, LONGEST))
        self.setText(f"{text} {ARROW}")
        self.setToolTip(plain_tooltip(tip or self.tr("colour: {0}").format(title)))
