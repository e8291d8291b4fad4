"""One vector for a whole sentence, made in the ways that are usual, and how alike two are.

- cls: the vector of the token that stands before the text, as "[CLS]" (Devlin et al. 2019);
- pooled: what the model's pooler makes of it;
- mean: the mean of the vectors of all tokens that the mask lets through, special ones too (Reimers
  & Gurevych 2019, section 3);
- last: the vector of the last token, in a decoder, where no other has seen all of the text.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.core.analysis.similarity import cosines
from bertviewer.core.analysis.token_classes import token_classes
from bertviewer.core.schema.activation_run import ActivationRun

Pooling = Literal["cls", "pooled", "mean", "last"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
_POOLER_OUTPUT = "pooler_output"

Vectors = Sequence[NDArray[np.floating[Any]]]
"""A sentence's vector in each hidden state; a pooled one in the last only."""


class Baseline(Struct, frozen=True):
    """The cosines of unrelated sentences with one another.

    Attributes:
        mean: their mean.
        low: the smallest.
        high: the largest.
    """

    mean: float
    low: float
    high: float


class PooledCosines(Struct, frozen=True):
    """How alike two sentences are by one way to make a vector, beside unrelated ones.

    Attributes:
        pooling: the way.
        label: it in words, with the family's own token: "[CLS]".
        cosines: the two sentences' cosine in each hidden state, or, pooled, the only one; ``None``
            where it is undefined.
        baselines: that of the unrelated sentences in the same places.
    """

    pooling: Pooling
    label: str
    cosines: tuple[float | None, ...]
    baselines: tuple[Baseline | None, ...]

    @property
    def last(self) -> float | None:
        """The cosine in the last hidden state."""
        return self.cosines[-1]

    @property
    def last_baseline(self) -> Baseline | None:
        """What it is to be compared with."""
        return self.baselines[-1]


class SentenceComparison(Struct, frozen=True):
    """Two sentences, how alike their vectors are, and what they were compared with."""

    first: str
    second: str
    poolings: tuple[PooledCosines, ...]
    unrelated: tuple[str, ...]


def sentence_vectors(run: ActivationRun, is_decoder: bool = False) -> dict[Pooling, Vectors]:
    """Return the vectors of a run's sentence; those that the model has not are left out.

    Args:
        run: what one sentence gave. Of an encoder-decoder it is the encoder's tokens.
        is_decoder: whether no token sees a later one.
    """
    if not run.hidden_states:
        return {}
    is_pair = any(len(paths) > 1 for paths in run.state_paths)
    rows = [n for n, token in enumerate(run.tokens) if not is_pair or token.segment == 0]
    found: dict[Pooling, Vectors] = {}
    start = _start(run, rows)
    if start is not None and not is_decoder:
        found["cls"] = [state[start] for state in run.hidden_states]
    pooled = run.outputs.get(_POOLER_OUTPUT)
    if pooled is not None and pooled.ndim == 2:
        found["pooled"] = [pooled[0]]
    if rows:
        found["mean"] = [state[rows].mean(axis=0, dtype=np.float64) for state in run.hidden_states]
        if is_decoder:
            found["last"] = [state[rows[-1]] for state in run.hidden_states]
    return found


def start_label(run: ActivationRun) -> str:
    """Return how the family writes the token that stands before a text, "" if it has none."""
    return next((one.label for one in token_classes(run) if one.name == "cls"), "")


def compared(
    first: Mapping[Pooling, Vectors],
    second: Mapping[Pooling, Vectors],
    unrelated: Sequence[Mapping[Pooling, Vectors]],
    start: str,
) -> tuple[PooledCosines, ...]:
    """Return how alike two sentences are by each way that both have.

    Args:
        first: the vectors of one sentence.
        second: those of the other.
        unrelated: those of sentences that have nothing to do with one another.
        start: the token that stands before a text.
    """
    labels = {"cls": start, "pooled": "pooled", "mean": "mean of all tokens", "last": "last token"}
    found = []
    for pooling in POOLINGS:
        if pooling not in first or pooling not in second:
            continue
        others = [vectors[pooling] for vectors in unrelated if pooling in vectors]
        found.append(
            PooledCosines(
                pooling,
                labels[pooling],
                cosines(np.stack(first[pooling]), np.stack(second[pooling])),
                tuple(
                    _baseline([vectors[state] for vectors in others])
                    for state in range(len(first[pooling]))
                ),
            )
        )
    return tuple(found)


def _baseline(vectors: Vectors) -> Baseline | None:
    pairs = tuple(combinations(vectors, 2))
    if not pairs:
        return None
    one, other = (np.stack([pair[side] for pair in pairs]) for side in (0, 1))
    found = [cosine for cosine in cosines(one, other) if cosine is not None]
    return Baseline(sum(found) / len(found), min(found), max(found)) if found else None


def _start(run: ActivationRun, rows: Sequence[int]) -> int | None:
    """Return the first of the tokens that stand for the whole text."""
    classes = {one.name: one.tokens for one in token_classes(run)}
    return next((place for place in classes.get("cls", ()) if place in rows), None)
