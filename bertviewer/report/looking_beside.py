"""What stands beside a run of its run A: the heads that changed the most, and the predictions."""

from collections.abc import Mapping, Sequence

import numpy as np

from bertviewer.charts.attentions import Attended, attention_pair
from bertviewer.charts.head_differences import HeadDifferences
from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.analysis.alignment import align
from bertviewer.core.analysis.attention_layers import AttentionLayer, attention_layers
from bertviewer.core.analysis.attention_maps import AttentionMaps
from bertviewer.core.analysis.head_figures import RankedHead
from bertviewer.core.analysis.prediction_data import Predictions
from bertviewer.core.closer_look.attention import attention_of
from bertviewer.core.closer_look.predictions import predictions_at
from bertviewer.core.errors import UserError
from bertviewer.core.frozen import frozen
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.progress import Progress
from bertviewer.core.run.capture import Capture
from bertviewer.report.looks import Beside

MOST_HEADS = 5

Maps = tuple[AttentionMaps, AttentionMaps]


@frozen(eq=False)
class OtherRun:
    """Run A, the model that it is a run of, and what it kept; both ``None`` of one from a file."""

    run: ActivationRun
    model: LoadedModel | None = None
    kept: Capture | None = None


def beside(  # noqa: PLR0917
    model: LoadedModel,
    run: ActivationRun,
    kept: Capture,
    predictions: Sequence[Predictions],
    other: OtherRun,
    progress: Progress,
) -> Beside:
    """Look at run A as far as it can be looked at."""
    if other.model is None or other.kept is None:
        return Beside(other.run)
    partners = {b: a for a, b in align(other.run.tokens, run.tokens)}
    heads: list[RankedHead] = []
    best: Maps | None = None
    for layer in _common(model, run, other):
        try:
            of_b = attention_of(model, run, kept, layer.path, progress, call=layer.call)
            of_a = attention_of(
                other.model, other.run, other.kept, layer.path, progress, call=layer.call
            )
        except UserError:
            continue
        most = max((head.value for head in heads), default=0.0)
        found = _changes(Attended(run, of_b, layer), Attended(other.run, of_a, layer))
        if any(head.value > most for head in found):
            best = of_b, of_a
        heads = sorted((*heads, *found), key=lambda one: -one.value)[:MOST_HEADS]
    return Beside(
        other.run, tuple(heads), best, _predictions(other, predictions, partners, progress)
    )


def _common(model: LoadedModel, run: ActivationRun, other: OtherRun) -> tuple[AttentionLayer, ...]:
    assert other.model is not None
    theirs = frozenset(attention_layers(other.model.architecture, other.run))
    return tuple(one for one in attention_layers(model.architecture, run) if one in theirs)


def _changes(b: Attended, a: Attended) -> list[RankedHead]:
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
    other: OtherRun,
    predictions: Sequence[Predictions],
    partners: Mapping[int, int],
    progress: Progress,
) -> Mapping[int, Predictions]:
    """Return what A predicts at the partners of B's places."""
    assert other.model is not None
    assert other.kept is not None
    found = {}
    for one in predictions:
        if one.position not in partners:
            continue
        place = partners[one.position]
        try:
            found[one.position] = predictions_at(
                other.model, other.run, other.kept, place, progress
            )
        except UserError:
            continue
    return found
