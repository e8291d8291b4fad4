"""What a report needs of a run that is calculated from the open model: its closer looks."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from bertviewer.core.analysis.layers import layer_series
from bertviewer.core.analysis.padding import Padding, usual_length
from bertviewer.core.analysis.predictions import predicted_positions
from bertviewer.core.analysis.sentence_vectors import SentenceComparison
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.module_tensors import tensor_corners
from bertviewer.core.replay.outputs import histogram_of
from bertviewer.core.replay.padding import compare_padding
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.sentence_comparison import compare_sentences
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.sources.families import MASK_TOKENS
from bertviewer.core.sources.model_folder import Origin, origin_of
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress
from bertviewer.report.looking_at_checks import compared_elements
from bertviewer.report.looking_at_heads import seen_heads, with_maps
from bertviewer.report.looking_beside import OtherRun, beside
from bertviewer.report.looks import Looks, SeenModule
from bertviewer.report.run_looked_at import LookedAt

MOST_PLACES = 3

Found = TypeVar("Found")


def looked_at(
    model: LoadedModel,
    run: ActivationRun,
    kept: ActivationCache,
    progress: Progress = no_progress,
    *,
    layers: tuple[int, ...] | None = None,
    other: OtherRun | None = None,
) -> Looks:
    """Calculate it. What cannot be shown of this model, as an attention without weights, is not.

    Args:
        model: the open model.
        run: its run, with what was checked of it.
        kept: what the run kept.
        progress: told of what is done.
        layers: those that are shown whole, counted from 0; ``None`` for the first and the last.
        other: run A, if there is one.

    Raises:
        Cancelled: by ``progress``.
    """
    it = LookedAt(model, run, kept, progress)
    predictions = tuple(map(it.predictions, _places(model, run)))
    found = Looks(
        seen_heads(it),
        predictions,
        _or_none(lambda: histogram_of(it, "", progress)),
        _or_none(lambda: _padding(it)),
        _or_none(lambda: _sentences(it)),
        compared=compared_elements(it),
        beside=None if other is None else beside(it, predictions, other),
    )
    return of_layers(found, model, run, kept, layers, progress)


def of_layers(  # noqa: PLR0917
    looks: Looks,
    model: LoadedModel,
    run: ActivationRun,
    kept: ActivationCache,
    layers: tuple[int, ...] | None,
    progress: Progress = no_progress,
) -> Looks:
    """Return the same with other layers shown whole.

    Raises:
        Cancelled: by ``progress``.
    """
    heads, it = looks.heads, LookedAt(model, run, kept, progress)
    return replace(
        looks,
        heads=None if heads is None else with_maps(heads, it, layers),
        values=tuple(_values(it, layers)),
    )


def _values(it: LookedAt, layers: tuple[int, ...] | None) -> Iterator[SeenModule]:
    """Yield what the embeddings gave, and what the chosen layers took and gave."""
    for title, path, call in _shown_modules(it, layers):
        look = _or_none(partial(tensor_corners, it, path, it.progress, call=call))
        if look:
            yield SeenModule(title, path, look)


def _shown_modules(it: LookedAt, layers: tuple[int, ...] | None) -> Iterator[tuple[str, str, int]]:
    """Yield what is shown: in words, its path, and which of its calls."""
    for path in it.run.state_paths[0] if it.run.state_paths else ():
        if path:
            yield "the embeddings", path, 0
    found = layer_series(it.model.architecture, it.run)
    for series in found:
        points = tuple(series.points())
        wanted = (0, len(points) - 1) if layers is None else layers
        side = f" of {series.stack}" if len(found) > 1 else ""
        for number in dict.fromkeys(number for number in wanted if 0 <= number < len(points)):
            path, call = points[number]
            yield f"layer {number}{side}", path, call


def _or_none(look: Callable[[], Found]) -> Found | None:
    """Return what a look gives; ``None`` where the model does not allow it."""
    try:
        return look()
    except UserError:
        return None


def _padding(it: LookedAt) -> Padding | None:
    length = usual_length(len(it.run.tokens), it.model.length_limits().source)
    if length is None:
        return None
    return compare_padding(it, length, it.progress)


def _sentences(it: LookedAt) -> SentenceComparison | None:
    """Compare the run's two texts, each alone."""
    text, pair = it.run.sentence.text, it.run.sentence.pair
    if pair is None:
        return None
    is_random = it.run.source.weights == "random"
    return compare_sentences(it.model, text, pair, it.progress, random_weights=is_random)


def origin_of_model(model: LoadedModel, progress: Progress = no_progress) -> Origin:
    """Return where an open model's weights come from.

    Raises:
        UserError: a file of them cannot be read.
        Cancelled: by ``progress``.
    """
    files = () if model.checkpoint is None else model.checkpoint.files
    return origin_of(model.source, (file.own for file in files), progress)


def _places(model: LoadedModel, run: ActivationRun) -> tuple[int, ...]:
    """Return the places of most interest: those of masks, or else the last one."""
    known = predicted_positions(run, model.architecture)
    masked = tuple(place for place in known if run.tokens[place].text in MASK_TOKENS)
    return masked[:MOST_PLACES] or known[-1:]
