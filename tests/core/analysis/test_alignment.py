"""Tokens of two runs are paired by id, in order, and as many as can be."""

from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertviewer.core.analysis.tokens import align
from bertviewer.core.schema.activation_run import Token
from tests.core.analysis.runs import demo_run


def tokens(ids: str | list[int]) -> list[Token]:
    return [Token(ord(i) if isinstance(i, str) else i, str(i), 0) for i in ids]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("", "abc", []),
        ("abc", "", []),
        ("abc", "xyz", []),
        ("abc", "abc", [(0, 0), (1, 1), (2, 2)]),
        ("abcd", "axcd", [(0, 0), (2, 2), (3, 3)]),
        ("abd", "abcd", [(0, 0), (1, 1), (2, 3)]),
        # More partners beat fewer gaps: b and c alone are not all.
        ("abxc", "abc", [(0, 0), (1, 1), (3, 2)]),
        # Of equal numbers of partners, those side by side win, at either end.
        ("tb", "tmatb", [(0, 3), (1, 4)]),
        ("bt", "btmat", [(0, 0), (1, 1)]),
    ],
)
def test_alignments_worked_by_hand(
    first: str, second: str, expected: list[tuple[int, int]]
) -> None:
    assert list(align(tokens(first), tokens(second))) == expected


def test_the_special_tokens_of_two_sentences_meet() -> None:
    one, other = demo_run("the cat sat").tokens, demo_run("a dog of the cat").tokens
    assert align(one, other) == ((0, 0), (1, 4), (2, 5), (4, 6))


def best_score(first: list[int], second: list[int]) -> tuple[int, int]:
    """Try everything: the most pairs, then the most pairs that follow another directly."""

    @cache
    def best(i: int, j: int, is_behind_pair: bool) -> tuple[int, int]:
        if i == len(first) or j == len(second):
            return 0, 0
        ways = [best(i + 1, j, False), best(i, j + 1, False)]
        if first[i] == second[j]:
            pairs, runs = best(i + 1, j + 1, True)
            ways.append((pairs + 1, runs + is_behind_pair))
        return max(ways)

    return best(0, 0, False)


IDS = st.lists(st.integers(0, 3), max_size=9)


@settings(max_examples=200)
@given(IDS, IDS)
def test_an_alignment_rises_pairs_equals_and_is_the_best(
    first: list[int], second: list[int]
) -> None:
    pairs = align(tokens(first), tokens(second))
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    assert all(first[i] == second[j] for i, j in pairs)
    runs = sum((c - a, d - b) == (1, 1) for (a, b), (c, d) in pairwise(pairs))
    assert (len(pairs), runs) == best_score(first, second)


def test_repeated_tokens_at_full_length() -> None:
    ones = tokens([i % 2 for i in range(512)])
    assert align(ones, ones) == tuple((i, i) for i in range(512))
    assert len(align(ones, tokens([i % 3 for i in range(512)]))) == 342
