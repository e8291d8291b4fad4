"""Predictions of a model's head: scores of the vocabulary, and scores of classes."""

from collections.abc import Mapping
from math import exp
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from bertviewer.core.analysis.attention_modules import is_causal
from bertviewer.core.analysis.tokens import positions_of, segments_of
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.families import MASK_TOKENS
from bertviewer.core.util.serialization import PartialEquality

Scores = NDArray[np.floating[Any]]

LONGEST_ANSWER = 30
"""Maximum tokens of an answer, as in BERT's own ``run_squad.py``."""

# Their heads score classes, of which there may be as many as there are words.
_WITHOUT_VOCABULARY = frozenset({"base", "token-classification", "sequence-classification"})


class Candidate(Struct, frozen=True):
    """A token of the vocabulary with its score."""

    id: int
    text: str
    probability: float
    logit: float


class Guess(Struct, frozen=True):
    """A summary of the scores of the whole vocabulary.

    Attributes:
        top: the most probable tokens in order.
        rank: the rank of the expected token, from 1; ``None`` if none is expected or its score is
            not a number.
        probability: its probability, likewise.
    """

    top: tuple[Candidate, ...]
    rank: int | None
    probability: float | None


class VocabularyScores(Struct, frozen=True, eq=False):
    """The scores that the head computes from each hidden state of one token, or from the last.

    Attributes:
        logits: [states, V]; the last row is the model's output.
        log_totals: [states], the logarithm of the sum of each row's exponentials.
    """

    logits: Scores
    log_totals: NDArray[np.float64]

    def logit(self, token: int, state: int = -1) -> float:
        """Return the logit of a token id, by default the model's output."""
        return float(self.logits[state, token])

    def probability(self, token: int, state: int = -1) -> float | None:
        """Return its softmax over the vocabulary, ``None`` if the scores are not finite."""
        total = float(self.log_totals[state])
        return exp(self.logit(token, state) - total) if np.isfinite(total) else None

    def rank(self, token: int, state: int = -1) -> int | None:
        """Return its rank, from 1; tokens with equal scores share the best one."""
        if not np.isfinite(self.log_totals[state]):
            return None
        return 1 + int(np.count_nonzero(self.logits[state] > self.logits[state, token]))


class Predictions(PartialEquality, Struct, frozen=True):
    """The predictions at one position, by the model and after each layer.

    Attributes:
        position: the position of the run's token whose vector is read.
        expected: the position of the token that is predicted there; see ``expected_positions``.
        guess: the model's output.
        layers: the head applied to each hidden state, the embeddings first (the logit lens,
            nostalgebraist 2020), with the model's final norm; the last one is the model's output.
            Empty if the head cannot be applied alone.
        no_layers: why ``layers`` is empty, in one line, else "".
        random_tensors: untrained tensors that the scores depend on.
        scores: of all tokens, for ``layers`` or, if these are empty, for the model's output.
    """

    NOT_COMPARED = ("scores",)

    position: int
    expected: int | None
    guess: Guess
    layers: tuple[Guess, ...]
    no_layers: str = ""
    random_tensors: tuple[str, ...] = ()
    scores: VocabularyScores | None = None


class ClassScores(Struct, frozen=True, eq=False):
    """The scores of a classification head.

    Attributes:
        of: what is classified: the whole "text", whether the second text is the "next sentence",
            each of the "tokens", or where the "answer" begins and ends.
        labels: names of the columns; "start" and "end" of an answer.
        logits: [rows, labels]; one row for the whole text, or one for each of ``tokens``.
        probabilities: of the same shape. They sum to 1 over the labels, for an answer over the
            tokens; independent labels have no sum. ``None`` if the logit is the predicted value.
        tokens: the positions of the rows' tokens, none for the whole text. Encoder-decoders have
            the encoder's, as in the positions that transformers is trained with: the decoder reads
            each token one position later.
        answer: the first and the last position of the most probable answer.
        random_tensors: untrained tensors that the scores depend on.
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


def predicted_positions(run: ActivationRun, architecture: Architecture) -> tuple[int, ...]:
    """Return the positions at which the model scores its vocabulary: an encoder-decoder's decoder.

    There are none without a vocabulary head.
    """
    root = run.activation("")
    shape = () if root is None else root.output_shape
    vocabulary = architecture.config.get("vocab_size")
    if run.source.task in _WITHOUT_VOCABULARY or len(shape) != 3 or shape[2] != vocabulary:
        return ()
    every = tuple(range(len(run.tokens)))
    positions = positions_of(run, 1) if architecture.is_encoder_decoder else every
    return positions if len(positions) == shape[1] else ()


def expected_positions(run: ActivationRun, architecture: Architecture) -> dict[int, int | None]:
    """Return the position of the expected token for each position with predictions.

    That is the position itself or, if the model predicts the next token, the following one, and
    ``None`` at the end. A decoder reads the encoder's tokens one position later, so that it
    predicts the encoder's token at its own position.
    """
    positions = predicted_positions(run, architecture)
    if not positions or not predicts_next(architecture):
        return dict(zip(positions, positions, strict=True))
    if architecture.is_encoder_decoder:
        return {position: row for row, position in enumerate(positions)}
    return dict(zip(positions, (*positions[1:], None), strict=True))


def mask_positions(run: ActivationRun, architecture: Architecture) -> tuple[int, ...]:
    """Return the positions at which a mask is predicted."""
    expected = expected_positions(run, architecture)
    return tuple(
        p for p, e in expected.items() if e is not None and run.tokens[e].text in MASK_TOKENS
    )


def predicts_next(architecture: Architecture) -> bool:
    """Return whether the vector of a token predicts the next token, as in decoders.

    Without traced attention (Mamba, Reformer), the task or the class's name decides.
    """
    if architecture.is_encoder_decoder:
        return True
    causal = is_causal(architecture)
    if causal is not None:
        return causal
    name = architecture.root.class_name
    return architecture.source.task == "causal-lm" or name.endswith("ForCausalLM")


def classification(run: ActivationRun, architecture: Architecture) -> ClassScores | None:
    """Return the scores of the model's classification head, ``None`` if it has none.

    Probabilities are softmax, or sigmoid for the problem type "multi_label_classification". A
    single label is a regression, whose logit is the value, as in transformers.
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
    random_tensors = run.source.random_tensors
    if task == "sequence-classification" and logits.ndim == 2:
        labels = _labels(config, logits.shape[1])
        problem = config.get("problem_type")
        probabilities: Scores | None = _softmax(logits, 1)
        if problem == "multi_label_classification":
            probabilities = _sigmoid(logits)
        elif problem == "regression" or len(labels) == 1:
            probabilities = None
        return ClassScores("text", labels, logits, probabilities, random_tensors=random_tensors)
    if task == "token-classification" and logits.ndim == 3:
        labels, rows = _labels(config, logits.shape[2]), logits[0]
        probabilities = _softmax(rows, 1)
    elif architecture.root.class_name == "ElectraForPreTraining" and logits.ndim == 2:
        # Clark et al. 2020, section 2: did the generator replace the token?
        labels, rows = ("replaced",), logits[0][:, np.newaxis]
        probabilities = _sigmoid(rows)
    else:
        return None
    tokens = tuple(range(len(rows)))
    return ClassScores("tokens", labels, rows, probabilities, tokens, None, random_tensors)


def _next_sentence(run: ActivationRun, logits: Scores, is_order: bool = False) -> ClassScores:
    """Label 0 of BERT is that the second text follows; of ALBERT, that the two are in order."""
    followed = ("is the next sentence", "is not the next sentence")
    return ClassScores(
        "next sentence",
        ("in order", "swapped") if is_order else followed,
        logits,
        _softmax(logits, 1),
        random_tensors=run.source.random_outside("predictions"),
    )


def _answer(run: ActivationRun, starts: Scores, ends: Scores) -> ClassScores:
    logits = np.stack([starts[0], ends[0]], axis=1)
    tokens = tuple(range(len(logits)))
    # Without the decoder's tokens: both texts are in the encoder.
    segments = segments_of(replace(run, tokens=run.tokens[: len(tokens)]))
    # The answer is in the second text: the first one is the question.
    context = 1 if 1 in segments else 0
    allowed = np.array([segments[token] == context for token in tokens], dtype=bool)
    return ClassScores(
        "answer",
        ("start", "end"),
        logits,
        _softmax(logits, 0),
        tokens,
        _best_span(logits, allowed),
        run.source.random_tensors,
    )


def _best_span(logits: Scores, allowed: NDArray[np.bool_]) -> tuple[int, int] | None:
    """Return the span of allowed tokens with the highest sum of both logits (Devlin et al. 2019).

    Its end is not before its start, and it has at most ``LONGEST_ANSWER`` tokens.
    """
    sums = logits[:, :1].astype(np.float64) + logits[:, 1]
    lengths = np.arange(len(logits)) - np.arange(len(logits))[:, np.newaxis] + 1
    possible = allowed[:, np.newaxis] & allowed & (lengths >= 1) & (lengths <= LONGEST_ANSWER)
    possible &= np.isfinite(sums)
    if not possible.any():
        return None
    return divmod(int(np.where(possible, sums, -np.inf).argmax()), len(logits))


def _labels(config: Mapping[str, Any], count: int) -> tuple[str, ...]:
    """Return the configuration's names of the classes, whose keys are strings in JSON."""
    names = {str(key): str(name) for key, name in (config.get("id2label") or {}).items()}
    return tuple(names.get(str(number), f"LABEL_{number}") for number in range(count))


def _softmax(logits: Scores, axis: int) -> Scores:
    exact = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):  # Inf - Inf: probabilities are NaN
        powers = np.exp(exact - exact.max(axis=axis, keepdims=True))
    result: Scores = powers / powers.sum(axis=axis, keepdims=True)
    return result


def _sigmoid(logits: Scores) -> Scores:
    # tanh does not overflow.
    result: Scores = 0.5 * (1 + np.tanh(0.5 * logits.astype(np.float64)))
    return result
