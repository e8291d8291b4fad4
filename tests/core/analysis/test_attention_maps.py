"""Measures of heads, compared with plain sums."""

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
    head_measures,
    masked_by_pattern,
    mean_of_heads,
    ranked_heads,
    without_tokens,
)
from tests.core.analysis.runs import run_of, tokens_of

TEXTS = ("[CLS]", "a", "b", "[SEP]", "x", "y", "[SEP]")


def weights(
    seed: int, heads: int, queries: int, keys: int, masked: NDArray[np.bool_] | None = None
) -> NDArray[np.float32]:
    values = np.random.default_rng(seed).random((heads, queries, keys)) ** 4
    if masked is not None:
        values[masked] = 0
    shares: NDArray[np.float32] = (values / values.sum(-1, keepdims=True)).astype(np.float32)
    return shares


def maps_of(
    values: NDArray[np.float32],
    queries: tuple[int, ...],
    keys: tuple[int, ...],
    masked: NDArray[np.bool_] | None = None,
) -> AttentionMaps:
    distances = head_distances(values) if queries == keys else None
    return AttentionMaps(
        "x", 0, 1, values, queries, keys, head_entropies(values), distances, masked
    )


def plainly(p: NDArray[np.float32], texts: tuple[str, ...], is_causal: bool) -> dict[str, float]:
    """Return the figures of one head [S, S], query by query and key by key."""
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


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("texts", [TEXTS, ("[CLS]",), ("the", "cat", "sat")])
def test_they_are_the_plain_sums(seed: int, is_causal: bool, texts: tuple[str, ...]) -> None:
    size = len(texts)
    later = np.triu(np.ones((3, size, size), dtype=np.bool_), 1)
    masked = later if is_causal else None
    values = weights(seed, 3, size, size, masked)
    places = tuple(range(size))
    found = head_measures(maps_of(values, places, places, masked), run_of(tokens_of(*texts)))
    for head in range(3):
        expected = plainly(values[head], texts, is_causal)
        for measure, figures in found.items():
            assert figures.dtype == np.float64
            assert figures[head] == pytest.approx(expected[measure], abs=1e-6), measure
    is_bert = "[CLS]" in texts
    assert ("cls" in found) == is_bert == ("first" not in found)
    assert ("sep" in found) == ("[SEP]" in texts)
    # What a mask hides from every query is no share of 0.
    assert ("next" in found) == (size > 1 and not is_causal)
    assert ("previous" in found) == (size > 1)


def test_shares_of_one_head_that_only_looks_back() -> None:
    values = np.eye(7, k=-1, dtype=np.float32)[None]
    values[0, 0, 0] = 1
    places = tuple(range(7))
    found = head_measures(maps_of(values, places, places), run_of(tokens_of(*TEXTS)))
    assert found["previous"] == 1
    assert found["next"] == 0
    assert found["entropy"] == pytest.approx(0, abs=1e-30)
    assert found["same"] == pytest.approx(1 / 7)
    assert found["distance"] == pytest.approx(6 / 7)


def test_of_two_texts_places_are_not_compared() -> None:
    values = weights(0, 2, 2, 4)
    found = head_measures(maps_of(values, (4, 5), (0, 1, 2, 3)), run_of(tokens_of(*TEXTS)))
    assert set(found) == {"entropy", "cls", "sep"}
    assert found["sep"] == pytest.approx(values[:, :, 3].mean(1))


def test_rows_that_are_not_numbers_are_left_out() -> None:
    values = weights(1, 2, 7, 7)
    values[0, 3] = np.nan
    values[1] = np.nan
    places = tuple(range(7))
    found = head_measures(maps_of(values, places, places), run_of(tokens_of(*TEXTS)))
    kept = [i for i in range(7) if i != 3]
    assert found["cls"][0] == pytest.approx(values[0, kept, 0].mean())
    for measure in ("entropy", "distance", "previous", "cls"):
        assert isnan(found[measure][1]), measure


def test_the_highest_comes_first() -> None:
    first, second, third = (AttentionLayer(f"layer.{n}", 0, n) for n in range(3))
    figures: dict[AttentionLayer, HeadMeasures] = {
        first: {"previous": np.array([0.25, 0.5, np.nan])},
        second: {"previous": np.array([0.5, 0.75])},
        third: {"entropy": np.array([1.0])},
    }
    found = [(one.layer, one.head, one.value) for one in ranked_heads(figures, "previous")]
    assert found == [(second, 1, 0.75), (first, 1, 0.5), (second, 0, 0.5), (first, 0, 0.25)]
    assert ranked_heads(figures, "next") == ()


def test_what_is_hidden_shows_where_no_mask_is_known() -> None:
    plain = weights(2, 3, 6, 6)
    assert masked_by_pattern(plain) is None
    later = np.triu(np.ones((3, 6, 6), dtype=np.bool_), 1)
    found = masked_by_pattern(weights(2, 3, 6, 6, later))
    assert found is not None
    assert (found == later).all()
    padding = np.zeros((3, 4, 6), dtype=np.bool_)
    padding[:, :, 5] = True
    found = masked_by_pattern(weights(2, 3, 4, 6, padding))
    assert found is not None
    assert (found == padding).all()
    # One head's 0 is a measured one.
    plain[0, 0, 5] = plain[1, :, 4] = 0
    assert masked_by_pattern(plain) is None


def test_the_mean_of_all_heads_has_the_figures_of_the_mean() -> None:
    maps = maps_of(weights(1, 3, 4, 4), (0, 1, 2, 3), (0, 1, 2, 3))
    mean = mean_of_heads(maps)
    assert mean.probabilities.shape == (1, 4, 4)
    assert mean.probabilities[0] == pytest.approx(maps.probabilities.mean(axis=0), abs=1e-6)
    assert mean.entropies == pytest.approx(head_entropies(mean.probabilities))
    # The mean of all is more even than the heads are on average.
    assert mean.entropies[0] > maps.entropies.mean()


@pytest.mark.parametrize(
    ("queries", "keys", "left"),
    [((0, 1, 2, 3), (0, 1, 2, 3), (1, 2)), ((4, 5, 6), (0, 1, 2, 3), (1, 2))],
)
def test_what_is_left_without_some_tokens_sums_to_1(
    queries: tuple[int, ...], keys: tuple[int, ...], left: tuple[int, ...]
) -> None:
    maps = maps_of(weights(2, 3, len(queries), 4), queries, keys)
    found = without_tokens(maps, (0, 3, 6))
    assert found.key_tokens == left
    assert found.query_tokens == tuple(token for token in queries if token not in (0, 3, 6))
    assert found.probabilities.sum(axis=2) == pytest.approx(1.0)
    row = queries.index(found.query_tokens[1])
    plain = maps.probabilities[2, row, 1:3] / maps.probabilities[2, row, 1:3].sum()
    assert found.probabilities[2, 1] == pytest.approx(plain)
    assert (found.distances is None) == (queries != keys)


def test_tokens_that_are_left_out_in_between_count_as_distance() -> None:
    even = np.full((1, 3, 3), 1 / 3, np.float32)
    found = without_tokens(maps_of(even, (0, 1, 2), (0, 1, 2)), (1,))
    assert found.distances == pytest.approx([1.0])  # half of the weight is 2 tokens away


def test_a_query_that_looks_at_nothing_else_has_no_row() -> None:
    only = np.array([[[1, 0], [0.5, 0.5]]], np.float32)
    found = without_tokens(maps_of(only, (1, 2), (0, 1)), (0,))
    assert isnan(found.probabilities[0, 0, 0])
    assert found.probabilities[0, 1, 0] == 1
