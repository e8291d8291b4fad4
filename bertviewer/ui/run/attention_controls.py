"""Controls of the attention view: layer, heads shown, matrix or arcs, and colour scale."""

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec.structs import replace
from PySide6.QtCore import QSettings, QSignalBlocker, QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QCheckBox
from typing_extensions import override

from bertviewer.charts.attention import AttentionPair, RunAttention, attention_pair
from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.attention_maps import AttentionMaps, mean_of_heads, without_tokens
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.ui.settings.settings import store
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.views.choice_box import ChoiceBox, offer
from bertviewer.ui.widgets.buttons import SegmentedControl, flat_button

Picture = Literal["matrix", "arcs"]

PICTURE_SETTING = "headPicture"
ROOT_SETTING = "rootColors"
MAX_NAMED = 3
"""Kinds of special tokens that are named in the choice without them."""


class LayerChoice(ChoiceBox):
    """The attention modules of a run; ``chosen`` carries the one that the user has chosen."""

    chosen = Signal(object)

    def __init__(self) -> None:
        purpose = translate("AttentionChoice", "Layer whose attention is shown")
        super().__init__("attentionChoice", purpose)
        self.setToolTip(
            self.tr("Layer whose attention is shown; follows the selection in the tree")
        )
        self.currentIndexChanged.connect(lambda: self.chosen.emit(self.currentData()))

    def offer(self, layers: Sequence[AttentionLayer], current: AttentionLayer) -> None:
        """Offer layers, and show which is the current one."""
        offer(self, ((layer.name, layer) for layer in layers))
        with QSignalBlocker(self):
            self.setCurrentIndex(layers.index(current))
        self.updateGeometry()


class HeadsChoice(ChoiceBox):
    """One head or the mean of all, of all tokens or without special ones."""

    def __init__(self) -> None:
        purpose = translate(
            "ShownAttention",
            "Attention shown in the large chart.\nWithout special tokens, the remaining "
            "weights of each query are rescaled to sum to 1.",
        )
        super().__init__("attentionShown", purpose)
        self.addItem(translate("ShownAttention", "One head"), (False, False))

    @property
    def is_mean(self) -> bool:
        """Whether the mean of all heads is shown instead of one head."""
        return self._choice[0]

    @property
    def _choice(self) -> tuple[bool, bool]:
        return self.currentData() or (False, False)

    def offer_for(self, run: ActivationRun) -> None:
        """Offer the choices that a run has."""
        special = dict.fromkeys(token.text for token in run.tokens if token.is_special)
        names = ", ".join(list(special)[:MAX_NAMED])
        items: list[tuple[str, object]] = [
            (translate("ShownAttention", "One head"), (False, False)),
            (translate("ShownAttention", "Mean of all heads"), (True, False)),
        ]
        if special and not all(token.is_special for token in run.tokens):
            without = translate("ShownAttention", "One head without {0}")
            items.append((without.format(names), (False, True)))
            without = translate("ShownAttention", "Mean without {0}")
            items.append((without.format(names), (True, True)))
        offer(self, items)

    def apply(self, pair: AttentionPair) -> AttentionPair:
        """Return the attention of both runs as it is chosen; a mean is head 0."""
        is_mean, is_without_special = self._choice
        steps: list[Callable[[RunAttention], AttentionMaps]] = []
        if is_without_special:
            steps.append(lambda attended: without_tokens(attended.maps, _special(attended.run)))
        if is_mean:
            steps.append(lambda attended: mean_of_heads(attended.maps))
        b, a = pair.b, pair.a
        for step in steps:
            b, a = replace(b, maps=step(b)), None if a is None else replace(a, maps=step(a))
        return attention_pair(b, a) if steps else pair


def _special(run: ActivationRun) -> frozenset[int]:
    return frozenset(place for place, token in enumerate(run.tokens) if token.is_special)


class PictureChoice(SegmentedControl):
    """Matrix or arcs, stored in the settings; ``picked`` carries the user's choice."""

    picked = Signal(str)

    def __init__(self) -> None:
        matrix = translate("PictureChoice", "Show this head as a matrix")
        arcs = translate("PictureChoice", "Show this head as arcs between tokens")
        super().__init__(
            (
                flat_button("matrixPicture", translate("PictureChoice", "Matrix"), matrix),
                flat_button("arcsPicture", translate("PictureChoice", "Arcs"), arcs),
            ),
            2,
        )
        self.choose(f"{self.picture}Picture")
        self.turned.connect(self._on_turned)

    @property
    def picture(self) -> Picture:
        """The stored choice."""
        return "arcs" if QSettings().value(PICTURE_SETTING) == "arcs" else "matrix"

    def _on_turned(self, name: str) -> None:
        picture = name.removesuffix("Picture")
        store(PICTURE_SETTING, picture)
        self.picked.emit(picture)


class RootScaleCheck(QCheckBox):
    """Check box for a square-root colour scale, stored in the settings; "√" where room is short."""

    def __init__(self) -> None:
        super().__init__()
        self._full, self._short = self.tr("Square-root scale"), "√"
        self.setObjectName("rootColors")
        self.setText(self._full)
        self.setAccessibleName(self._full)
        self.setToolTip(
            self.tr(
                "Colours follow the square root of each weight, so that small weights can "
                "be told\napart. Useful with many tokens, where [CLS] and [SEP] take most "
                "of the range.\nDisplayed, copied and saved values remain the weights "
                "themselves."
            )
        )
        self.setEnabled(False)  # until there is an attention
        self.setChecked(bool(QSettings().value(ROOT_SETTING, False, type=bool)))
        self.toggled.connect(lambda is_checked: store(ROOT_SETTING, is_checked))

    @override
    def sizeHint(self) -> QSize:
        return self._size_with(self._full)

    @override
    def minimumSizeHint(self) -> QSize:
        return self._size_with(self._short)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        has_room = self.width() >= self.sizeHint().width()
        self.setText(self._full if has_room else self._short)

    def _size_with(self, text: str) -> QSize:
        hint, metrics = super().sizeHint(), self.fontMetrics()
        spared = metrics.horizontalAdvance(self.text()) - metrics.horizontalAdvance(text)
        return hint - QSize(spared, 0)
