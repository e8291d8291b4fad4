"""Predictions of the language-model head: for one token, after each layer, and for all tokens."""

from math import isfinite

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
from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.replay.logit_lens import logits_by_layer, widened
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.module_replay import call_model
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress

_NO_HEAD = "the model has no head that predicts tokens"


def predictions_at(
    cached: CachedRun,
    position: int,
    progress: Progress = no_progress,
    *,
    top: int = 10,
) -> Predictions:
    """Return the ``top`` most probable tokens at a position, after each layer and at the end.

    Raises:
        UserError: the model has no head over the vocabulary, or none for that token.
        Cancelled: by ``progress``.
    """
    model, run, cache = cached.model, cached.run, cached.cache
    architecture = model.with_flows(progress)  # it shows whether the next token is predicted
    places = predicted_positions(run, architecture)
    if not places:
        raise UserError(_NO_HEAD)
    if position not in places:
        raise UserError("only the decoder's tokens have predictions")
    expected = expected_positions(run, architecture)[position]
    cached.module(progress)
    no_layers = ""
    try:
        logits = logits_by_layer(cached, position, progress)
    except UserError as error:
        no_layers = str(error)
        logits = widened(_logits(model, cache, progress)[:, places.index(position)])
    progress(0, 0, "Ranking the vocabulary")
    wanted = None if expected is None else run.tokens[expected].id
    guesses = _guesses(model, run, logits, wanted, top)
    return Predictions(
        position,
        expected,
        guesses[-1],
        () if no_layers else guesses,
        no_layers,
        # Not those that classify pairs of sentences.
        run.source.random_outside("pooler", "seq_relationship", "sop_classifier"),
        VocabularyScores(logits.cpu().numpy(), logits.cpu().double().logsumexp(-1).numpy()),
    )


def token_probabilities(
    cached: CachedRun,
    progress: Progress = no_progress,
) -> tuple[float | None, ...]:
    """Return the probability of each of the run's tokens at its position; ``None`` if it has none.

    A model that predicts the next token has it one position before, and none for the first token.
    A token that the model reads unmasked is mostly easy to predict.

    Raises:
        UserError: the model has no head over the vocabulary.
        Cancelled: by ``progress``.
    """
    model, run, cache = cached.model, cached.run, cached.cache
    expected = expected_positions(run, model.with_flows(progress))
    if not expected:
        raise UserError(_NO_HEAD)
    cached.module(progress)
    logits = _logits(model, cache, progress)
    found: list[float | None] = [None] * len(run.tokens)
    # Row by row, since the scores of all tokens in float64 would be large.
    for row, token in enumerate(expected.values()):
        progress(row, len(expected), "Scoring the tokens")
        if token is None:
            continue
        scores = widened(logits[0, row]).double()
        share = float((scores[run.tokens[token].id] - scores.logsumexp(-1)).exp())
        found[token] = share if isfinite(share) else None
    return tuple(found)


def _logits(model: LoadedModel, cache: ActivationCache, progress: Progress) -> Tensor:
    """Run the whole model again and return its scores: [1, S, V]."""
    problem = f"{model.source.name}: the run cannot be replayed"
    logits = first_tensor(call_model(model, cache.inputs, progress, problem))
    assert logits is not None, "the run has seen its shape"
    return logits


def _guesses(
    model: LoadedModel, run: ActivationRun, logits: Tensor, expected: int | None, top: int
) -> tuple[Guess, ...]:
    """Rank the scores [.., V] row by row."""
    scores = logits.cpu().double()
    probabilities = scores.softmax(-1)
    best = scores.topk(min(top, scores.shape[-1]), dim=-1).indices
    # A placeholder tokenizer knows the sentence's tokens only.
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
