"""What stands beside a run of its run A: the heads that changed the most, and the predictions."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from bertviewer.charts.attention import RunAttention, attention_pair
from bertviewer.charts.chart import HeadDifferences
from bertviewer.core.analysis.attention_maps import AttentionMaps, RankedHead
from bertviewer.core.analysis.predictions import Predictions
from bertviewer.core.analysis.tokens import align
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.errors import UserError
from bertviewer.report.looks import Beside
from bertviewer.report.run_looked_at import LookedAt

MOST_HEADS = 5

Maps = tuple[AttentionMaps, AttentionMaps]


class OtherRun(Struct, frozen=True, eq=False):
    """Run A, the model that it is a run of, and what it kept; both ``None`` of one from a file."""

    run: ActivationRun
    model: LoadedModel | None = None
    kept: ActivationCache | None = None


def beside(b: LookedAt, predictions: Sequence[Predictions], other: OtherRun) -> Beside:
    """Look at run A as far as it can be looked at."""
    if other.model is None or other.kept is None:
        return Beside(other.run)
    a = LookedAt(other.model, other.run, other.kept, b.progress)
    theirs = frozenset(a.attentions)
    heads: list[RankedHead] = []
    best: Maps | None = None
    for layer in (one for one in b.attentions if one in theirs):
        try:
            of_b, of_a = b.attention(layer), a.attention(layer)
        except UserError:
            continue
        most = max((head.value for head in heads), default=0.0)
        found = _changes(RunAttention(b.run, of_b, layer), RunAttention(a.run, of_a, layer))
        if any(head.value > most for head in found):
            best = of_b, of_a
        heads = sorted((*heads, *found), key=lambda one: -one.value)[:MOST_HEADS]
    partners = {mine: other for other, mine in align(a.run.tokens, b.run.tokens)}
    return Beside(a.run, tuple(heads), best, _predictions(a, predictions, partners))


def _changes(b: RunAttention, a: RunAttention) -> list[RankedHead]:
    """Return how far each head's map of B is from A's, over the tokens that both have."""
    partners = attention_pair(b, a).partners
    differences = HeadDifferences(
        b.maps.probabilities, a.maps.probabilities, partners.rows or (), partners.columns or ()
    )
    found = []
    for head in range(min(len(b.maps.probabilities), len(a.maps.probabilities))):
        apart = np.abs(differences[head])
        known = apart[np.isfinite(apart)]
        if known.size and known.any():
            found.append(RankedHead(b.layer, head, float(known.mean(dtype=np.float64))))
    return found


def _predictions(
    a: LookedAt, predictions: Sequence[Predictions], partners: Mapping[int, int]
) -> Mapping[int, Predictions]:
    """Return what A predicts at the partners of B's places."""
    found = {}
    for one in predictions:
        if one.position not in partners:
            continue
        try:
            found[one.position] = a.predictions(partners[one.position])
        except UserError:
            continue
    return found
