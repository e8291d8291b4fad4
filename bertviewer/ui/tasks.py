"""What the window has done in the background: plain functions for the worker.

What they need is imported inside them: nothing of it has to be there for the window to come.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from bertviewer.core.system import libraries

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from bertviewer.charts.attentions import Attended, HeadFigures
    from bertviewer.charts.layers import Measured
    from bertviewer.core.activations.activation_run import ActivationRun, Sentence
    from bertviewer.core.activations.check_step import Check
    from bertviewer.core.activations.statistics import Statistics
    from bertviewer.core.analysis.attention_layers import AttentionLayer
    from bertviewer.core.analysis.histogram_data import Histogram, Range
    from bertviewer.core.analysis.outliers import Level, OutlierFeature
    from bertviewer.core.analysis.prediction_data import Predictions
    from bertviewer.core.architecture.architecture import Architecture
    from bertviewer.core.architecture.folding import TreeRow
    from bertviewer.core.architecture.tensor_info import TensorInfo
    from bertviewer.core.comparing.comparison import Comparison
    from bertviewer.core.hub.cache import CachedModel
    from bertviewer.core.hub.opening import HubModel
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.progress import Progress
    from bertviewer.core.run.capture import Capture
    from bertviewer.core.run.device import Device
    from bertviewer.core.source.model_source import ModelSource
    from bertviewer.core.tensors.matrix import Matrix
    from bertviewer.core.tensors.reduction import TensorMap
    from bertviewer.core.tensors.spectrum import Spectrum
    from bertviewer.core.tensors.survey_data import Survey
    from bertviewer.core.tensors.token_index import TokenIndex
    from bertviewer.core.tensors.values import TensorValues
    from bertviewer.core.weights.reading import Span
    from bertviewer.report.document import DrawnRun
    from bertviewer.ui.watched_run import WatchedRun


OVERVIEW = (
    "bertviewer.core.formulas.catalogue",
    "bertviewer.core.loading.rebuilding",
    "bertviewer.report.costs",
)
VIEWS = ("bertviewer.ui.run.run_panel", "bertviewer.ui.tensors.inspector")
REST = 0.25
"""Seconds from a new model to the imports that its first run or plot needs."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An open model, and its tree."""

    model: LoadedModel
    tree: TreeRow


@dataclass(frozen=True, slots=True)
class Ran:
    """A run, and the model anew if it was not what was shown."""

    watched: WatchedRun
    corrected: Opened | None


@dataclass(frozen=True, slots=True)
class Derived:
    """An architecture with more formulas or flows than it had, and its tree."""

    architecture: Architecture
    tree: TreeRow


def open_model(source: ModelSource, progress: Progress) -> Opened:
    """Open a model; the first one that was not seen before waits for torch and transformers."""
    from bertviewer.core.loading import opening

    model = opening.open_model(source, progress, keep=False)  # the tree comes first
    # What its overview is written with, so that the window's thread has it already.
    for name in OVERVIEW:
        import_module(name)
    return Opened(model, _tree(model.architecture))


@dataclass(frozen=True, slots=True)
class Compared:
    """How two models differ, and where they lie."""

    comparison: Comparison
    sources: tuple[ModelSource, ModelSource]


def compare(left: ModelSource, right: ModelSource, progress: Progress) -> Compared:
    """Open two models once more, which takes no weights, and compare them."""
    from bertviewer.core.closer_look.comparing import compare_models
    from bertviewer.core.loading import opening

    ours, theirs = (opening.open_model(source, progress) for source in (left, right))
    comparison = compare_models(ours, theirs, progress)
    return Compared(comparison, (ours.source, theirs.source))


def prepare_views_later(progress: Progress) -> None:
    """Leave the processor to the window, which has a new model to show, and then prepare them."""
    until = time.monotonic() + (0 if libraries.are_loaded() else REST)
    while time.monotonic() < until:
        progress(0, 0, "")
        time.sleep(REST / 10)
    prepare_views()


def prepare_views() -> None:
    """Import what the views of runs and tensors are drawn with, which the first look needs.

    Here, in a worker's thread, and not when the window wants its first plot or formula.
    """
    for name in VIEWS:
        import_module(name)
    from bertviewer.report import typesetting

    typesetting.prepare()


def load_libraries(model: LoadedModel, progress: Progress) -> tuple[Device, ...]:
    """Import what a model is run with, and return where that can be."""
    model.prepare_tokenizer()
    libraries.load(progress)
    from bertviewer.core.run.device import available_devices

    return available_devices()


def confirm(model: LoadedModel, progress: Progress) -> Opened | None:
    """Build a model that was opened without torch; it comes back if it is not what was shown."""
    model.confirm(progress)
    model.keep()
    return _correction(model)


def _correction(model: LoadedModel) -> Opened | None:
    """Return a model that is not what was remembered of it, for the first who asks."""
    if not model.was_corrected:
        return None
    model.was_corrected = False
    return Opened(model, _tree(model.architecture))


def derive_flows(model: LoadedModel, progress: Progress) -> Derived:
    """Find what each module of an open model computes."""
    return _derived(model.with_flows(progress))


def derive_counts(model: LoadedModel, progress: Progress) -> Derived:
    """Derive the counting formulas of an open model."""
    return _derived(model.with_counts(progress))


def derive_costs(model: LoadedModel, progress: Progress) -> Derived:
    """Derive the formulas of what a forward pass costs, once the counts have theirs."""
    return _derived(model.with_costs(progress))


def _derived(architecture: Architecture) -> Derived:
    return Derived(architecture, _tree(architecture))


def _tree(architecture: Architecture) -> TreeRow:
    from bertviewer.core.architecture.folding import fold

    return fold(architecture)


def run_sentence(
    model: LoadedModel,
    sentence: Sentence,
    random_weights: bool,
    device_wish: str,
    progress: Progress,
) -> Ran:
    """Run a sentence through an open model, and keep what it takes to look closer.

    It runs on the device that is wished for, if there is one of that name.
    """
    libraries.load(progress)
    from bertviewer.core.run import running
    from bertviewer.core.run.capture import Capture
    from bertviewer.core.run.device import available_devices, chosen_device
    from bertviewer.ui.watched_run import WatchedRun

    prepare_views()
    device = chosen_device(device_wish, available_devices())
    kept = Capture("units")
    run = running.run_sentence(
        model, sentence, random_weights, progress, capture=kept, device=device
    )
    return Ran(WatchedRun(run, kept), _correction(model))


def check_module(model: LoadedModel, kept: Capture, path: str, progress: Progress) -> Check:
    """Check what the module at ``path`` gave in a run."""
    from bertviewer.core.checking import check

    return check.check_module(model, kept, path, progress)


def measure_tokens(
    paths: Sequence[str], model: LoadedModel, watched: WatchedRun, progress: Progress
) -> Measured:
    """Measure what modules gave in a run token by token; the hidden states need no replay."""
    from bertviewer.core.analysis.part_tokens import state_statistics
    from bertviewer.core.closer_look.outputs import call_statistics

    found = {}
    for number, path in enumerate(paths):
        progress(number, len(paths), path)
        if (measured := state_statistics(watched.run, path)) is not None:
            found[path] = measured
    others = [path for path in paths if path not in found]
    return found | call_statistics(model, watched.run, watched.kept, others, progress)


def find_outliers(
    run: ActivationRun, _model: LoadedModel, progress: Progress
) -> tuple[tuple[OutlierFeature, ...], tuple[Level | None, ...]]:
    """Find the outlier features of a run's hidden states, and the levels of these states."""
    from bertviewer.core.analysis.outliers import outlier_features, state_levels

    progress(0, 0, "Looking for outlier features")
    return outlier_features(run), state_levels(run)


def attention(
    layer: AttentionLayer, model: LoadedModel, watched: WatchedRun, progress: Progress
) -> Attended:
    """Calculate what the heads of an attention look at."""
    from bertviewer.charts.attentions import Attended
    from bertviewer.core.closer_look.attention import attention_of

    run = watched.run
    maps = attention_of(model, run, watched.kept, layer.path, progress, call=layer.call)
    return Attended(run, maps, layer)


def head_figures(
    layer: AttentionLayer, model: LoadedModel, watched: WatchedRun, progress: Progress
) -> HeadFigures:
    """Calculate an attention, and keep just a figure or two of each head."""
    from bertviewer.charts.attentions import HeadFigures

    maps = attention(layer, model, watched, progress).maps
    return HeadFigures(maps.entropies, maps.distances)


def histogram(
    path: str,
    bounds: Range | None,
    model: LoadedModel,
    watched: WatchedRun,
    progress: Progress,
) -> Histogram | None:
    """Count what a module gave in bins between these bounds; ``None`` if it was not called."""
    from bertviewer.core.closer_look.outputs import histogram_of

    if watched.run.activation(path) is None:
        return None
    return histogram_of(model, watched.run, watched.kept, path, progress, range=bounds)


def predictions(
    positions: Mapping[WatchedRun, int],
    model: LoadedModel,
    watched: WatchedRun,
    progress: Progress,
) -> Predictions | None:
    """Find what a model predicts at a run's position; ``None`` if the run has none."""
    from bertviewer.core.closer_look.predictions import predictions_at

    if watched not in positions:
        return None
    return predictions_at(model, watched.run, watched.kept, positions[watched], progress)


def write_report(
    path: Path,
    architecture: Architecture,
    drawn: DrawnRun | None,
    models: Iterable[ModelSource],
    progress: Progress,
) -> Path:
    """Typeset a report and write it, over no file of ``models``; the path comes back."""
    from bertviewer.report.document import build_document
    from bertviewer.report.pdf import write_document

    progress(0, 0, "Typesetting the report")
    write_document(path, build_document(architecture, drawn), models)
    return path


def write_modules(
    path: Path, architecture: Architecture, models: Iterable[ModelSource], progress: Progress
) -> Path:
    """Write all modules as CSV, over no file of ``models``; the path comes back."""
    from bertviewer.core.saving.files import save
    from bertviewer.report import formats

    progress(0, 0, "Writing the modules")
    text = formats.csv(architecture, depth=None, with_parameters=False)
    save(path, text.encode(), models)
    return path


def tensor_values(name: str, model: LoadedModel, progress: Progress) -> TensorValues | None:
    """Find where a tensor's values are; ``None`` for a model without weights."""
    from bertviewer.core.closer_look import tensor_values as finding

    return finding.tensor_values(model, name, progress)


def token_rows(tensor: TensorInfo, model: LoadedModel, progress: Progress) -> TokenIndex:
    """Find which tokens a tensor's rows stand for, if they do."""
    libraries.load(progress)
    from bertviewer.core.closer_look import token_rows as row_names

    return row_names.token_rows(model, tensor, progress)


def survey(matrix: Matrix, _model: LoadedModel, progress: Progress) -> Survey:
    """Measure a tensor and the norms of its rows and columns."""
    libraries.load(progress)
    from bertviewer.core.closer_look import survey as module

    return module.survey(matrix, progress, "Measuring")


def distribution(
    matrix: Matrix, model: LoadedModel, progress: Progress
) -> tuple[Statistics, Histogram]:
    """Measure a tensor, and count its elements in bins."""
    from bertviewer.core.closer_look.survey import matrix_histogram

    statistics = survey(matrix, model, progress).statistics
    return statistics, matrix_histogram(matrix, statistics, progress, "Counting")


def tensor_map(
    matrix: Matrix, rows: Span, columns: Span, _model: LoadedModel, progress: Progress
) -> TensorMap:
    """Reduce a region of a tensor to as many blocks as can be seen."""
    from bertviewer.core.tensors import reduction

    return reduction.tensor_map(matrix, rows, columns, progress, "Drawing")


def singular_values(matrix: Matrix, _model: LoadedModel, progress: Progress) -> Spectrum:
    """Calculate the singular values of a tensor."""
    libraries.load(progress)
    from bertviewer.core.closer_look import singular_values as module

    return module.singular_values(matrix, progress, "Singular values")


def save_tensor(
    matrix: Matrix, path: Path, models: Iterable[ModelSource], progress: Progress
) -> Path:
    """Write a tensor as .npy or CSV, over no file of ``models``; the path comes back."""
    from bertviewer.core.tensors import saving

    return saving.save(matrix, path, models, progress)


def cached_models(progress: Progress) -> tuple[CachedModel, ...]:
    """List the models of the hub that are on this disk."""
    from bertviewer.core.hub import cache
    from bertviewer.core.hub.connection import cache_folder

    progress(0, 0, "Looking for models")
    return cache.cached_models(cache_folder())


def fetch_weights(remote: HubModel, progress: Progress) -> None:
    """Download the weights of an open model of the hub."""
    remote.fetch(progress)
