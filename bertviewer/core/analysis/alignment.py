"""Which token of one run is which of another: the longest common subsequence of their ids."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bertviewer.core.schema.activation_run import Token

# What is known of a cell of the table, as bits of one byte.
_MATCHES = 1  # the best way ends with these two tokens as partners
_ABOVE = 2  # the best way does without the last token of the first sequence
_CONTINUES = 4  # as partners, they do best behind two partners


def align(first: Sequence[Token], second: Sequence[Token]) -> tuple[tuple[int, int], ...]:
    """Pair tokens of equal id, in order: (place in the first, place in the second), both rising.

    As many tokens get a partner as can (Wagner and Fischer 1974); among the ways to do that, the
    one with the fewest gaps is taken, so that "the bank" meets "the bank" and not the "the" of
    another phrase. It takes len(first) * len(second) bytes and steps, whatever the tokens are;
    ``difflib`` is faster on texts that differ much and takes a second where ids repeat.
    """
    return _aligned(tuple(token.id for token in first), tuple(token.id for token in second))


# The same two runs are asked about again whenever another layer is looked at.
@lru_cache(maxsize=4)
def _aligned(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    steps = _steps(np.array(first, dtype=np.int64), np.array(second, dtype=np.int64))
    pairs: list[tuple[int, int]] = []
    i, j = len(first) - 1, len(second) - 1
    is_due = False
    while i >= 0 and j >= 0:
        step = steps[i, j]
        if is_due or step & _MATCHES:
            pairs.append((i, j))
            is_due = bool(step & _CONTINUES)
            i, j = i - 1, j - 1
        elif step & _ABOVE:
            i -= 1
        else:
            j -= 1
    return tuple(reversed(pairs))


def _steps(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return for each two places how the best way to pair all up to them ends.

    A way scores ``partner`` for each pair, and one for each that directly follows another; all
    those ones together are less than a pair.
    """
    partner = min(len(first), len(second)) + 1
    steps = np.zeros((len(first), len(second)), dtype=np.uint8)
    # Of the row above: the best scores up to each place, and those that end in a pair there.
    best = np.zeros(len(second) + 1, dtype=np.int64)
    paired = np.full(len(second) + 1, -1, dtype=np.int64)
    for row, token in enumerate(first):
        afresh, onwards = best[:-1] + partner, paired[:-1] + partner + 1
        continues = (paired[:-1] >= 0) & (onwards >= afresh)
        here = np.where(second == token, np.where(continues, onwards, afresh), -1)
        above = best[1:]
        new = np.maximum.accumulate(np.maximum(above, here))
        steps[row] = _MATCHES * (here == new) + _ABOVE * (above == new) + _CONTINUES * continues
        best = np.concatenate(([0], new))
        paired = np.concatenate(([-1], here))
    return steps
