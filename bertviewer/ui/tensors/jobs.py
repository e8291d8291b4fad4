"""What the views of a tensor have the worker do: plain functions.

What they need is imported inside them: nothing of it has to be there for the window to come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bertviewer.core.util import libraries

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bertviewer.core.checkpoints.reading import Span
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.schema.activation_run import ModuleTensor, TensorKey
    from bertviewer.core.schema.check import CheckStep
    from bertviewer.core.schema.modules import TensorInfo
    from bertviewer.core.schema.statistics import Statistics
    from bertviewer.core.sources.model_source import ModelSource
    from bertviewer.core.statistics.histograms import Histogram
    from bertviewer.core.tensors.axes import TokenIndex
    from bertviewer.core.tensors.matrix import Matrix, TensorPart
    from bertviewer.core.tensors.reduction import TensorMap
    from bertviewer.core.tensors.scan import MatrixStatistics
    from bertviewer.core.tensors.spectrum import Spectrum
    from bertviewer.core.tensors.values import NamedValues
    from bertviewer.core.util.progress import Progress
    from bertviewer.ui.jobs.recorded_run import RecordedRun


def tensor_values_job(name: str, model: LoadedModel, progress: Progress) -> NamedValues | None:
    """Find where a tensor's values are; ``None`` for a model without weights."""
    from bertviewer.core.tensors.parameters import tensor_values
    from bertviewer.core.tensors.values import NamedValues

    values = tensor_values(model, name, progress)
    if values is None:
        return None
    weights = "random" if values.origin.is_random else "pretrained"
    metadata = {"model": model.source.name, "tensor": name, "weights": weights}
    return NamedValues(values, metadata=metadata)


def seen_tensors_job(
    watched: RecordedRun, path: str, call: int, model: LoadedModel, progress: Progress
) -> tuple[ModuleTensor, ...]:
    """List what a module took and gave in a call of a run."""
    from bertviewer.core.replay.module_tensors import list_tensors

    return list_tensors(watched.cached(model), path, progress, call=call)


def seen_values_job(  # noqa: PLR0917
    watched: RecordedRun,
    path: str,
    call: int,
    key: TensorKey,
    model: LoadedModel,
    progress: Progress,
) -> NamedValues:
    """Find the values of what a module took or gave in a call of a run."""
    from bertviewer.core.replay.module_tensors import values_of

    return values_of(watched.cached(model), path, key, progress, call=call)


def checked_step_job(
    watched: RecordedRun, step: CheckStep, model: LoadedModel, progress: Progress
) -> NamedValues:
    """Find what a step of a check compared."""
    from bertviewer.core.replay.checked_step import checked_step

    return checked_step(watched.cached(model), step, progress)


def token_rows_job(tensor: TensorInfo, model: LoadedModel, progress: Progress) -> TokenIndex:
    """Find which tokens a tensor's rows stand for, if they do."""
    libraries.load(progress)
    from bertviewer.core.tensors.parameters import token_rows

    return token_rows(model, tensor, progress)


def survey_job(matrix: Matrix, _model: LoadedModel, progress: Progress) -> MatrixStatistics:
    """Measure a tensor and the norms of its rows and columns."""
    from bertviewer.core.tensors.scan import scan

    return scan(matrix, progress, "Measuring")


def distribution_job(
    matrix: Matrix, model: LoadedModel, progress: Progress
) -> tuple[Statistics, Histogram]:
    """Measure a tensor, and count its elements in bins."""
    from bertviewer.core.tensors.scan import matrix_histogram

    statistics = survey_job(matrix, model, progress).statistics
    return statistics, matrix_histogram(matrix, statistics, progress, "Counting")


def tensor_map_job(
    matrix: Matrix, rows: Span, columns: Span, _model: LoadedModel, progress: Progress
) -> TensorMap:
    """Reduce a region of a tensor to as many blocks as can be seen."""
    from bertviewer.core.tensors.reduction import tensor_map

    return tensor_map(matrix, rows, columns, progress, "Drawing")


def singular_values_job(matrix: Matrix, _model: LoadedModel, progress: Progress) -> Spectrum:
    """Calculate the singular values of a tensor."""
    from bertviewer.core.tensors.spectrum import singular_values

    return singular_values(matrix, progress, "Singular values")


def save_tensor_job(
    part: TensorPart, path: Path, models: Iterable[ModelSource], progress: Progress
) -> Path:
    """Write a tensor as its file's name says, over no file of ``models``; the path comes back."""
    from bertviewer.core.tensors.saving import save

    return save(part, path, models, progress)
