"""Cosine similarity of hidden states: of tokens, of words, across layers, and anisotropy.

A cosine is undefined if a vector is zero or not finite.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.core.analysis.tokens import Word, words_of
from bertviewer.core.schema.activation_run import ActivationRun

Vectors = NDArray[np.floating[Any]]
Cosines = tuple[float | None, ...]
"""``None`` is an undefined cosine."""


class WordPair(Struct, frozen=True):
    """A word that occurs twice: in both sentences of a run, or in two runs.

    ``text`` is the spelling of the first occurrence.
    """

    text: str
    first: Word
    second: Word


class TokenPath(Struct, frozen=True):
    """One token through the hidden states; a value for each state.

    Attributes:
        norms: Euclidean norms of its vector, ``None`` if not finite.
        to_start: cosines to its vector in state 0, the embeddings.
        to_before: cosines to its vector in the previous state; the first is always ``None``.
    """

    norms: tuple[float | None, ...]
    to_start: Cosines
    to_before: Cosines


class Anisotropy(Struct, frozen=True, eq=False):
    """The mean cosine of two different tokens, and the contribution of each feature.

    With u the vectors scaled to length 1, the contribution of feature d is the mean of
    u_i[d] u_j[d] over all pairs i ≠ j (Timkey and van Schijndel 2021, "All Bark and No Bite",
    section 3.1).

    Attributes:
        mean: the mean cosine.
        parts: [D], with the sum ``mean``.
    """

    mean: float
    parts: NDArray[np.float64]

    def largest(self, count: int) -> tuple[int, ...]:
        """Return the features that contribute most; equal ones in order."""
        return tuple(np.argsort(-self.parts, kind="stable")[:count].tolist())

    def share(self, features: tuple[int, ...]) -> float:
        """Return the share of some features in the mean; above 1 if others lower it."""
        return float(self.parts[list(features)].sum()) / self.mean


def anisotropy(state: Vectors) -> Anisotropy | None:
    """Return the anisotropy of a hidden state [S, D] in O(S D).

    ``None`` with fewer than two vectors that are neither zero nor infinite.
    """
    units, is_defined = unit_vectors(state)
    count = int(is_defined.sum())
    if count < 2:
        return None
    # Undefined vectors are 0 and contribute nothing.
    parts = (units.sum(axis=0) ** 2 - np.square(units).sum(axis=0)) / (count * (count - 1))
    return Anisotropy(float(parts.sum()), parts)


def cosine_matrix(state: Vectors) -> NDArray[np.float64]:
    """Return the cosines of all tokens' vectors, [S, D] to [S, S]: xᵢ·xⱼ / (|xᵢ| |xⱼ|).

    It is symmetric, lies in [-1, 1], and is exactly 1 on its diagonal; rows and columns of
    undefined vectors are NaN.
    """
    units, is_defined = unit_vectors(state)
    matrix = units @ units.T
    np.clip(matrix, -1.0, 1.0, out=matrix)
    np.fill_diagonal(matrix, 1.0)
    matrix[~is_defined] = np.nan
    matrix[:, ~is_defined] = np.nan
    return matrix


def nearest_tokens(state: Vectors, token: int, count: int) -> tuple[tuple[int, float], ...]:
    """Return up to ``count`` other tokens with the largest cosines to a token's vector [S, D].

    Each comes with its cosine, the nearest first. Tokens with an undefined cosine are left out.
    """
    units, is_defined = unit_vectors(state)
    if not is_defined[token]:
        return ()
    values = np.clip(units @ units[token], -1.0, 1.0)
    is_defined[token] = False
    others = np.flatnonzero(is_defined)
    nearest = others[np.argsort(-values[others], kind="stable")[:count]]
    return tuple((int(other), float(values[other])) for other in nearest)


def cosines(first: Vectors, second: Vectors) -> Cosines:
    """Return the cosine of each row of one array [K, D] with the same row of another."""
    (one, is_one), (other, is_other) = unit_vectors(first), unit_vectors(second)
    values = np.clip(np.einsum("ij,ij->i", one, other), -1.0, 1.0).tolist()
    pairs = zip(values, (is_one & is_other).tolist(), strict=True)
    return tuple(value if is_defined else None for value, is_defined in pairs)


def token_path(run: ActivationRun, token: int) -> TokenPath:
    """Return the path of a token; without cosines if the run stored no states.

    Raises:
        IndexError: there is no such token.
    """
    norms = tuple(state[token] for state in run.token_norms)
    if not run.hidden_states:
        undefined = (None,) * len(norms)
        return TokenPath(norms, undefined, undefined)
    vectors = np.stack([state[token] for state in run.hidden_states])
    return TokenPath(
        norms,
        cosines(np.broadcast_to(vectors[0], vectors.shape), vectors),
        (None, *cosines(vectors[:-1], vectors[1:])),
    )


def same_words(run: ActivationRun, other: ActivationRun | None = None) -> tuple[WordPair, ...]:
    """Return the words that occur in both sentences of a run, or in it and in another run.

    Case is ignored. Several occurrences are paired in order; surplus ones and words with unknown
    pieces are left out. The pairs are in the order of their first words.
    """
    words = words_of(run)
    if other is None:
        firsts = [word for word in words if word.segment == 0]
        seconds = [word for word in words if word.segment == 1]
    else:
        firsts, seconds = list(words), list(words_of(other))

    waiting: dict[str, list[Word]] = {}
    for word in reversed(seconds):
        if not word.is_unknown:
            waiting.setdefault(word.text.casefold(), []).append(word)
    return tuple(
        WordPair(word.text, word, partners.pop())
        for word in firsts
        if not word.is_unknown and (partners := waiting.get(word.text.casefold()))
    )


def word_path(run: ActivationRun, pair: WordPair, other: ActivationRun | None = None) -> Cosines:
    """Return the cosine of two words in every hidden state; see ``token_pair_path``.

    A word's vector is the mean of its pieces' vectors.
    """
    return _pair_path(run, pair.first.tokens, other or run, pair.second.tokens)


def token_pair_path(
    run: ActivationRun, first: int, second: int, other: ActivationRun | None = None
) -> Cosines:
    """Return the cosine of two tokens in every hidden state; the second may be of another run.

    The result has the number of states of the shorter run. It is empty if the two runs' vectors
    differ in size.

    Raises:
        IndexError: there is no such token.
    """
    return _pair_path(run, (first,), other or run, (second,))


def _pair_path(
    run: ActivationRun, tokens: Sequence[int], other: ActivationRun, others: Sequence[int]
) -> Cosines:
    states = tuple(zip(run.hidden_states, other.hidden_states, strict=False))
    if not states or any(one.shape[1] != two.shape[1] for one, two in states):
        return ()

    def mean(state: Vectors, positions: Sequence[int]) -> NDArray[np.float64]:
        with np.errstate(over="ignore", invalid="ignore"):  # the cosine is then undefined
            found: NDArray[np.float64] = state[list(positions)].mean(axis=0, dtype=np.float64)
        return found

    return cosines(
        np.stack([mean(one, tokens) for one, _ in states]),
        np.stack([mean(two, others) for _, two in states]),
    )


def unit_vectors(vectors: Vectors) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the vectors [S, D] scaled to length 1, and whether each is defined; others are 0."""
    units = np.array(vectors, dtype=np.float64)
    # Divided by the largest element first, so that squares neither overflow nor vanish.
    sizes = np.abs(units).max(axis=1, initial=0.0)
    is_defined: NDArray[np.bool_] = np.isfinite(sizes) & (sizes > 0)
    units[~is_defined] = 0.0
    units /= np.where(is_defined, sizes, 1.0)[:, np.newaxis]
    norms = np.sqrt(np.einsum("ij,ij->i", units, units))
    units /= np.where(is_defined, norms, 1.0)[:, np.newaxis]
    return units, is_defined
