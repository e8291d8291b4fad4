"""Which attention is shown, of the last run and of run A where there is one."""

from collections.abc import Sequence

from PySide6.QtCore import Signal

from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.ui.charts.choice_box import ChoiceBox
from bertviewer.ui.translation import translate


class AttentionChoice(ChoiceBox):
    """The attentions of a run; ``chosen`` tells that a person took another one."""

    chosen = Signal(object)

    def __init__(self) -> None:
        purpose = translate("AttentionChoice", "Layer whose attention is shown")
        super().__init__("attentionChoice", purpose, 9)
        self.setToolTip(self.tr("Layer whose attention is shown; it follows the tree"))
        self._layers: tuple[AttentionLayer, ...] = ()
        self.currentIndexChanged.connect(self._on_index)

    def offer(self, layers: Sequence[AttentionLayer], current: AttentionLayer) -> None:
        """Offer these, and show which of them is the current one."""
        self.blockSignals(True)
        if self._layers != tuple(layers):
            self._layers = tuple(layers)
            self.clear()
            self.addItems([layer.name for layer in layers])
        self.setCurrentIndex(self._layers.index(current))
        self.blockSignals(False)

    def _on_index(self, index: int) -> None:
        if 0 <= index < len(self._layers):
            self.chosen.emit(self._layers[index])
