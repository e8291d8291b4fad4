"""Which attention is drawn large: the selected head's or the mean, of all tokens or of words."""

from collections.abc import Callable

from msgspec.structs import replace

from bertviewer.charts.attention import AttentionPair, RunAttention, attention_pair
from bertviewer.core.analysis.attention_maps import AttentionMaps, mean_of_heads, without_tokens
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.views.choice_box import ChoiceBox, offer

MOST_NAMED = 3
"""So many kinds of special tokens are named."""


class ShownAttention(ChoiceBox):
    """A list of what can be drawn; its data are whether it is the mean, and of words alone."""

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
        """Whether the mean of all heads is shown in place of one head."""
        return bool((self.currentData() or (False, False))[0])

    def offer_for(self, run: ActivationRun) -> None:
        """Offer what can be drawn of a run."""
        special = dict.fromkeys(token.text for token in run.tokens if token.is_special)
        names = ", ".join(list(special)[:MOST_NAMED])
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

    def shown(self, pair: AttentionPair) -> AttentionPair:
        """Return the attention of both runs as it is chosen; a mean is head 0."""
        is_mean, is_words = self.currentData() or (False, False)
        ways: list[Callable[[RunAttention], AttentionMaps]] = []
        if is_words:
            ways.append(lambda one: without_tokens(one.maps, _special(one.run)))
        if is_mean:
            ways.append(lambda one: mean_of_heads(one.maps))
        b, a = pair.b, pair.a
        for way in ways:
            b, a = replace(b, maps=way(b)), None if a is None else replace(a, maps=way(a))
        return attention_pair(b, a) if ways else pair


def _special(run: ActivationRun) -> frozenset[int]:
    return frozenset(place for place, token in enumerate(run.tokens) if token.is_special)
