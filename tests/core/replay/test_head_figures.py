"""Entropy and distance of each head, beside the same by plain sums."""

import numpy as np
import pytest
import torch

from bertviewer.core.analysis.attention_maps import (
    head_distances,
    head_entropies,
)
from tests.core.replay.model_runs import every_map, known


def plain_entropy(head: np.ndarray) -> float:
    rows = [[float(p) for p in row] for row in head if np.isfinite(row).all()]
    return float(np.mean([-sum(p * np.log(p) for p in row if p > 0) for row in rows]))


def plain_distance(head: np.ndarray) -> float:
    rows = [(i, row) for i, row in enumerate(head) if np.isfinite(row).all()]
    return float(np.mean([sum(float(p) * abs(i - j) for j, p in enumerate(r)) for i, r in rows]))


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_figures_of_each_head(family: str) -> None:
    it = known(family)
    for found in every_map(it):
        heads = list(found.probabilities)
        assert found.entropies == pytest.approx([plain_entropy(head) for head in heads])
        assert found.distances == pytest.approx([plain_distance(head) for head in heads])


@pytest.mark.parametrize("hidden", ["nothing", "padding", "later ones", "a row"])
@pytest.mark.parametrize("sharpness", [0.1, 3.0, 60.0])
def test_figures_under_masks(hidden: str, sharpness: float) -> None:
    scores = np.random.default_rng(5).normal(size=(3, 17, 17)) * sharpness
    if hidden == "padding":
        scores[:, :, 12:] = -np.inf
    elif hidden == "later ones":
        scores[:, np.triu(np.ones((17, 17), dtype=bool), 1)] = -np.inf
    elif hidden == "a row":
        scores[:, 4] = -np.inf
    heads = torch.tensor(scores, dtype=torch.float32).softmax(-1).numpy()
    assert np.isnan(heads).any() == (hidden == "a row")
    entropies, distances = [plain_entropy(h) for h in heads], [plain_distance(h) for h in heads]
    assert head_entropies(heads) == pytest.approx(entropies, rel=1e-5, abs=1e-6)
    assert head_distances(heads) == pytest.approx(distances, rel=1e-6)


def test_figures_at_the_extremes() -> None:
    one = np.eye(8, dtype=np.float32)
    alike = np.full((8, 8), 1 / 8, dtype=np.float32)
    broken = np.full((8, 8), np.nan, dtype=np.float32)
    part = one.copy()
    part[3] = np.nan
    heads = np.stack([one, alike, broken, part])
    assert head_entropies(heads) == pytest.approx([0, np.log(8), np.nan, 0], nan_ok=True)
    assert not np.signbit(head_entropies(heads)[0])
    assert head_distances(heads) == pytest.approx([0, 21 / 8, np.nan, 0], nan_ok=True)
