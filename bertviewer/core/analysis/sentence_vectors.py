"""Sentence vectors by the usual pooling methods, and the cosine similarity of two sentences.

- cls: the vector of the token before the text, such as "[CLS]" (Devlin et al. 2019);
- pooled: the output of the model's pooler;
- mean: the mean over all unmasked tokens, special ones too (Reimers & Gurevych 2019, section 3);
- last: the last token's vector in a decoder, where no other token has seen the whole text;
- own: what the model's folder specifies (``SentencePooling``), from the last hidden state.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.core.analysis.similarity import Cosines, cosines
from bertviewer.core.analysis.tokens import token_classes
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.sentence_pooling import PoolingMode, SentencePooling

Pooling = Literal["cls", "pooled", "mean", "last", "own"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)

Vectors = Sequence[NDArray[np.floating[Any]]]
"""A sentence's vector in each hidden state; a pooled one only in the last."""


class UnrelatedCosines(Struct, frozen=True):
    """The cosines between unrelated sentences: mean, smallest and largest."""

    mean: float
    low: float
    high: float


class PooledCosines(Struct, frozen=True):
    """The cosine similarity of two sentences by one pooling method.

    Attributes:
        pooling: the method.
        label: its name, with the family's own token: "[CLS]".
        is_own: whether the model's folder specifies it.
        cosines: in each hidden state, or the only one if pooled; ``None`` if undefined.
        unrelated: the cosines of unrelated sentences, in the same states.
    """

    pooling: Pooling
    label: str
    cosines: Cosines
    unrelated: tuple[UnrelatedCosines | None, ...]
    is_own: bool = False

    @property
    def last(self) -> float | None:
        """The cosine in the last hidden state."""
        return self.cosines[-1]

    @property
    def last_unrelated(self) -> UnrelatedCosines | None:
        """The cosines of unrelated sentences in the last hidden state."""
        return self.unrelated[-1]

    @property
    def is_above_unrelated(self) -> bool:
        """Whether the cosine is higher than those of all unrelated sentences."""
        others = self.last_unrelated
        return others is not None and self.last is not None and self.last > others.high


class SentenceComparison(Struct, frozen=True):
    """The similarity of two sentences, and the unrelated sentences to compare with."""

    first: str
    second: str
    poolings: tuple[PooledCosines, ...]
    unrelated: tuple[str, ...]


def sentence_vectors(run: ActivationRun, is_causal: bool = False) -> dict[Pooling, Vectors]:
    """Return the vectors of a run's sentence by the pooling methods that the model has.

    Args:
        run: the run of one sentence. Of an encoder-decoder, the encoder's tokens count.
        is_causal: whether no token sees a later one.
    """
    if not run.hidden_states:
        return {}
    is_pair = any(len(paths) > 1 for paths in run.state_paths)
    rows = [n for n, token in enumerate(run.tokens) if not is_pair or token.segment == 0]
    found: dict[Pooling, Vectors] = {}
    starts = next((one.tokens for one in token_classes(run) if one.name == "cls"), ())
    start = next((n for n in starts if n in rows), None)
    if start is not None and not is_causal:
        found["cls"] = [state[start] for state in run.hidden_states]
    pooled = run.outputs.get("pooler_output")
    if pooled is not None and pooled.ndim == 2:
        found["pooled"] = [pooled[0]]
    if rows:
        found["mean"] = [state[rows].mean(axis=0, dtype=np.float64) for state in run.hidden_states]
        if is_causal:
            found["last"] = [state[rows[-1]] for state in run.hidden_states]
    own = run.source.sentence_pooling
    # One that is usual is not computed twice; see ``own_usual_pooling``.
    if rows and own is not None and own_usual_pooling(own, found) is None:
        found["own"] = [own_vector(own, run.hidden_states[-1][rows])]
    return found


def own_usual_pooling(own: SentencePooling, usual: Collection[Pooling]) -> Pooling | None:
    """Return which of a sentence's usual vectors is the model's own, ``None`` if it is another.

    A normalization does not change cosines.
    """
    names: Mapping[tuple[str, ...], Pooling] = {
        ("cls",): "cls",
        ("mean",): "mean",
        ("lasttoken",): "last",
    }
    name = names.get(own.modes)
    return name if name in usual else None


def own_vector(own: SentencePooling, vectors: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return the vector that a model's own pooling makes of its tokens' vectors [S, D]."""
    exact = vectors.astype(np.float64)
    weights = np.arange(1, len(exact) + 1)
    pooled: Mapping[PoolingMode, Callable[[], NDArray[np.float64]]] = {
        "cls": lambda: exact[0],
        "max": lambda: exact.max(axis=0),
        "mean": lambda: exact.mean(axis=0),
        "mean_sqrt_len": lambda: exact.sum(axis=0) / np.sqrt(len(exact)),
        "weightedmean": lambda: weights @ exact / weights.sum(),
        "lasttoken": lambda: exact[-1],
    }
    return np.concatenate([pooled[mode]() for mode in own.modes])


def pooling_label(own: SentencePooling) -> str:
    """Return the name of a model's own pooling: "mean of all tokens"."""
    names: Mapping[PoolingMode, str] = {
        "cls": "first token",
        "max": "maximum over all tokens",
        "mean": "mean of all tokens",
        "mean_sqrt_len": "sum of all tokens divided by √length",
        "weightedmean": "mean of all tokens weighted by position",
        "lasttoken": "last token",
    }
    return ", ".join(names[mode] for mode in own.modes)


def start_label(run: ActivationRun) -> str:
    """Return the text of the family's token before a text, "" if it has none."""
    return next((one.label for one in token_classes(run) if one.name == "cls"), "")


def compare_vectors(
    first: Mapping[Pooling, Vectors],
    second: Mapping[Pooling, Vectors],
    unrelated: Sequence[Mapping[Pooling, Vectors]],
    start: str,
    own: SentencePooling | None = None,
) -> tuple[PooledCosines, ...]:
    """Compare two sentences by each pooling method that both have.

    Args:
        first: the vectors of one sentence.
        second: those of the other.
        unrelated: those of sentences unrelated to each other.
        start: the text of the token before a text.
        own: the pooling that the model's folder specifies.
    """
    labels = {"cls": start, "pooled": "pooled", "mean": "mean of all tokens", "last": "last token"}
    usual = None if own is None else own_usual_pooling(own, first)
    if own is not None:
        labels["own"] = pooling_label(own)
    found = []
    for pooling in POOLINGS:
        if pooling not in first or pooling not in second:
            continue
        others = [vectors[pooling] for vectors in unrelated if pooling in vectors]
        states = range(len(first[pooling]))
        found.append(
            PooledCosines(
                pooling,
                labels[pooling],
                cosines(np.stack(first[pooling]), np.stack(second[pooling])),
                tuple(_summary([vectors[state] for vectors in others]) for state in states),
                pooling in ("own", usual),
            )
        )
    return tuple(found)


def _summary(vectors: Vectors) -> UnrelatedCosines | None:
    pairs = tuple(combinations(vectors, 2))
    if not pairs:
        return None
    one, other = (np.stack([pair[side] for pair in pairs]) for side in (0, 1))
    found = [cosine for cosine in cosines(one, other) if cosine is not None]
    return UnrelatedCosines(sum(found) / len(found), min(found), max(found)) if found else None
