"""Attention maps: the probabilities of all heads in one call, and measures of each head."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.tokens import token_classes
from bertviewer.core.schema.activation_run import ActivationRun

Probabilities = NDArray[np.floating[Any]]
Floats = NDArray[np.float64]
Shares = tuple[tuple[int, float], ...]
"""Positions of tokens with their shares of attention, the largest first."""

Measure = Literal["entropy", "distance", "previous", "next", "same", "cls", "sep", "first"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

HeadMeasures = Mapping[Measure, Floats]
"""Measures of the heads of one attention, [A] each; undefined measures are left out.

NaN is the value of a head without a finite row.
"""

_OFFSETS: Mapping[Measure, int] = {"previous": -1, "same": 0, "next": 1}

Kind = Literal["previous", "next", "same", "special", "first", "broad", "other"]
"""What a head attends to; see ``head_kinds``."""
_MAIN, _ABOVE_UNIFORM = 0.5, 2.0
_BROAD = 0.9
"""The fraction of the entropy of uniform attention from which a head is broad."""


class AttentionMaps(Struct, frozen=True, eq=False):
    """The attention of all heads of one module in one call.

    Attributes:
        path: the module.
        call: the index of the call; a shared layer is called once for each layer of the stack.
        calls: the number of calls.
        probabilities: [A, S_q, S_k] float32; each query's row sums to 1.
        query_tokens: the positions of the rows among the run's tokens.
        key_tokens: those of the columns; others in cross-attention.
        entropies: ``head_entropies`` of the probabilities.
        distances: ``head_distances``, ``None`` where queries and keys belong to two texts.
        masked: [A, S_q, S_k], the keys that a mask hides from a query, so that their 0 is no
            measurement; ``None`` if none is hidden.
    """

    path: str
    call: int
    calls: int
    probabilities: Probabilities
    query_tokens: tuple[int, ...]
    key_tokens: tuple[int, ...]
    entropies: Floats
    distances: Floats | None
    masked: NDArray[np.bool_] | None = None

    @property
    def is_cross(self) -> bool:
        """Whether queries and keys belong to two texts."""
        return self.distances is None


class Received(Struct, frozen=True, eq=False):
    """The share of each head's attention that tokens receive: [A, S_k], and their positions.

    A head's shares are means over the queries and sum to 1.
    """

    shares: Floats
    tokens: tuple[int, ...]


class RankedHead(Struct, frozen=True):
    """A head and its value of a measure."""

    layer: AttentionLayer
    head: int
    value: float


class HeadKind(Struct, frozen=True):
    """What a head attends to, and how much.

    Attributes:
        head: its number.
        kind: see ``head_kinds``.
        share: its attention to the tokens of the kind; of other heads, their entropy divided by
            that of uniform attention.
        uniform: the share that uniform attention would give these tokens.
    """

    head: int
    kind: Kind
    share: float
    uniform: float = 1.0


def received_attention(maps: AttentionMaps) -> Received:
    """Return the attention that each token receives. Rows that are not finite are left out."""

    def of_head(head: Probabilities) -> Floats:
        rows = head[np.isfinite(head).all(axis=1)]
        if not rows.size:
            return np.full(head.shape[1], np.nan)
        means: Floats = rows.mean(axis=0, dtype=np.float64)
        return means

    return Received(np.array([of_head(head) for head in maps.probabilities]), maps.key_tokens)


def head_entropies(probabilities: Probabilities) -> Floats:
    """Return each head's entropy in nats: -Σ p ln p of a query's row, mean over queries; [A].

    It ranges from 0 (one token) to ln S_k (uniform attention); 0 ln 0 is 0. Rows that are not
    finite are left out; without any other the entropy is NaN. (Clark et al. 2019, "What Does BERT
    Look At?", section 3.3.)
    """
    # Logarithms in single precision, as the probabilities are, take a third of the time.
    least = np.finfo(probabilities.dtype).tiny

    def entropies(head: Probabilities) -> Floats:
        positive = np.maximum(head, least)
        # Subtracted from 0 to avoid -0.
        logs = np.log(positive)
        rows: Floats = 0.0 - np.einsum("qk,qk->q", positive, logs, dtype=float)
        return rows

    return np.array([_finite_mean(entropies(head)) for head in probabilities])


def head_distances(
    probabilities: Probabilities,
    queries: Sequence[int] | None = None,
    keys: Sequence[int] | None = None,
) -> Floats:
    """Return each head's mean distance in tokens: Σ p |i - j| of query i, mean over queries; [A].

    ``queries`` and ``keys`` are the positions of rows and columns, by default 0, 1, 2 …. Rows that
    are not finite are left out; without any other the distance is NaN. (Vig & Belinkov 2019,
    "Analyzing the Structure of Attention in a Transformer Language Model".)
    """
    rows = np.arange(probabilities.shape[1]) if queries is None else np.array(queries, dtype=int)
    columns = np.arange(probabilities.shape[2]) if keys is None else np.array(keys, dtype=int)
    distances = np.abs(rows[:, np.newaxis] - columns).astype(np.float64)
    weighted = (np.einsum("qk,qk->q", h.astype(np.float64), distances) for h in probabilities)
    return np.array([_finite_mean(rows) for rows in weighted])


def head_measures(maps: AttentionMaps, run: ActivationRun) -> HeadMeasures:
    """Return all measures of the heads; p[i, j] is the attention of query i to key j.

    - entropy: see ``head_entropies``;
    - distance: see ``head_distances``;
    - previous, next, same: mean of p[i, i - 1], p[i, i + 1], p[i, i], over the i that have such a
      key, not hidden by a mask (Clark et al. 2019, section 3.1; the diagonal heads of Kovaleva et
      al. 2019, "Revealing the Dark Secrets of BERT", section 4.1);
    - cls, sep: mean over i of Σ p[i, j] over such tokens j (Clark et al. 2019, section 3.2; the
      vertical heads of Kovaleva et al. 2019);
    - first: mean over i of p[i, 0], unless the first token is a cls token.

    Sums are in float64. Between two texts, distances and neighbours are undefined. Rows that are
    not finite are left out.
    """
    values: dict[Measure, Floats] = {"entropy": maps.entropies}
    if maps.distances is not None:
        values["distance"] = maps.distances
        for measure, offset in _OFFSETS.items():
            shares = np.diagonal(maps.probabilities, offset, 1, 2).astype(np.float64)
            if maps.masked is not None:
                shares[np.diagonal(maps.masked, offset, 1, 2)] = np.nan
            values[measure] = _means(shares)
    classes = {one.name: set(one.tokens) for one in token_classes(run)}
    starts, ends = classes.get("cls", set()), classes.get("sep", set())
    first = {n for n in maps.key_tokens[:1] if n not in starts}
    special: tuple[tuple[Measure, set[int]], ...] = (
        ("cls", starts),
        ("sep", ends),
        ("first", first),
    )
    for measure, tokens in special:
        if keys := [n for n, token in enumerate(maps.key_tokens) if token in tokens]:
            sums = maps.probabilities[:, :, keys].sum(axis=2, dtype=np.float64)
            values[measure] = _means(sums)
    return {m: found for m, found in values.items() if not np.isnan(found).all()}


def uniform_attention(maps: AttentionMaps) -> AttentionMaps:
    """Return maps of the same size with uniform attention to the visible keys."""
    visible = np.ones(maps.probabilities.shape, dtype=np.float32)
    if maps.masked is not None:
        visible[maps.masked] = 0.0
    counts = visible.sum(axis=2, keepdims=True)
    return _with_measures(replace(maps, probabilities=visible / np.maximum(counts, 1.0)))


def head_kinds(measures: HeadMeasures, uniform: HeadMeasures) -> tuple[HeadKind, ...]:
    """Return what each head with a finite entropy attends to.

    - previous, next, same, first: the head gives these tokens at least half of its attention, and
      at least twice the share that uniform attention would;
    - special: the same of the cls and sep tokens together;
    - broad: its entropy is at least 0.9 of that of uniform attention;
    - other: none of these.

    ``uniform`` are the measures of ``uniform_attention``. There are no kinds where its entropy is
    0, so that a query has only one key.
    """
    if "entropy" not in measures or "entropy" not in uniform:
        return ()
    shares, evenly = (_shares_by_kind(each) for each in (measures, uniform))
    found = []
    for head, (entropy, most) in enumerate(
        zip(measures["entropy"], uniform["entropy"], strict=True)
    ):
        if not (np.isfinite(entropy) and most > 0):
            continue
        kinds = [
            HeadKind(head, kind, float(row[head]), float(evenly[kind][head]))
            for kind, row in shares.items()
            if row[head] >= max(_MAIN, _ABOVE_UNIFORM * evenly[kind][head])
        ]
        relative = float(entropy / most)
        rest = HeadKind(head, "broad" if relative >= _BROAD else "other", relative)
        found.append(max(kinds, key=lambda one: one.share, default=rest))
    return tuple(found)


def _shares_by_kind(measures: HeadMeasures) -> dict[Kind, Floats]:
    """Return the heads' attention to the tokens of each kind that the measures have."""
    plain: tuple[Literal["previous", "next", "same", "first"], ...]
    plain = ("previous", "next", "same", "first")
    found: dict[Kind, Floats] = {kind: measures[kind] for kind in plain if kind in measures}
    special = [measures[name] for name in ("cls", "sep") if name in measures]
    return found | ({"special": np.sum(special, axis=0)} if special else {})


def ranked_heads(
    measures: Mapping[AttentionLayer, HeadMeasures], measure: Measure
) -> tuple[RankedHead, ...]:
    """Return all heads by a measure, the highest first; equal ones in the order of layers."""
    found = [
        RankedHead(layer, head, value)
        for layer, each in measures.items()
        if (row := each.get(measure)) is not None
        for head, value in enumerate(row.tolist())
        if np.isfinite(value)
    ]
    return tuple(sorted(found, key=lambda one: -one.value))


def mean_of_heads(maps: AttentionMaps) -> AttentionMaps:
    """Return the mean of all heads as the only head, with the measures of the mean."""
    mean = maps.probabilities.mean(axis=0, keepdims=True, dtype=np.float64)
    masked = None if maps.masked is None else np.array([maps.masked.all(axis=0)])
    return _with_measures(replace(maps, probabilities=mean.astype(np.float32), masked=masked))


def without_tokens(maps: AttentionMaps, tokens: Collection[int]) -> AttentionMaps:
    """Return the attention between the other tokens, with each row scaled to sum to 1 again.

    A row without attention to the other tokens is NaN. Distances count the removed tokens too.
    """
    rows = [n for n, token in enumerate(maps.query_tokens) if token not in tokens]
    columns = [n for n, token in enumerate(maps.key_tokens) if token not in tokens]
    part = np.ix_(range(len(maps.probabilities)), rows, columns)
    left = maps.probabilities[part]
    sums = left.sum(axis=2, keepdims=True, dtype=np.float64)
    scaled = np.divide(left, sums, out=np.full(left.shape, np.nan), where=sums > 0)
    return _with_measures(
        replace(
            maps,
            probabilities=scaled.astype(np.float32),
            query_tokens=tuple(maps.query_tokens[row] for row in rows),
            key_tokens=tuple(maps.key_tokens[column] for column in columns),
            masked=None if maps.masked is None else maps.masked[part],
        )
    )


def masked_by_pattern(probabilities: Probabilities) -> NDArray[np.bool_] | None:
    """Infer which keys [A, S_q, S_k] an unknown mask hides; ``None`` if none are.

    Hidden are keys to which all heads give exactly 0 from everywhere, and all keys after a query
    if every head gives 0 to all of them.
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
    """Return the tokens that a token attends to most; none if it is not among the queries."""
    if token not in maps.query_tokens:
        return ()
    row = maps.probabilities[head, maps.query_tokens.index(token)]
    return _largest(row, maps.key_tokens, count)


def most_attending(maps: AttentionMaps, head: int, token: int, count: int) -> Shares:
    """Return the tokens that attend most to a token; none if it is not among the keys."""
    if token not in maps.key_tokens:
        return ()
    column = maps.probabilities[head, :, maps.key_tokens.index(token)]
    return _largest(column, maps.query_tokens, count)


def _with_measures(maps: AttentionMaps) -> AttentionMaps:
    """Return maps with entropies and distances of their probabilities."""
    distances = None
    if not maps.is_cross:
        distances = head_distances(maps.probabilities, maps.query_tokens, maps.key_tokens)
    return replace(maps, entropies=head_entropies(maps.probabilities), distances=distances)


def _means(shares: Floats) -> Floats:
    """Return each head's mean over its queries [A, S], without those that are not finite."""
    is_finite = np.isfinite(shares)
    counts = is_finite.sum(axis=1)
    sums = np.where(is_finite, shares, 0.0).sum(axis=1)
    means = np.full(len(shares), np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def _finite_mean(values: Floats) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else np.nan


def _largest(shares: np.ndarray, tokens: tuple[int, ...], count: int) -> Shares:
    order = np.argsort(-shares, kind="stable").tolist()
    # Leaves out masked tokens and NaN.
    return tuple((tokens[n], float(shares[n])) for n in order if shares[n] > 0)[:count]
