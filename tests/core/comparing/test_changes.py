"""The change of a tensor is what numpy says of both at once, whatever the blocks."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from bertviewer.core.comparing import changes
from bertviewer.core.comparing.changes import change_between
from bertviewer.core.comparing.comparison import Change
from bertviewer.core.errors import Cancelled

Array = NDArray[np.float32]


class InMemory:
    """An array that is read in parts, and counts what is read."""

    def __init__(self, values: Array) -> None:
        self.values = values
        self.shape: tuple[int, ...] = values.shape
        self.read: list[tuple[int, int]] = []

    def rows(self, start: int, stop: int) -> Array:
        self.read.append((start, stop))
        return self.values[start:stop] if self.shape else self.values.reshape(1)


def between(left: Array, right: Array) -> Change:
    return change_between(InMemory(left), InMemory(right))


def seeded(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("block", [1, 7, 50, 1 << 20])
def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(changes, "BLOCK", block)
    left, right = seeded(13, 5, 2), seeded(13, 5, 2, seed=1)
    right[3] = left[3]
    found = between(left, right)
    a, b = left.astype(np.float64).ravel(), right.astype(np.float64).ravel()
    assert (found.equal, found.count) == (10, 130)
    assert found.max_abs == np.abs(b - a).max()
    assert found.rms == pytest.approx(np.sqrt(np.mean((b - a) ** 2)), rel=1e-12)
    assert found.relative == pytest.approx(np.linalg.norm(b - a) / np.linalg.norm(a), rel=1e-12)
    cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    assert found.cosine == pytest.approx(cosine, rel=1e-12)


floats = st.floats(-1e6, 1e6, width=32) | st.sampled_from((math.nan, math.inf, -math.inf, -0.0))


@settings(max_examples=100, deadline=None)
@given(arrays(np.float32, array_shapes(min_dims=0, max_dims=3, min_side=0), elements=floats))
def test_a_tensor_is_equal_to_itself(values: Array) -> None:
    found = between(values, values.copy())
    assert (found.equal, found.max_abs, found.rms) == (values.size, 0.0, 0.0)
    assert found.relative in (0.0, None)
    assert found.cosine is None or found.cosine == pytest.approx(1)


def test_what_is_not_finite_is_no_distance() -> None:
    left = np.array([1.0, math.nan, math.inf, math.nan], np.float32)
    right = np.array([2.0, math.nan, 3.0, 1.0], np.float32)
    assert between(left, right) == Change(1, 4, 1.0, 1.0, 1.0, 1.0)


def test_zeros_have_no_direction() -> None:
    found = between(np.zeros(3, np.float32), np.ones(3, np.float32))
    assert (found.relative, found.cosine) == (None, None)


def test_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="differ"):
        between(seeded(2, 3), seeded(3, 2))


def test_it_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "BLOCK", 10)
    left = InMemory(seeded(50, 10))

    def stop(done: int, total: int, label: str) -> None:
        if done == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        change_between(left, left, stop)
    assert left.read[-1] == (2, 3)
