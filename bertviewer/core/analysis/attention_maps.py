"""Attention as a run shows it: probabilities of every head, and a figure or two of each."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

Probabilities = NDArray[np.floating[Any]]
Shares = tuple[tuple[int, float], ...]
"""Tokens of the run with their shares, the largest first."""


class AttentionMaps(Struct, frozen=True, eq=False):
    """What the heads of one attention look at in one call.

    Attributes:
        path: the module's path.
        call: which of its calls this is; a shared layer is called once for each of the stack.
        calls: how many calls there were.
        probabilities: [A, S_q, S_k] float32; the row of a query sums to 1.
        query_tokens: the places among the run's tokens that the rows stand for.
        key_tokens: those that the columns stand for: others in cross-attention.
        entropies: ``head_entropies`` of the probabilities.
        distances: ``head_distances``, ``None`` where queries and keys are of two texts.
        masked: [A, S_q, S_k], the keys that a mask hides from a query, whose 0 nothing measured;
            ``None`` where none is hidden.
    """

    path: str
    call: int
    calls: int
    probabilities: Probabilities
    query_tokens: tuple[int, ...]
    key_tokens: tuple[int, ...]
    entropies: NDArray[np.float64]
    distances: NDArray[np.float64] | None
    masked: NDArray[np.bool_] | None = None

    @property
    def is_cross(self) -> bool:
        """Whether queries and keys are of two texts."""
        return self.distances is None


class Received(Struct, frozen=True, eq=False):
    """What share of each head's attention the tokens receive: [A, S_k], and which tokens these are.

    A head's shares are means over the queries and sum to 1.
    """

    shares: NDArray[np.float64]
    tokens: tuple[int, ...]


def received(maps: AttentionMaps) -> Received:
    """Return what the tokens receive. Rows that are not finite are left out."""

    def of_head(head: Probabilities) -> NDArray[np.float64]:
        rows = head[np.isfinite(head).all(axis=1)]
        if not rows.size:
            return np.full(head.shape[1], np.nan)
        means: NDArray[np.float64] = rows.mean(axis=0, dtype=np.float64)
        return means

    return Received(np.array([of_head(head) for head in maps.probabilities]), maps.key_tokens)


def head_entropies(probabilities: Probabilities) -> NDArray[np.float64]:
    """Return each head's entropy in nats: -Σ p ln p of a query's row, mean over queries; [A].

    It is 0 where a head looks at one token, and ln S_k where it looks at all alike. 0 ln 0 is 0.
    Rows that are not finite are left out; without any other the entropy is NaN. (Clark et al.
    2019, "What Does BERT Look At?", section 3.3.)
    """
    # Logarithms in single precision, as the probabilities are, take a third of the time.
    least = np.finfo(probabilities.dtype).tiny

    def entropies(head: Probabilities) -> NDArray[np.float64]:
        some = np.maximum(head, least)
        # 0 and no -0 where a head looks at one token.
        rows: NDArray[np.float64] = 0.0 - np.einsum("qk,qk->q", some, np.log(some), dtype=float)
        return rows

    return np.array([_mean(entropies(head)) for head in probabilities])


def head_distances(
    probabilities: Probabilities,
    queries: Sequence[int] | None = None,
    keys: Sequence[int] | None = None,
) -> NDArray[np.float64]:
    """Return how far each head looks, in tokens: Σ p |i - j| of query i, mean over queries; [A].

    Rows that are not finite are left out; without any other the distance is NaN. (Vig & Belinkov
    2019, "Analyzing the Structure of Attention in a Transformer Language Model".) Rows and columns
    are the tokens at the places ``queries`` and ``keys``, ``None`` for all of a sentence.
    """
    rows = np.arange(probabilities.shape[1]) if queries is None else np.array(queries, dtype=int)
    columns = np.arange(probabilities.shape[2]) if keys is None else np.array(keys, dtype=int)
    distances = np.abs(rows[:, np.newaxis] - columns).astype(np.float64)
    return np.array(
        [_mean(np.einsum("qk,qk->q", head.astype(np.float64), distances)) for head in probabilities]
    )


def mean_of_heads(maps: AttentionMaps) -> AttentionMaps:
    """Return the mean of all heads as the only one; its figures are those of the mean."""
    mean = maps.probabilities.mean(axis=0, keepdims=True, dtype=np.float64)
    masked = None if maps.masked is None else np.array([maps.masked.all(axis=0)])
    return _measured(replace(maps, probabilities=mean.astype(np.float32), masked=masked))


def without_tokens(maps: AttentionMaps, tokens: Collection[int]) -> AttentionMaps:
    """Return the attention between the other tokens: each row is scaled to sum to 1 again.

    A row that gives nothing to the other tokens is NaN. Distances count the tokens in between,
    those that are left out too.
    """
    rows = [place for place, token in enumerate(maps.query_tokens) if token not in tokens]
    columns = [place for place, token in enumerate(maps.key_tokens) if token not in tokens]
    part = np.ix_(range(len(maps.probabilities)), rows, columns)
    left = maps.probabilities[part]
    sums = left.sum(axis=2, keepdims=True, dtype=np.float64)
    scaled = np.divide(left, sums, out=np.full(left.shape, np.nan), where=sums > 0)
    return _measured(
        replace(
            maps,
            probabilities=scaled.astype(np.float32),
            query_tokens=tuple(maps.query_tokens[row] for row in rows),
            key_tokens=tuple(maps.key_tokens[column] for column in columns),
            masked=None if maps.masked is None else maps.masked[part],
        )
    )


def _measured(maps: AttentionMaps) -> AttentionMaps:
    """Return maps with the figures of their probabilities."""
    distances = None
    if not maps.is_cross:
        distances = head_distances(maps.probabilities, maps.query_tokens, maps.key_tokens)
    return replace(maps, entropies=head_entropies(maps.probabilities), distances=distances)


def masked_by_pattern(probabilities: Probabilities) -> NDArray[np.bool_] | None:
    """Return which keys [A, S_q, S_k] are hidden, as far as that shows; ``None`` if none are.

    For an attention whose mask is not known: where every head gives exactly 0 to all that follows
    a query, or to a key from everywhere, that is no measurement.
    """
    _, queries, keys = probabilities.shape
    nothing = (probabilities == 0).all(axis=0)
    hidden = np.zeros((queries, keys), dtype=np.bool_)
    hidden[:, nothing.all(axis=0)] = True
    later = np.triu(np.ones((queries, keys), dtype=np.bool_), 1)
    if queries == keys > 1 and nothing[later].all():
        hidden |= later
    return np.broadcast_to(hidden, probabilities.shape) if hidden.any() else None


def most_attended(maps: AttentionMaps, head: int, token: int, count: int) -> Shares:
    """Return the tokens that a token takes most from; none if it asks nothing here."""
    if token not in maps.query_tokens:
        return ()
    row = maps.probabilities[head, maps.query_tokens.index(token)]
    return _largest(row, maps.key_tokens, count)


def most_attending(maps: AttentionMaps, head: int, token: int, count: int) -> Shares:
    """Return the tokens that take most from a token; none if it is not looked at here."""
    if token not in maps.key_tokens:
        return ()
    column = maps.probabilities[head, :, maps.key_tokens.index(token)]
    return _largest(column, maps.query_tokens, count)


def _mean(values: NDArray[np.float64]) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else np.nan


def _largest(shares: np.ndarray, tokens: tuple[int, ...], count: int) -> Shares:
    order = np.argsort(-shares, kind="stable").tolist()
    # What is masked has no share; NaN is none either.
    return tuple((tokens[n], float(shares[n])) for n in order if shares[n] > 0)[:count]
