"""What the head over the vocabulary predicts at one place of a run, and after each layer."""

import torch
from torch import Tensor

from bertviewer.core.analysis.predictions import (
    Candidate,
    Guess,
    Predictions,
    VocabularyScores,
    expected_positions,
    predicted_positions,
)
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.logit_lens import logits_by_layer, wide
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.runs.replay import reporting
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress


def predictions_at(
    model: LoadedModel,
    run: ActivationRun,
    kept: ActivationCache,
    position: int,
    progress: Progress = no_progress,
    *,
    top: int = 10,
) -> Predictions:
    """Return the ``top`` likeliest tokens at the place ``position``, by the model and its layers.

    Raises:
        UserError: the model has no head over the vocabulary, or none of that token.
        Cancelled: ``progress`` said so.
    """
    architecture = model.with_flows(progress)  # they say whether the next token is predicted
    places = predicted_positions(run, architecture)
    if not places:
        raise UserError("the model has no head that predicts tokens")
    if position not in places:
        raise UserError("only the decoder's tokens have predictions")
    expected = expected_positions(run, architecture)[position]
    # A run since then may have been on another device.
    model.module(random_weights=True, progress=progress, device=run.device)
    no_layers = ""
    try:
        logits = logits_by_layer(model, run, kept, position, progress)
    except UserError as error:
        no_layers = str(error)
        logits = _own_logits(model, kept, places.index(position), progress)
    progress(0, 0, "Ranking the vocabulary")
    wanted = None if expected is None else run.tokens[expected].id
    guesses = _guesses(model, run, logits, wanted, top)
    return Predictions(
        position,
        expected,
        guesses[-1],
        () if no_layers else guesses,
        no_layers,
        # Beside the way: what judges pairs of sentences.
        run.source.random_outside("pooler", "seq_relationship", "sop_classifier"),
        VocabularyScores(logits.cpu().numpy(), logits.cpu().double().logsumexp(-1).numpy()),
    )


def _own_logits(model: LoadedModel, kept: ActivationCache, row: int, progress: Progress) -> Tensor:
    """Run the whole model again and return its scores at a row: [1, V]."""
    module = model.running_module
    with torch.no_grad(), reporting(module, progress):
        logits = first_tensor(module(**kept.inputs))
    assert logits is not None, "the run has seen its shape"
    return wide(logits[:, row])


def _guesses(
    model: LoadedModel, run: ActivationRun, logits: Tensor, expected: int | None, top: int
) -> tuple[Guess, ...]:
    """Rank the scores [.., V] row by row."""
    scores = logits.cpu().double()
    probabilities = scores.softmax(-1)
    best = scores.topk(min(top, scores.shape[-1]), dim=-1).indices
    # A stand-in knows the words of the sentence and no others.
    texts = {token.id: token.text for token in run.tokens}
    tokenizer = model.tokenizer()
    guesses = []
    for row, ids in enumerate(best.tolist()):
        for number in ids:
            texts.setdefault(number, tokenizer.text_of(number))
        candidates = tuple(
            Candidate(n, texts[n], float(probabilities[row, n]), float(scores[row, n])) for n in ids
        )
        rank = probability = None
        if expected is not None and bool(probabilities[row].isfinite().all()):
            rank = 1 + int((scores[row] > scores[row, expected]).sum())
            probability = float(probabilities[row, expected])
        guesses.append(Guess(candidates, rank, probability))
    return tuple(guesses)
