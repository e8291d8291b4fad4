"""Jobs of the run's views: plain functions that the worker thread executes.

Libraries are imported inside the functions, so that the window's start does not import them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bertviewer.charts.attention import RunAttention
    from bertviewer.charts.layers import Measured
    from bertviewer.charts.levels import ColorIndices
    from bertviewer.core.analysis.attention_layers import AttentionLayer
    from bertviewer.core.analysis.attention_maps import HeadMeasures, Received
    from bertviewer.core.analysis.outliers import MeanStd, OutlierFeature
    from bertviewer.core.analysis.padding import Padding
    from bertviewer.core.analysis.predictions import Predictions
    from bertviewer.core.analysis.sentence_vectors import SentenceComparison
    from bertviewer.core.explain.explanation import Answer
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.replay.recorded_run import RecordedRun
    from bertviewer.core.schema.activation_run import ActivationRun
    from bertviewer.core.schema.architecture import Architecture
    from bertviewer.core.statistics.histograms import Histogram, Range
    from bertviewer.core.util.progress import Progress
    from bertviewer.ui.run.run_view import ViewTopic


class HeadsOfLayer(Struct, frozen=True, eq=False):
    """Measures of an attention module's heads, and their thumbnails [A, n, n]."""

    measures: HeadMeasures
    thumbnails: ColorIndices


def attention_job(
    layer: AttentionLayer, model: LoadedModel, recorded: RecordedRun, progress: Progress
) -> RunAttention:
    """Compute the attention of a layer's heads."""
    from bertviewer.charts.attention import RunAttention
    from bertviewer.core.replay.attention import attention_of

    maps = attention_of(recorded.cached(model), layer.path, progress, call=layer.call)
    return RunAttention(recorded.run, maps, layer)


def heads_job(
    layers: Sequence[AttentionLayer], model: LoadedModel, recorded: RecordedRun, progress: Progress
) -> dict[AttentionLayer, HeadsOfLayer]:
    """Compute the attention of layers; return measures and thumbnails of their heads."""
    from bertviewer.core.analysis.attention_maps import head_measures
    from bertviewer.plots.thumbnails import shaded

    found = {}
    for layer in layers:
        maps = attention_job(layer, model, recorded, progress).maps
        measures = head_measures(maps, recorded.run)
        found[layer] = HeadsOfLayer(measures, shaded(maps.probabilities, maps.masked))
    return found


def received_job(
    layer: AttentionLayer, recorded: RecordedRun, model: LoadedModel, progress: Progress
) -> Received:
    """Compute the share of each head's attention that the tokens receive."""
    from bertviewer.core.analysis.attention_maps import received_attention

    return received_attention(attention_job(layer, model, recorded, progress).maps)


def token_statistics_job(
    paths: Sequence[str], model: LoadedModel, recorded: RecordedRun, progress: Progress
) -> Measured:
    """Return statistics of each token in the outputs of modules, () for other outputs."""
    from bertviewer.core.replay.outputs import call_statistics

    return {**dict.fromkeys(paths, ()), **call_statistics(recorded.cached(model), paths, progress)}


def histogram_job(
    path: str,
    bounds: Range | None,
    model: LoadedModel,
    recorded: RecordedRun,
    progress: Progress,
) -> Histogram | None:
    """Return the histogram of a module's output, ``None`` if it was not called."""
    from bertviewer.core.replay.outputs import histogram_of

    if recorded.run.activation(path) is None:
        return None
    return histogram_of(recorded.cached(model), path, progress, range=bounds)


def outliers_job(
    run: ActivationRun, _model: LoadedModel, progress: Progress
) -> tuple[tuple[OutlierFeature, ...], tuple[MeanStd | None, ...]]:
    """Return the outlier features of a run, and mean and std of its hidden states."""
    from bertviewer.core.analysis.outliers import outlier_features, state_mean_stds

    progress(0, 0, "Looking for outlier features")
    return outlier_features(run), state_mean_stds(run)


def predictions_job(
    positions: Mapping[RecordedRun, int],
    model: LoadedModel,
    recorded: RecordedRun,
    progress: Progress,
) -> Predictions | None:
    """Return the predictions at a run's position, ``None`` if it has none in ``positions``."""
    from bertviewer.core.replay.predictions import predictions_at

    if recorded not in positions:
        return None
    return predictions_at(recorded.cached(model), positions[recorded], progress)


def probabilities_job(
    recorded: RecordedRun, model: LoadedModel, progress: Progress
) -> tuple[float | None, ...]:
    """Return the probability that the head gives each token at its position."""
    from bertviewer.core.replay.predictions import token_probabilities

    return token_probabilities(recorded.cached(model), progress)


def compare_sentences_job(
    sentences: tuple[str, str], run: ActivationRun, model: LoadedModel, progress: Progress
) -> SentenceComparison:
    """Compare the vectors of two sentences, on a run's weights and device."""
    from bertviewer.core.runs.sentence_comparison import compare_sentences

    is_random = run.source.weights == "random"
    return compare_sentences(
        model, *sentences, progress, random_weights=is_random, device=run.device
    )


def padding_job(
    recorded: RecordedRun, length: int, model: LoadedModel, progress: Progress
) -> Padding:
    """Run a sentence padded to a length, with the attention mask and without."""
    from bertviewer.core.replay.padding import compare_padding

    return compare_padding(recorded.cached(recorded.model or model), length, progress)


def answers_job(
    topic: ViewTopic,
    architecture: Architecture,
    run: ActivationRun,
    _model: LoadedModel,
    progress: Progress,
) -> tuple[Answer, ...]:
    """Return answers to the common questions about a view, with the run's own numbers."""
    from bertviewer.core.explain.answers import answers_for_view

    progress(0, 0, "Looking for common questions")
    predictions = () if topic.predictions is None else (topic.predictions,)
    return answers_for_view(topic.title, architecture, run, topic.maps, topic.state, predictions)
