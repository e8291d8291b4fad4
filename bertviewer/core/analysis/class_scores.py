"""What the head of a classifier says of a run: scores and probabilities of its classes."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from bertviewer.core.analysis.token_classes import segments_of
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture

Scores = NDArray[np.floating[Any]]

LONGEST_ANSWER = 30
"""Tokens that an answer may have, as in the script that came with BERT, ``run_squad.py``."""


class ClassScores(Struct, frozen=True, eq=False):
    """The scores of one head.

    Attributes:
        of: what is judged: the whole "text", whether the second text is the "next sentence", each
            of the "tokens", or where the "answer" begins and ends.
        labels: names of the columns; "start" and "end" of an answer.
        logits: [rows, labels]; one row for the whole text, or one for each of ``tokens``.
        probabilities: of the same shape. They sum to 1 over the labels, over the tokens for an
            answer, and not at all where each label is judged apart. ``None`` if the one logit is
            the value itself.
        tokens: the places of the tokens that the rows stand for, none for the whole text. Of an
            encoder-decoder they are the encoder's, as where transformers is told of an answer: its
            decoder reads each of them one place later, and so has still to find it.
        answer: the places of the first and the last token of the likeliest answer.
        random_tensors: tensors on the way to the scores that the checkpoint lacks.
    """

    of: Literal["text", "next sentence", "tokens", "answer"]
    labels: tuple[str, ...]
    logits: Scores
    probabilities: Scores | None
    tokens: tuple[int, ...] = ()
    answer: tuple[int, int] | None = None
    random_tensors: tuple[str, ...] = ()

    @property
    def best(self) -> tuple[int, ...]:
        """The column of the highest score in each row."""
        return tuple(int(column) for column in self.logits.argmax(axis=1))


def classification(run: ActivationRun, architecture: Architecture) -> ClassScores | None:
    """Return what the model's head says of the run, ``None`` if it has none over classes.

    Probabilities are softmax, or sigmoid for the problem type "multi_label_classification". A
    single label is a regression, whose logit is the value, as transformers trains it.
    """
    outputs, task, config = run.outputs, run.source.task, architecture.config
    if task == "question-answering" and {"start_logits", "end_logits"} <= outputs.keys():
        return _answer(run, outputs["start_logits"], outputs["end_logits"])
    if (scores := outputs.get("seq_relationship_logits", outputs.get("sop_logits"))) is not None:
        return _next_sentence(run, scores, is_order="sop_logits" in outputs)
    logits = outputs.get("logits")
    if logits is None or logits.ndim < 2 or logits.shape[0] != 1:
        return None
    if task == "next-sentence":
        return _next_sentence(run, logits)
    if task == "token-classification" and logits.ndim == 3:
        return _of_tokens(run, logits[0], _labels(config, logits.shape[-1]))
    if task == "sequence-classification" and logits.ndim == 2:
        return ClassScores(
            "text",
            _labels(config, logits.shape[-1]),
            logits,
            _probabilities(logits, config.get("problem_type")),
            random_tensors=run.source.random_tensors,
        )
    if architecture.root.class_name == "ElectraForPreTraining" and logits.ndim == 2:
        # Clark et al. 2020, section 2: was each token put there by the generator?
        return _of_tokens(run, logits[0][:, np.newaxis], ("replaced",), is_apart=True)
    return None


def _next_sentence(run: ActivationRun, logits: Scores, is_order: bool = False) -> ClassScores:
    """BERT's label 0 is that the second text follows; ALBERT's, that the two are in order."""
    labels = (
        ("in order", "swapped")
        if is_order
        else ("is the next sentence", "is not the next sentence")
    )
    return ClassScores(
        "next sentence",
        labels,
        logits,
        _softmax(logits, 1),
        random_tensors=run.source.random_outside("predictions"),
    )


def _of_tokens(
    run: ActivationRun, logits: Scores, labels: tuple[str, ...], is_apart: bool = False
) -> ClassScores:
    places = tuple(range(len(logits)))
    probabilities = _sigmoid(logits) if is_apart else _softmax(logits, 1)
    return ClassScores(
        "tokens", labels, logits, probabilities, places, random_tensors=run.source.random_tensors
    )


def _answer(run: ActivationRun, starts: Scores, ends: Scores) -> ClassScores:
    logits = np.stack([starts[0], ends[0]], axis=1)
    places = tuple(range(len(logits)))
    # Without what a decoder reads: both texts are in the encoder.
    segments = segments_of(replace(run, tokens=run.tokens[: len(places)]))
    # The answer is in the second text: the first one is the question.
    context = 1 if 1 in segments else 0
    allowed = np.array([segments[place] == context for place in places], dtype=bool)
    return ClassScores(
        "answer",
        ("start", "end"),
        logits,
        _softmax(logits, 0),
        places,
        _likeliest(places, logits, allowed),
        run.source.random_tensors,
    )


def _likeliest(
    places: tuple[int, ...], logits: Scores, allowed: NDArray[np.bool_]
) -> tuple[int, int] | None:
    """Return the span of allowed tokens with the highest sum of both logits (Devlin et al. 2019).

    It ends where it begins or later, and is not too long.
    """
    sums = logits[:, :1].astype(np.float64) + logits[:, 1]
    lengths = np.arange(len(logits)) - np.arange(len(logits))[:, np.newaxis] + 1
    possible = allowed[:, np.newaxis] & allowed & (lengths >= 1) & (lengths <= LONGEST_ANSWER)
    possible &= np.isfinite(sums)
    if not possible.any():
        return None
    start, end = divmod(int(np.where(possible, sums, -np.inf).argmax()), len(logits))
    return places[start], places[end]


def _labels(config: Mapping[str, Any], count: int) -> tuple[str, ...]:
    """Return the configuration's names of the classes; its keys are texts where it was JSON."""
    names = {str(key): str(name) for key, name in (config.get("id2label") or {}).items()}
    return tuple(names.get(str(number), f"LABEL_{number}") for number in range(count))


def _probabilities(logits: Scores, problem: object) -> Scores | None:
    if problem == "multi_label_classification":
        return _sigmoid(logits)
    if problem == "regression" or logits.shape[-1] == 1:
        return None
    return _softmax(logits, 1)


def _softmax(logits: Scores, axis: int) -> Scores:
    exact = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):  # Inf - Inf: then there are no probabilities
        powers = np.exp(exact - exact.max(axis=axis, keepdims=True))
    result: Scores = powers / powers.sum(axis=axis, keepdims=True)
    return result


def _sigmoid(logits: Scores) -> Scores:
    # By tanh, which does not overflow.
    result: Scores = 0.5 * (1 + np.tanh(0.5 * logits.astype(np.float64)))
    return result
