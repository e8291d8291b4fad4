"""Calculates the details of a run for a report, by replaying parts of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
from msgspec.structs import replace

from bertviewer.charts.attention import RunAttention, attention_pair
from bertviewer.charts.chart import HeadDifferences
from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.attention_maps import (
    AttentionMaps,
    HeadKind,
    RankedHead,
    head_kinds,
    head_measures,
    uniform_attention,
)
from bertviewer.core.analysis.layers import layer_series
from bertviewer.core.analysis.padding import Padding, usual_length
from bertviewer.core.analysis.predictions import Predictions, predicted_positions, predicts_next
from bertviewer.core.analysis.sentence_vectors import SentenceComparison
from bertviewer.core.analysis.tokens import align
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.layer_steps import inside_layer
from bertviewer.core.replay.module_tensors import tensor_corners
from bertviewer.core.replay.padding import compare_padding
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.runs.sentence_comparison import compare_sentences
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.sources.families import MASK_TOKENS
from bertviewer.core.sources.model_folder import Origin, origin_of
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.tensors.inside_layer import InsideLayer
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress
from bertviewer.core.util.text import as_sentence
from bertviewer.report.run_details import (
    AttentionDetails,
    BaselineDetails,
    ModuleExcerpts,
    OtherModelDetails,
    RunContext,
    RunDetails,
)

MAX_POSITIONS = 3
MAX_CHANGED_HEADS = 5

Found = TypeVar("Found")


def analyse_run(
    context: RunContext,
    *,
    layers: tuple[int, ...] | None = None,
    baseline: RunContext | None = None,
) -> RunDetails:
    """Return the details of a run; what the model does not allow is left out.

    Args:
        context: the run, with its check.
        layers: numbers of the layers to show in full; ``None`` for the first and the last.
        baseline: run A.

    Raises:
        Cancelled: by the progress callback.
    """
    predictions = _predictions(context)
    details = RunDetails(
        attention=_attention(context),
        predictions=predictions,
        histogram=_or_none(partial(context.histogram, "")),
        padding=_or_none(partial(_padding, context)),
        sentences=_or_none(partial(_sentences, context)),
        baseline=None if baseline is None else _baseline(context, predictions, baseline),
    )
    return analyse_layers(details, context, layers)


def analyse_layers(
    details: RunDetails, context: RunContext, layers: tuple[int, ...] | None
) -> RunDetails:
    """Return details with other layers shown in full.

    Raises:
        Cancelled: by the progress callback.
    """
    attention = details.attention
    inside = _or_none(partial(_inside, context, layers))
    return replace(
        details,
        attention=None if attention is None else _with_maps(attention, context, layers),
        inside=inside,
        excerpts=() if inside is not None else tuple(module_excerpts(context, layers)),
    )


def origin_of_model(model: LoadedModel, progress: Progress = no_progress) -> Origin:
    """Return where an open model's weights come from.

    Raises:
        UserError: a file cannot be read.
        Cancelled: by ``progress``.
    """
    files = () if model.checkpoint is None else model.checkpoint.files
    return origin_of(model.source, (file.own for file in files), progress)


def _or_none(calculate: Callable[[], Found]) -> Found | None:
    """Return a result, or ``None`` if the model does not allow it."""
    try:
        return calculate()
    except UserError:
        return None


def _positions(model: LoadedModel, run: ActivationRun) -> tuple[int, ...]:
    """Return the positions of masks, or else the last one with a prediction."""
    known = predicted_positions(run, model.architecture)
    masked = tuple(place for place in known if run.tokens[place].text in MASK_TOKENS)
    return masked[:MAX_POSITIONS] or known[-1:]


def _padding(context: RunContext) -> Padding | None:
    model, run = context.model, context.run
    length = usual_length(len(run.tokens), model.length_limits().source)
    if length is None:
        return None
    return compare_padding(context.cached, length, context.progress)


def _sentences(context: RunContext) -> SentenceComparison | None:
    """Run both texts on their own and compare their vectors."""
    sentence = context.run.sentence
    if sentence.pair is None:
        return None
    is_random = context.run.source.weights == "random"
    return compare_sentences(
        context.model, sentence.text, sentence.pair, context.progress, random_weights=is_random
    )


def _attention(context: RunContext) -> AttentionDetails | None:
    """Return the measures of all heads; the maps of one layer are in memory at a time."""
    measures, kinds, uniform = {}, {}, {}
    for layer in context.attention_layers:
        maps = _or_none(partial(context.attention, layer))
        if maps is None:
            continue
        measures[layer] = head_measures(maps, context.run)
        evenly = head_measures(uniform_attention(maps), context.run)
        kinds[layer] = head_kinds(measures[layer], evenly)
        uniform[layer] = float(evenly["entropy"].max())
    if not measures:
        return None
    return AttentionDetails(measures, kinds, uniform, large=_telling_head(kinds))


def _telling_head(kinds: Mapping[AttentionLayer, Sequence[HeadKind]]) -> RankedHead | None:
    """Return the head that exceeds uniform attention most, or else the most concentrated one."""
    heads = [(layer, one) for layer, each in kinds.items() for one in each if one.kind != "broad"]
    if not heads:
        return None
    layer, best = max(heads, key=lambda pair: _exceeds_uniform(pair[1]))
    return RankedHead(layer, best.head, best.share)


def _exceeds_uniform(head: HeadKind) -> tuple[bool, float]:
    is_other = head.kind == "other"
    return not is_other, -head.share if is_other else head.share - head.uniform


def _with_maps(
    attention: AttentionDetails, context: RunContext, layers: tuple[int, ...] | None
) -> AttentionDetails:
    """Return the same with the maps of some layers, by default of the head to show large."""
    known = tuple(attention.measures)
    large = () if attention.large is None else (attention.large.layer,)
    shown = large if layers is None else tuple(one for one in known if one.number in layers)
    maps = {
        layer: attention.maps.get(layer) or context.attention(layer)
        for layer in dict.fromkeys((*shown, *large))
    }
    return replace(attention, shown=shown, maps=maps)


def _inside(context: RunContext, layers: tuple[int, ...] | None) -> InsideLayer:
    """Return the steps of the first layer to show.

    Raises:
        UserError: there is none, or they cannot be written as code.
    """
    stacks = layer_series(context.model.architecture, context.run)
    number = layers[0] if layers else 0
    paths = [path for series in stacks[:1] for path, _ in series.points()]
    if number >= len(paths):
        raise UserError("this model has no such layer")
    return inside_layer(context.cached, paths[number], context.progress)


def module_excerpts(
    context: RunContext, layers: tuple[int, ...] | None
) -> Iterator[ModuleExcerpts]:
    """Yield corners of the embeddings' output and of the inputs and outputs of layers."""
    for title, path, call in _shown_modules(context, layers):
        excerpt = partial(tensor_corners, context.cached, path, context.progress, call=call)
        corners = _or_none(excerpt)
        if corners:
            yield ModuleExcerpts(title, corners)


def _shown_modules(
    context: RunContext, layers: tuple[int, ...] | None
) -> Iterator[tuple[str, str, int]]:
    """Yield title, path and call of each module with excerpts."""
    run = context.run
    for path in run.state_paths[0] if run.state_paths else ():
        if path:
            yield "the embeddings", path, 0
    stacks = layer_series(context.model.architecture, run)
    for series in stacks:
        points = tuple(series.points())
        numbers = (0, len(points) - 1) if layers is None else layers
        side = f" of {series.stack}" if len(stacks) > 1 else ""
        for number in dict.fromkeys(number for number in numbers if 0 <= number < len(points)):
            path, call = points[number]
            yield f"layer {number}{side}", path, call


def _baseline(b: RunContext, predictions: Sequence[Predictions], a: RunContext) -> BaselineDetails:
    """Compare run B with run A, as far as A can be replayed."""
    if a.recorded.capture is None:
        return BaselineDetails(a.run)
    heads, best = _changed_heads(b, a)
    partners = {of_b: of_a for of_a, of_b in align(a.run.tokens, b.run.tokens)}
    return BaselineDetails(a.run, heads, best, _baseline_predictions(a, predictions, partners))


def analyse_other_model(context: RunContext, other: ModelSource) -> OtherModelDetails:
    """Run the sentence of a run through another model, and compare the two.

    Raises:
        Cancelled: by the progress callback.
    """
    run, progress = context.run, context.progress
    if run.source.weights != "pretrained":
        return OtherModelDetails(
            "The sentence was not run through the other model, because this report’s run uses "
            "random weights: only trained models have predictions to compare."
        )
    try:
        model = open_model(other, progress)
        if model.checkpoint is None:
            return OtherModelDetails(
                f"The sentence was not run through {other.name}, which has no weights here: only "
                "the configurations and the tensors are compared."
            )
        cache = ActivationCache("units")
        found = run_sentence(model, run.sentence, progress, cache=cache, device=run.device)
    except UserError as error:
        problem = as_sentence(str(error))
        return OtherModelDetails(f"The sentence could not be run through {other.name}: {problem}.")
    theirs = RunContext(model, RecordedRun(found, cache, model), progress)
    is_same = found.tokens == run.tokens
    architectures = (context.model.architecture, model.architecture)
    # Both predict the token itself, or both the next one.
    is_alike = len({*map(predicts_next, architectures)}) == 1
    pairs = [_predictions(each) if is_alike else () for each in (context, theirs)]
    return OtherModelDetails(
        run=found,
        architecture=model.architecture,
        predictions=tuple(zip(*pairs, strict=True)) if len({*map(len, pairs)}) == 1 else (),
        heads=_changed_heads(context, theirs)[0] if is_same else (),
    )


def _predictions(context: RunContext) -> tuple[Predictions, ...]:
    return tuple(map(context.predictions, _positions(context.model, context.run)))


def _changed_heads(
    b: RunContext, a: RunContext
) -> tuple[tuple[RankedHead, ...], tuple[AttentionMaps, AttentionMaps] | None]:
    """Return the heads whose attention changed most, and the maps of the first in B and A."""
    known = frozenset(a.attention_layers)
    heads: list[RankedHead] = []
    best: tuple[AttentionMaps, AttentionMaps] | None = None
    for layer in (layer for layer in b.attention_layers if layer in known):
        try:
            of_b, of_a = b.attention(layer), a.attention(layer)
        except UserError:
            continue
        largest = max((head.value for head in heads), default=0.0)
        changes = _changes(
            layer, RunAttention(b.run, of_b, layer), RunAttention(a.run, of_a, layer)
        )
        if any(head.value > largest for head in changes):
            best = of_b, of_a
        heads = sorted((*heads, *changes), key=lambda head: -head.value)[:MAX_CHANGED_HEADS]
    return tuple(heads), best


def _changes(layer: AttentionLayer, b: RunAttention, a: RunAttention) -> list[RankedHead]:
    """Return the mean |B − A| of each head, over the tokens that both runs have."""
    partners = attention_pair(b, a).partners
    differences = HeadDifferences(
        b.maps.probabilities, a.maps.probabilities, partners.rows or (), partners.columns or ()
    )
    changes = []
    for head in range(min(len(b.maps.probabilities), len(a.maps.probabilities))):
        absolute = np.abs(differences[head])
        known = absolute[np.isfinite(absolute)]
        if known.size and known.any():
            changes.append(RankedHead(layer, head, float(known.mean(dtype=np.float64))))
    return changes


def _baseline_predictions(
    a: RunContext, predictions: Sequence[Predictions], partners: Mapping[int, int]
) -> Mapping[int, Predictions]:
    """Return the predictions in A for the tokens that are aligned with those of B."""
    found = {}
    for position in (each.position for each in predictions if each.position in partners):
        prediction = _or_none(partial(a.predictions, partners[position]))
        if prediction is not None:
            found[position] = prediction
    return found
