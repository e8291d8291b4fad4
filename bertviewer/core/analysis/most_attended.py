"""What a token looks at most, in one head."""

import numpy as np

from bertviewer.core.analysis.attention_maps import AttentionMaps

Shares = tuple[tuple[int, float], ...]
"""Tokens of the run with their shares, the largest first."""


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


def _largest(shares: np.ndarray, tokens: tuple[int, ...], count: int) -> Shares:
    order = np.argsort(-shares, kind="stable").tolist()
    # What is masked has no share; NaN is none either.
    return tuple((tokens[n], float(shares[n])) for n in order if shares[n] > 0)[:count]
