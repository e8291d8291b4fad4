"""What a report needs of a run that is calculated from the open model: its closer looks."""

from collections.abc import Callable
from typing import TypeVar

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.analysis.attention_layers import attention_layers
from bertviewer.core.analysis.padding import Padding, usual_length
from bertviewer.core.analysis.prediction_data import predicted_places
from bertviewer.core.analysis.sentence_vectors import SentenceComparison
from bertviewer.core.closer_look.attention import attention_of
from bertviewer.core.closer_look.outputs import histogram_of
from bertviewer.core.closer_look.padding import look_at_padding
from bertviewer.core.closer_look.predictions import predictions_at
from bertviewer.core.closer_look.sentences import compare_sentences
from bertviewer.core.errors import UserError
from bertviewer.core.families.special_tokens import MASKS
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.run.capture import Capture
from bertviewer.core.source.configuration import position_limit
from bertviewer.core.source.origin import Origin, origin_of
from bertviewer.report.subject import Looks

MOST_PLACES = 3


Found = TypeVar("Found")


def looked_at(
    model: LoadedModel, run: ActivationRun, kept: Capture, progress: Progress = no_progress
) -> Looks:
    """Calculate it. What cannot be shown of this model, as an attention without weights, is not.

    Raises:
        Cancelled: by ``progress``.
    """
    attentions = {}
    for layer in attention_layers(model.architecture, run):
        try:
            found = attention_of(model, run, kept, layer.path, progress, call=layer.call)
        except UserError:
            continue
        attentions[layer] = found
    predictions = tuple(
        predictions_at(model, run, kept, place, progress) for place in _places(model, run)
    )
    return Looks(
        attentions,
        predictions,
        _or_none(lambda: histogram_of(model, run, kept, "", progress)),
        _or_none(lambda: _padding(model, run, kept, progress)),
        _or_none(lambda: _sentences(model, run, progress)),
    )


def _or_none(look: Callable[[], Found]) -> Found | None:
    """Return what a look gives; ``None`` where the model does not allow it."""
    try:
        return look()
    except UserError:
        return None


def _padding(
    model: LoadedModel, run: ActivationRun, kept: Capture, progress: Progress
) -> Padding | None:
    limit = position_limit(model.architecture.config)
    length = usual_length(len(run.tokens), limit)
    return None if length is None else look_at_padding(model, run, kept, length, progress)


def _sentences(
    model: LoadedModel, run: ActivationRun, progress: Progress
) -> SentenceComparison | None:
    """Compare the run's two texts, each alone."""
    if run.sentence.pair is None:
        return None
    is_random = run.source.weights == "random"
    texts = run.sentence.text, run.sentence.pair
    return compare_sentences(model, *texts, progress, random_weights=is_random)


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
    known = predicted_places(run, model.architecture)
    masked = tuple(place for place in known if run.tokens[place].text in MASKS)
    return masked[:MOST_PLACES] or known[-1:]
