"""Measures of heads, compared with plain sums; attention without some tokens; inferred masks."""

from math import isnan, log

import numpy as np
import pytest
from numpy.typing import NDArray

from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.attention_maps import (
    MEASURES,
    AttentionMaps,
    HeadMeasures,
    head_distances,
    head_entropies,
    head_kinds,
    head_measures,
    masked_by_pattern,
    mean_of_heads,
    most_attended,
    most_attending,
    ranked_heads,
    received_attention,
    uniform_attention,
    without_tokens,
)
from tests.core.analysis.runs import run_of, tokens_of

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]
TEXTS = ("[CLS]", "a", "b", "[SEP]", "x", "y", "[SEP]")


def probabilities(
    seed: int, heads: int, queries: int, keys: int, masked: Mask | None = None
) -> Floats:
    values = np.random.default_rng(seed).random((heads, queries, keys)) ** 4
    if masked is not None:
        values[masked] = 0
    shares: Floats = (values / values.sum(-1, keepdims=True)).astype(np.float32)
    return shares


def maps_of(
    values: Floats,
    queries: tuple[int, ...] = (),
    keys: tuple[int, ...] = (),
    masked: Mask | None = None,
) -> AttentionMaps:
    """Return maps of these probabilities; of the positions 0, 1, 2 … by default."""
    queries = queries or tuple(range(values.shape[1]))
    keys = keys or tuple(range(values.shape[2]))
    distances = head_distances(values) if queries == keys else None
    entropies = head_entropies(values)
    return AttentionMaps("x", 0, 1, values, queries, keys, entropies, distances, masked)


def later_keys(heads: int, size: int) -> Mask:
    return np.triu(np.ones((heads, size, size), dtype=np.bool_), 1)


def plain_measures(p: Floats, texts: tuple[str, ...], is_causal: bool) -> dict[str, float]:
    """Return the measures of one head [S, S], query by query and key by key."""
    size = len(p)
    sums: dict[str, list[float]] = {measure: [] for measure in MEASURES}
    for i in range(size):
        row = [float(p[i, j]) for j in range(size)]
        sums["entropy"].append(-sum(w * log(w) for w in row if w > 0))
        sums["distance"].append(sum(w * abs(i - j) for j, w in enumerate(row)))
        sums["cls"].append(sum(w for j, w in enumerate(row) if texts[j] == "[CLS]"))
        sums["sep"].append(sum(w for j, w in enumerate(row) if texts[j] == "[SEP]"))
        sums["same"].append(row[i])
        if i > 0:
            sums["previous"].append(row[i - 1])
        if i + 1 < size and not is_causal:
            sums["next"].append(row[i + 1])
        sums["first"].append(row[0])
    return {name: sum(each) / len(each) for name, each in sums.items() if each}


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("texts", [TEXTS, ("[CLS]",), ("the", "cat", "sat")])
def test_measures_are_the_plain_sums(is_causal: bool, texts: tuple[str, ...]) -> None:
    size = len(texts)
    masked = later_keys(3, size) if is_causal else None
    values = probabilities(0, 3, size, size, masked)
    found = head_measures(maps_of(values, masked=masked), run_of(tokens_of(*texts)))
    for head in range(3):
        expected = plain_measures(values[head], texts, is_causal)
        for measure, figures in found.items():
            assert figures.dtype == np.float64
            assert figures[head] == pytest.approx(expected[measure], abs=1e-6), measure
    is_bert = "[CLS]" in texts
    assert ("cls" in found) == is_bert == ("first" not in found)
    assert ("sep" in found) == ("[SEP]" in texts)
    # What a mask hides from every query is no share of 0.
    assert ("next" in found) == (size > 1 and not is_causal)
    assert ("previous" in found) == (size > 1)


def test_cross_attention_has_no_distances_and_neighbours() -> None:
    values = probabilities(0, 2, 2, 4)
    found = head_measures(maps_of(values, (4, 5), (0, 1, 2, 3)), run_of(tokens_of(*TEXTS)))
    assert set(found) == {"entropy", "cls", "sep"}
    assert found["sep"] == pytest.approx(values[:, :, 3].mean(1))


def kinds_of(values: Floats, texts: tuple[str, ...], masked: Mask | None = None) -> list[str]:
    maps, run = maps_of(values, masked=masked), run_of(tokens_of(*texts))
    uniform = head_measures(uniform_attention(maps), run)
    return [one.kind for one in head_kinds(head_measures(maps, run), uniform)]


def test_kinds_of_heads() -> None:
    size = len(TEXTS)
    evenly = np.full((size, size), 1 / size)
    diagonals = [np.roll(np.eye(size), offset, axis=1) for offset in (-1, 1, 0)]
    ends = np.zeros((size, size))
    ends[:, [0, 3]] = 0.5
    # Half of the attention is at the first of the others: neither is it broad.
    content = evenly * 0.4
    content[:, 1] += 0.6
    unknown = np.full((size, size), np.nan)
    values = np.array([*diagonals, ends, evenly, content, unknown], dtype=np.float32)
    expected = ["previous", "next", "same", "special", "broad", "other"]
    assert kinds_of(values, TEXTS) == expected
    # 3 of 4 tokens are special, so that their share says nothing.
    few = ("[CLS]", "a", "[SEP]", "[SEP]")
    assert kinds_of(np.full((1, 4, 4), 0.25, np.float32), few) == ["broad"]
    # A single key has all of the attention.
    assert kinds_of(np.ones((2, 1, 1), np.float32), ("a",)) == []


def test_uniform_attention_is_what_the_mask_leaves() -> None:
    masked = later_keys(1, 10)
    values = uniform_attention(maps_of(probabilities(0, 1, 10, 10, masked), masked=masked))
    assert values.probabilities[0, 4] == pytest.approx([0.2] * 5 + [0.0] * 5)
    assert values.entropies[0] == pytest.approx(sum(log(n) for n in range(1, 11)) / 10, rel=1e-6)
    texts = tuple("abcdefghij")
    assert kinds_of(values.probabilities, texts, masked) == ["broad"]
    sink = np.zeros((1, 10, 10), dtype=np.float32)
    sink[:, :, 0] = 1
    assert kinds_of(sink, texts, masked) == ["first"]


def test_rows_with_nan_are_left_out() -> None:
    values = probabilities(1, 2, 7, 7)
    values[0, 3] = np.nan
    values[1] = np.nan
    maps = maps_of(values)
    found = head_measures(maps, run_of(tokens_of(*TEXTS)))
    finite = np.delete(values[0], 3, axis=0)
    assert found["cls"][0] == pytest.approx(finite[:, 0].mean())
    for measure in ("entropy", "distance", "previous", "cls"):
        assert isnan(found[measure][1]), measure
    received = received_attention(maps)
    assert received.tokens == maps.key_tokens
    assert received.shares[0] == pytest.approx(finite.mean(axis=0))
    assert np.isnan(received.shares[1]).all()


def test_heads_are_ranked_by_a_measure_and_then_by_layer() -> None:
    first, second, third = (AttentionLayer(f"layer.{n}", 0, n) for n in range(3))
    figures: dict[AttentionLayer, HeadMeasures] = {
        first: {"previous": np.array([0.25, 0.5, np.nan])},
        second: {"previous": np.array([0.5, 0.75])},
        third: {"entropy": np.array([1.0])},
    }
    found = [(one.layer, one.head, one.value) for one in ranked_heads(figures, "previous")]
    assert found == [(second, 1, 0.75), (first, 1, 0.5), (second, 0, 0.5), (first, 0, 0.25)]
    assert ranked_heads(figures, "next") == ()


def test_a_mask_is_inferred_from_zeros_in_all_heads() -> None:
    plain = probabilities(2, 3, 6, 6)
    assert masked_by_pattern(plain) is None
    padding = np.zeros((3, 4, 6), dtype=np.bool_)
    padding[:, :, 5] = True
    for masked in (later_keys(3, 6), padding):
        heads, queries, keys = masked.shape
        found = masked_by_pattern(probabilities(2, heads, queries, keys, masked))
        assert found is not None
        assert (found == masked).all()
    # The 0 of a single head is a measured one.
    plain[0, 0, 5] = plain[1, :, 4] = 0
    assert masked_by_pattern(plain) is None


def test_the_mean_of_heads_has_measures_of_its_own() -> None:
    masked = later_keys(3, 4)
    maps = maps_of(probabilities(1, 3, 4, 4, masked), masked=masked)
    mean = mean_of_heads(maps)
    assert mean.probabilities.shape == (1, 4, 4)
    assert mean.probabilities[0] == pytest.approx(maps.probabilities.mean(axis=0), abs=1e-6)
    assert mean.entropies == pytest.approx(head_entropies(mean.probabilities))
    assert mean.entropies[0] > maps.entropies.mean()
    # A key is hidden in the mean if all heads hide it.
    masked[0, 0, 3] = False
    hidden = mean_of_heads(maps_of(maps.probabilities, masked=masked)).masked
    assert hidden is not None
    assert (hidden == masked[:1]).all()


@pytest.mark.parametrize(
    ("queries", "keys", "left"),
    [((0, 1, 2, 3), (0, 1, 2, 3), (1, 2)), ((4, 5, 6), (0, 1, 2, 3), (1, 2))],
)
def test_rows_without_some_tokens_sum_to_1(
    queries: tuple[int, ...], keys: tuple[int, ...], left: tuple[int, ...]
) -> None:
    maps = maps_of(probabilities(2, 3, len(queries), 4), queries, keys)
    found = without_tokens(maps, (0, 3, 6))
    assert found.key_tokens == left
    assert found.query_tokens == tuple(token for token in queries if token not in (0, 3, 6))
    assert found.probabilities.sum(axis=2) == pytest.approx(1.0)
    row = queries.index(found.query_tokens[1])
    plain = maps.probabilities[2, row, 1:3] / maps.probabilities[2, row, 1:3].sum()
    assert found.probabilities[2, 1] == pytest.approx(plain)
    assert (found.distances is None) == (queries != keys)


def test_removed_tokens_count_in_distances() -> None:
    found = without_tokens(maps_of(np.full((1, 3, 3), 1 / 3, np.float32)), (1,))
    assert found.distances == pytest.approx([1.0])  # half of the weight is 2 tokens away


def test_a_row_without_other_tokens_is_nan() -> None:
    only = np.array([[[1, 0], [0.5, 0.5]]], np.float32)
    found = without_tokens(maps_of(only, (1, 2), (0, 1)), (0,))
    assert isnan(found.probabilities[0, 0, 0])
    assert found.probabilities[0, 1, 0] == 1


def test_tokens_by_attention_given_and_received() -> None:
    shares = np.array([[[0.1, 0.6, 0.3, 0.0], [0.25, np.nan, 0.25, 0.5]]], dtype=np.float32)
    maps = AttentionMaps("x", 0, 1, shares, (7, 8), (3, 4, 5, 6), np.zeros(1), None)
    assert [token for token, _ in most_attended(maps, 0, 7, 9)] == [4, 5, 3]
    assert most_attended(maps, 0, 8, 2) == ((6, 0.5), (3, 0.25))
    assert most_attended(maps, 0, 3, 5) == ()
    assert [token for token, _ in most_attending(maps, 0, 3, 5)] == [8, 7]
    assert most_attending(maps, 0, 6, 5) == ((8, 0.5),)
    assert most_attending(maps, 0, 7, 5) == ()
