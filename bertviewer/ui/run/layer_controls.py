"""What the layers view shows: which statistic, of which part of the layers, over which tokens."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from bertviewer.charts.layers import BAND, SPREAD, STATISTICS
from bertviewer.charts.theme import GRID
from bertviewer.core.analysis.tokens import TokenClass
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.views.choice_box import ChoiceBox, offer
from bertviewer.ui.widgets.layouts import hbox

ALL = "all"
EACH = "each"

_FOLLOW = QT_TRANSLATE_NOOP("LayerControls", "selection")
_OUTPUT = QT_TRANSLATE_NOOP("LayerControls", "layer output")


class LayerControls(QWidget):
    """Three choices in a row; ``changed`` tells that a person made one."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._statistic = ChoiceBox("statisticChoice", self.tr("Statistic shown per layer"))
        self._statistic.addItems(STATISTICS)
        self._explain(SPREAD, self.tr("Mean as a line, ± std as a band, and min and max"))
        self._explain(BAND, self.tr("Mean and std only: min and max may dwarf the band"))
        self._statistic.setCurrentText("std")
        self._part = ChoiceBox("partChoice", self.tr("Part of the layers"))
        self._part.setToolTip(
            self.tr("Part of the layers to show; initially the one selected in the tree")
        )
        purpose = self.tr("Tokens included in the statistic")
        self._tokens = ChoiceBox("tokenClassChoice", purpose)
        layout = hbox(parent=self, spacing=GRID)
        for choice in (self._part, self._statistic, self._tokens):
            layout.addWidget(choice)
            choice.currentIndexChanged.connect(self.changed)
        self.set_parts(())
        self.set_classes(())

    @property
    def statistic(self) -> str:
        """The chosen statistic: one of ``STATISTICS``."""
        return self._statistic.currentText()

    def choose_statistic(self, name: str) -> None:
        """Choose a statistic."""
        self._statistic.setCurrentText(name)

    def choose_output(self) -> None:
        """Choose what layers give, of all tokens."""
        self._tokens.setCurrentIndex(max(0, self._tokens.findData(ALL)))
        self._part.setCurrentIndex(max(0, self._part.findData("")))

    @property
    def part(self) -> str | None:
        """The chosen part, "" for the layer itself, ``None`` for what the tree has selected."""
        data = self._part.currentData()
        return None if data is None else str(data)

    @property
    def token_class(self) -> str:
        """The name of the chosen class of tokens, ``ALL`` or ``EACH``."""
        return str(self._tokens.currentData() or ALL)

    def set_parts(self, parts: Sequence[str]) -> None:
        """Offer these parts of a layer; the choice stays where it still can."""
        items = [(self.tr(_FOLLOW), None), (self.tr(_OUTPUT), ""), *((p, p) for p in parts)]
        offer(self._part, items)

    def set_classes(self, classes: Sequence[TokenClass]) -> None:
        """Offer these classes of tokens; the choice stays where it still can."""
        items: list[tuple[str, str | None]] = [(kind.label, kind.name) for kind in classes]
        if len(items) > 2:
            items.append((self.tr("all token classes"), EACH))
        offer(self._tokens, items)

    def chosen(self, classes: Sequence[TokenClass]) -> tuple[TokenClass, ...]:
        """Return the classes that are to be shown of a run that has these."""
        if self.token_class == EACH:
            # The two sentences of a pair are its content.
            is_pair = any(kind.name == "second" for kind in classes)
            left_out = {ALL, "content"} if is_pair else {ALL}
            return tuple(kind for kind in classes if kind.name not in left_out)
        return tuple(kind for kind in classes if kind.name == self.token_class)

    def _explain(self, statistic: str, tip: str) -> None:
        number = self._statistic.findText(statistic)
        self._statistic.setItemData(number, tip, Qt.ItemDataRole.ToolTipRole)

    def set_feature_shown(self, is_shown: bool) -> None:
        """Offer what there is to choose of a single feature: the tokens."""
        self._statistic.setEnabled(not is_shown)
        self._part.setEnabled(not is_shown)
