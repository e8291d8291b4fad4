"""Cosine similarity of hidden states: of all tokens, of two tokens, of one word in two places.

A cosine is undefined where a vector is zero or not finite.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.core.analysis.words import Word, words_of
from bertviewer.core.schema.activation_run import ActivationRun

Vectors = NDArray[np.floating[Any]]


class WordPair(Struct, frozen=True):
    """One word in two places: in both sentences of a run, or in two runs.

    ``text`` is the word as the first place writes it.
    """

    text: str
    first: Word
    second: Word


def cosine_matrix(state: Vectors) -> NDArray[np.float64]:
    """Return the cosines of all tokens' vectors, [S, D] to [S, S]: xᵢ·xⱼ / (|xᵢ| |xⱼ|).

    It is symmetric, lies in [-1, 1], and has exactly 1 on its diagonal; rows and columns of vectors
    without a direction are NaN.
    """
    units, is_defined = unit_vectors(state)
    matrix = units @ units.T
    np.clip(matrix, -1.0, 1.0, out=matrix)
    np.fill_diagonal(matrix, 1.0)
    matrix[~is_defined] = np.nan
    matrix[:, ~is_defined] = np.nan
    return matrix


def nearest_tokens(state: Vectors, token: int, count: int) -> tuple[tuple[int, float], ...]:
    """Return the other tokens whose vectors [S, D] have the largest cosines with one token's.

    There are at most ``count`` of them, each with its cosine, the nearest first. Tokens without a
    direction are not among them.
    """
    units, is_defined = unit_vectors(state)
    if not is_defined[token]:
        return ()
    cosines = np.clip(units @ units[token], -1.0, 1.0)
    is_defined[token] = False
    others = np.flatnonzero(is_defined)
    nearest = others[np.argsort(-cosines[others], kind="stable")[:count]]
    return tuple((int(place), float(cosines[place])) for place in nearest)


def cosines(first: Vectors, second: Vectors) -> tuple[float | None, ...]:
    """Return the cosine of each row of one array [K, D] with the same row of another.

    ``None`` stands for one that is undefined.
    """
    (one, is_one), (other, is_other) = unit_vectors(first), unit_vectors(second)
    values = np.clip(np.einsum("ij,ij->i", one, other), -1.0, 1.0).tolist()
    pairs = zip(values, (is_one & is_other).tolist(), strict=True)
    return tuple(value if is_defined else None for value, is_defined in pairs)


def same_words(
    run: ActivationRun, other: ActivationRun | None = None, ignore_case: bool = True
) -> tuple[WordPair, ...]:
    """Return the words that occur in both sentences of a run, or in it and in another run.

    Several occurrences are paired in order, and those left over have no partner. A word with
    unknown pieces has none either: its text does not tell what it is. The pairs are in the order
    of their first words.
    """
    words = words_of(run)
    if other is None:
        firsts = [word for word in words if word.segment == 0]
        seconds = [word for word in words if word.segment == 1]
    else:
        firsts, seconds = list(words), list(words_of(other))

    def key(word: Word) -> str:
        return word.text.casefold() if ignore_case else word.text

    waiting: dict[str, list[Word]] = {}
    for word in reversed(seconds):
        if not word.is_unknown:
            waiting.setdefault(key(word), []).append(word)
    return tuple(
        WordPair(word.text, word, partners.pop())
        for word in firsts
        if not word.is_unknown and (partners := waiting.get(key(word)))
    )


def word_path(
    run: ActivationRun, pair: WordPair, other: ActivationRun | None = None
) -> tuple[float | None, ...]:
    """Return the cosine of the two words in every hidden state.

    A word's vector is the mean of its pieces' vectors. Where the pair is of two runs, ``other`` is
    the second one; see ``token_pair_path``.
    """
    return _path(run, pair.first.tokens, other or run, pair.second.tokens)


def token_pair_path(
    run: ActivationRun, first: int, second: int, other: ActivationRun | None = None
) -> tuple[float | None, ...]:
    """Return the cosine of two tokens in every hidden state, ``None`` where it is undefined.

    With ``other``, the second token is that run's. The path is as long as the shorter run has
    states, and empty where the vectors of the two runs differ in size.

    Raises:
        IndexError: there is no such token.
    """
    return _path(run, (first,), other or run, (second,))


def _path(
    run: ActivationRun, tokens: Sequence[int], other: ActivationRun, others: Sequence[int]
) -> tuple[float | None, ...]:
    states = tuple(zip(run.hidden_states, other.hidden_states, strict=False))
    if not states or any(one.shape[1] != two.shape[1] for one, two in states):
        return ()
    return cosines(
        np.stack([_mean(one, tokens) for one, _ in states]),
        np.stack([_mean(two, others) for _, two in states]),
    )


def _mean(state: Vectors, tokens: Sequence[int]) -> NDArray[np.float64]:
    with np.errstate(over="ignore", invalid="ignore"):  # then there is no cosine
        mean: NDArray[np.float64] = state[list(tokens)].mean(axis=0, dtype=np.float64)
    return mean


def unit_vectors(vectors: Vectors) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the vectors [S, D] at length 1, and which of them have a direction; others are 0."""
    units = np.array(vectors, dtype=np.float64)
    # Divided by its largest element first, no vector is too long or too short to be squared.
    sizes = np.abs(units).max(axis=1, initial=0.0)
    is_defined: NDArray[np.bool_] = np.isfinite(sizes) & (sizes > 0)
    units[~is_defined] = 0.0
    units /= np.where(is_defined, sizes, 1.0)[:, np.newaxis]
    norms = np.sqrt(np.einsum("ij,ij->i", units, units))
    units /= np.where(is_defined, norms, 1.0)[:, np.newaxis]
    return units, is_defined
