"""What a model with a vocabulary head predicts at one place of a sentence."""

from math import exp
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.special_tokens import MASKS
from bertviewer.core.util.serialization import PartialEquality

# Their heads score classes, of which there may be as many as there are words.
_WITHOUT_VOCABULARY = frozenset({"base", "token-classification", "sequence-classification"})


class Candidate(Struct, frozen=True):
    """A token of the vocabulary, as the vocabulary writes it, and what the model gives it."""

    id: int
    text: str
    probability: float
    logit: float


class Guess(Struct, frozen=True):
    """The scores of the whole vocabulary, in short.

    Attributes:
        top: the likeliest tokens, the best one first.
        rank: the place of the expected token among all, from 1; ``None`` if nothing is expected or
            its score is not a number.
        probability: its probability, likewise.
    """

    top: tuple[Candidate, ...]
    rank: int | None
    probability: float | None


class VocabularyScores(Struct, frozen=True, eq=False):
    """What a head gives from each hidden state of one token, or from the last one only.

    Attributes:
        logits: [states, V]; the last row is the model's own.
        log_totals: the logarithm of the sum of each row's exponentials: [states].
    """

    logits: NDArray[np.floating[Any]]
    log_totals: NDArray[np.float64]

    def logit(self, token: int, state: int = -1) -> float:
        """Return the score of the token of that id, by default the model's own."""
        return float(self.logits[state, token])

    def probability(self, token: int, state: int = -1) -> float | None:
        """Return its softmax over the vocabulary, ``None`` where scores are not finite."""
        total = float(self.log_totals[state])
        return exp(self.logit(token, state) - total) if np.isfinite(total) else None

    def rank(self, token: int, state: int = -1) -> int | None:
        """Return its place among all, from 1; those with the same score share the best one."""
        if not np.isfinite(self.log_totals[state]):
            return None
        return 1 + int(np.count_nonzero(self.logits[state] > self.logits[state, token]))


class Predictions(PartialEquality, Struct, frozen=True):
    """What a model predicts at one place, at the end and after each layer.

    Attributes:
        position: the place among the run's tokens whose vector is read.
        expected: the place of the token that is predicted there, as ``expected_places`` says;
            ``None`` if there is none.
        guess: by the model itself.
        layers: by its head from each hidden state, the embeddings first (the logit lens,
            nostalgebraist 2020); the last one is the model's own guess again. A final norm is
            applied to those before it. Empty where the head cannot be used alone.
        no_layers: why ``layers`` is empty, as one plain line, else "".
        random_tensors: tensors on the way to the scores that the checkpoint lacks.
        scores: those of all tokens, of ``layers`` or, where they are empty, of the model itself.
    """

    NOT_COMPARED = ("scores",)

    position: int
    expected: int | None
    guess: Guess
    layers: tuple[Guess, ...]
    no_layers: str = ""
    random_tensors: tuple[str, ...] = ()
    scores: VocabularyScores | None = None


def predicted_places(run: ActivationRun, architecture: Architecture) -> tuple[int, ...]:
    """Return the places of the tokens at which the model scores its vocabulary.

    There are none without a vocabulary head; of an encoder-decoder they are the decoder's.
    """
    root = run.activation("")
    shape = () if root is None else root.output_shape
    vocabulary = architecture.config.get("vocab_size")
    if run.source.task in _WITHOUT_VOCABULARY or len(shape) != 3 or shape[2] != vocabulary:
        return ()
    every = tuple(range(len(run.tokens)))
    if architecture.config.get("is_encoder_decoder"):
        every = tuple(place for place in every if run.tokens[place].segment == 1)
    return every if len(every) == shape[1] else ()


def expected_places(run: ActivationRun, architecture: Architecture) -> dict[int, int | None]:
    """Return for each predicted place the place of the token that is predicted there.

    It is the same one, or, where the model predicts what comes next, the one after it: ``None``
    after the last one. Under a head a decoder reads what the encoder reads, one place later, so
    that the encoder's token is the next one, and its last one is predicted too.
    """
    places = predicted_places(run, architecture)
    if not places or not predicts_next(architecture):
        return dict(zip(places, places, strict=True))
    if architecture.config.get("is_encoder_decoder"):
        return {place: row for row, place in enumerate(places)}
    return dict(zip(places, (*places[1:], None), strict=True))


def mask_places(run: ActivationRun, architecture: Architecture) -> tuple[int, ...]:
    """Return the places at which a mask is predicted: what one wants to see first."""
    expected = expected_places(run, architecture)
    return tuple(p for p, e in expected.items() if e is not None and run.tokens[e].text in MASKS)


def predicts_next(architecture: Architecture) -> bool:
    """Tell whether the vector of a token predicts the one after it: in decoders it does.

    Where no attention was traced, as in Mamba and Reformer, the task says what it was trained for,
    or else the class's name.
    """
    if architecture.config.get("is_encoder_decoder"):
        return True
    causal = is_causal(architecture)
    if causal is not None:
        return causal
    return architecture.source.task == "causal-lm" or architecture.root.class_name.endswith(
        "ForCausalLM"
    )
