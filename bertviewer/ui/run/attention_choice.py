"""Which attention is shown, of the last run and of run A where there is one."""

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Signal

from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.views.choice_box import ChoiceBox, offer


class AttentionChoice(ChoiceBox):
    """The attentions of a run; ``chosen`` tells that a person took another one."""

    chosen = Signal(object)

    def __init__(self) -> None:
        purpose = translate("AttentionChoice", "Layer whose attention is shown")
        super().__init__("attentionChoice", purpose)
        self.setToolTip(
            self.tr("Layer whose attention is shown; follows the selection in the tree")
        )
        self.currentIndexChanged.connect(lambda: self.chosen.emit(self.currentData()))

    def offer(self, layers: Sequence[AttentionLayer], current: AttentionLayer) -> None:
        """Offer these, and show which of them is the current one."""
        offer(self, ((layer.name, layer) for layer in layers))
        with QSignalBlocker(self):
            self.setCurrentIndex(layers.index(current))
        self.updateGeometry()
