"""What the views of a run have the worker do: plain functions.

What they need is imported inside them: nothing of it has to be there for the window to come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bertviewer.charts.layers import Measured
    from bertviewer.core.analysis.attention_layers import AttentionLayer
    from bertviewer.core.analysis.attention_maps import Received
    from bertviewer.core.analysis.outliers import MeanStd, OutlierFeature
    from bertviewer.core.analysis.padding import Padding
    from bertviewer.core.analysis.predictions import Predictions
    from bertviewer.core.analysis.sentence_vectors import SentenceComparison
    from bertviewer.core.explain.explanation import Answer
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.schema.activation_run import ActivationRun
    from bertviewer.core.schema.architecture import Architecture
    from bertviewer.core.statistics.histograms import Histogram, Range
    from bertviewer.core.util.progress import Progress
    from bertviewer.ui.jobs.recorded_run import RecordedRun
    from bertviewer.ui.run.view import InSight


def measure_tokens_job(
    paths: Sequence[str], model: LoadedModel, watched: RecordedRun, progress: Progress
) -> Measured:
    """Measure the outputs of modules in a run token by token."""
    from bertviewer.core.replay.outputs import call_statistics

    return call_statistics(watched.cached(model), paths, progress)


def find_outliers_job(
    run: ActivationRun, _model: LoadedModel, progress: Progress
) -> tuple[tuple[OutlierFeature, ...], tuple[MeanStd | None, ...]]:
    """Find the outlier features of a run's hidden states, and the levels of these states."""
    from bertviewer.core.analysis.outliers import outlier_features, state_mean_stds

    progress(0, 0, "Looking for outlier features")
    return outlier_features(run), state_mean_stds(run)


def explain_job(
    sight: InSight,
    architecture: Architecture,
    run: ActivationRun,
    _model: LoadedModel,
    progress: Progress,
) -> tuple[Answer, ...]:
    """Answer what is asked about a view, with the run's own numbers."""
    from bertviewer.core.explain.answers import answers_for_view

    progress(0, 0, "Looking for common questions")
    return answers_for_view(sight.title, architecture, run, maps=sight.maps, state=sight.state)


def compare_sentences_job(  # noqa: PLR0917
    first: str,
    second: str,
    is_random: bool,
    device: str,
    model: LoadedModel,
    progress: Progress,
) -> SentenceComparison:
    """Run two sentences and unrelated ones, and compare their vectors."""
    from bertviewer.core.runs.sentence_comparison import compare_sentences

    return compare_sentences(
        model, first, second, progress, random_weights=is_random, device=device
    )


def pad_job(watched: RecordedRun, length: int, model: LoadedModel, progress: Progress) -> Padding:
    """Run a run's sentence padded to a length, with the mask and without."""
    from bertviewer.core.replay.padding import compare_padding

    return compare_padding(watched.cached(watched.model or model), length, progress)


def received_job(
    layer: AttentionLayer, watched: RecordedRun, model: LoadedModel, progress: Progress
) -> Received:
    """Calculate what share of each head's attention the tokens receive."""
    from bertviewer.core.analysis.attention_maps import received_attention
    from bertviewer.ui.views.attention_request import attention_job

    return received_attention(attention_job(layer, model, watched, progress).maps)


def probabilities_job(
    watched: RecordedRun, model: LoadedModel, progress: Progress
) -> tuple[float | None, ...]:
    """Calculate what probability the head gives each token in its place."""
    from bertviewer.core.replay.predictions import token_probabilities

    return token_probabilities(watched.cached(model), progress)


def histogram_job(
    path: str,
    bounds: Range | None,
    model: LoadedModel,
    watched: RecordedRun,
    progress: Progress,
) -> Histogram | None:
    """Count what a module gave in bins between these bounds; ``None`` if it was not called."""
    from bertviewer.core.replay.outputs import histogram_of

    if watched.run.activation(path) is None:
        return None
    return histogram_of(watched.cached(model), path, progress, range=bounds)


def predictions_job(
    positions: Mapping[RecordedRun, int],
    model: LoadedModel,
    watched: RecordedRun,
    progress: Progress,
) -> Predictions | None:
    """Find what a model predicts at a run's position; ``None`` if the run has none."""
    from bertviewer.core.replay.predictions import predictions_at

    if watched not in positions:
        return None
    return predictions_at(watched.cached(model), positions[watched], progress)
