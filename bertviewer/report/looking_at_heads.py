"""What the heads of a run look at, layer by layer: figures of all, and the maps of a few."""

from collections.abc import Iterable

from msgspec.structs import replace

from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.attention_maps import head_measures, ranked_heads
from bertviewer.core.util.errors import UserError
from bertviewer.report.looks import SeenHeads
from bertviewer.report.run_looked_at import LookedAt


def seen_heads(it: LookedAt) -> SeenHeads | None:
    """Return the figures of all heads; no layer's maps outlive the look at the next one.

    ``None`` stands for a model that does not show what it looks at.
    """
    figures = {}
    for layer in it.attentions:
        try:
            figures[layer] = head_measures(it.attention(layer), it.run)
        except UserError:
            continue
    if not figures:
        return None
    best = ranked_heads(figures, "previous") or ranked_heads(figures, "entropy")
    return SeenHeads(figures, large=best[0] if best else None)


def with_maps(heads: SeenHeads, it: LookedAt, layers: tuple[int, ...] | None) -> SeenHeads:
    """Return the same with the maps of some layers; those that are there are not done again."""
    known = tuple(heads.figures)
    shown = _chosen(known, layers)
    large = () if heads.large is None else (heads.large.layer,)
    maps = {
        layer: heads.maps.get(layer) or it.attention(layer)
        for layer in dict.fromkeys((known[0], *shown, *large))
    }
    return replace(heads, shown=shown, maps=maps)


def _chosen(
    layers: Iterable[AttentionLayer], wanted: tuple[int, ...] | None
) -> tuple[AttentionLayer, ...]:
    """Return the wanted layers; where none are wanted, the first and the last."""
    known = tuple(layers)
    if wanted is None:
        return tuple(dict.fromkeys((known[0], known[-1])))
    return tuple(layer for layer in known if layer.number in wanted)
