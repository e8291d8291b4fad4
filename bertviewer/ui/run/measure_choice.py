"""By which figure the tokens are coloured: a quiet button with a list behind it."""

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QFont
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton

from bertviewer.charts.naming import shortened
from bertviewer.charts.theme import NORMAL
from bertviewer.charts.token_measures import MEASURES, MeasureName
from bertviewer.plots.fonts import sized
from bertviewer.ui.tips import plain_tip
from bertviewer.ui.translation import QT_TRANSLATE_NOOP

_TITLES: Mapping[MeasureName, str] = {
    "norm": QT_TRANSLATE_NOOP("MeasureChoice", "Norm ‖h‖ after the selected layer"),
    "cosine": QT_TRANSLATE_NOOP("MeasureChoice", "Cosine to the token's start"),
    "attention": QT_TRANSLATE_NOOP("MeasureChoice", "Attention received by the token"),
    "probability": QT_TRANSLATE_NOOP("MeasureChoice", "Probability of the token"),
    "segment": QT_TRANSLATE_NOOP("MeasureChoice", "Segment"),
    "none": QT_TRANSLATE_NOOP("MeasureChoice", "No colour"),
}
ARROW = "\N{DOWN ARROWHEAD}"
LONGEST = 44


class MeasureChoice(QToolButton):
    """Says what the colours are; ``chosen`` tells that a person wants other ones."""

    chosen = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("tokenMeasure")
        self.setAccessibleName(self.tr("What the tokens are coloured by"))
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        # Of the button alone: its menu has words to be read.
        self.setStyleSheet("QToolButton { color: palette(placeholder-text); }")
        self.setFont(sized(QFont(self.font()), NORMAL))
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        menu = QMenu(self)
        group = QActionGroup(menu)
        self._actions: dict[MeasureName, QAction] = {}
        for name in MEASURES:
            action = group.addAction(menu.addAction(self.tr(_TITLES[name])))
            action.setObjectName(f"measure-{name}")
            action.setCheckable(True)
            action.triggered.connect(self.chosen)
            self._actions[name] = action
        self._actions["norm"].setChecked(True)
        self.setMenu(menu)

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
        self.setToolTip(plain_tip(tip or self.tr("colour: {0}").format(title)))
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
