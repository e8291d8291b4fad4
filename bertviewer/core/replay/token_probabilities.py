"""What probability the head over the vocabulary gives each token of a run in its own place."""

from math import isfinite

import torch

from bertviewer.core.analysis.predictions import expected_positions
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.logit_lens import wide
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.runs.replay import reporting
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress


def token_probabilities(
    model: LoadedModel, run: ActivationRun, kept: ActivationCache, progress: Progress = no_progress
) -> tuple[float | None, ...]:
    """Return the softmax over the vocabulary at each token's place; ``None`` where nothing is.

    A model that predicts what comes next gives it one place before, so that the first token has
    none. A token that the model reads unmasked is mostly easy to guess.

    Raises:
        UserError: the model has no head over the vocabulary.
        Cancelled: ``progress`` said so.
    """
    expected = expected_positions(run, model.with_flows(progress))
    if not expected:
        raise UserError("the model has no head that predicts tokens")
    # A run since then may have been on another device.
    module = model.module(random_weights=True, progress=progress, device=run.device)
    with torch.no_grad(), reporting(module, progress):
        logits = first_tensor(module(**kept.inputs))
    assert logits is not None, "the run has seen its shape"
    found: list[float | None] = [None] * len(run.tokens)
    # Row by row: the scores of all tokens in double precision would be large.
    for row, token in enumerate(expected.values()):
        progress(row, len(expected), "Scoring the tokens")
        if token is None:
            continue
        scores = wide(logits[0, row]).double()
        share = float((scores[run.tokens[token].id] - scores.logsumexp(-1)).exp())
        found[token] = share if isfinite(share) else None
    return tuple(found)
