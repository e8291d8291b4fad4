"""What a report needs of a run that is calculated from the open model: its closer looks."""

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.analysis.attention_layers import attention_layers
from bertviewer.core.analysis.prediction_data import predicted_places
from bertviewer.core.closer_look.attention import attention_of
from bertviewer.core.closer_look.outputs import histogram_of
from bertviewer.core.closer_look.predictions import predictions_at
from bertviewer.core.errors import UserError
from bertviewer.core.families.special_tokens import MASKS
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.run.capture import Capture
from bertviewer.core.source.origin import Origin, origin_of
from bertviewer.report.subject import Looks

MOST_PLACES = 3


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
    try:
        histogram = histogram_of(model, run, kept, "", progress)
    except UserError:
        histogram = None
    predictions = tuple(
        predictions_at(model, run, kept, place, progress) for place in _places(model, run)
    )
    return Looks(attentions, predictions, histogram)


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
