"""The change of a tensor is what numpy says of both at once, whatever the blocks."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from bertviewer.core.checkpoints.reading import matrix_shape
from bertviewer.core.comparison import compare_models as changes
from bertviewer.core.comparison.compare_models import change_between
from bertviewer.core.comparison.comparison import Change
from bertviewer.core.tensors.values import Origin, TensorValues, memory_values
from bertviewer.core.util.errors import Cancelled
from tests.core.tensors.made_up import in_memory

Array = NDArray[np.float32]


def values(elements: Array) -> TensorValues:
    shape = elements.shape
    return memory_values(
        "weight", shape, "float32", Origin("drawn"), elements.reshape(matrix_shape(shape))
    )


def between(left: Array, right: Array) -> Change:
    return change_between(values(left), values(right))


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


@settings(max_examples=100)
@given(arrays(np.float32, array_shapes(min_dims=0, max_dims=3, min_side=0), elements=floats))
def test_a_tensor_is_equal_to_itself(elements: Array) -> None:
    found = between(elements, elements.copy())
    has_figures = not elements.size or np.isfinite(elements).any()
    figures = (0.0, 0.0) if has_figures else (None, None)
    assert (found.equal, found.max_abs, found.rms) == (elements.size, *figures)
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
    left = values(seeded(50, 10))
    told: list[tuple[int, int]] = []

    def stop(done: int, total: int, label: str) -> None:
        told.append((done, total))
        if done == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        change_between(left, left, stop)
    assert told == [(0, 50), (1, 50), (2, 50), (3, 50)]


def test_large_integers_are_told_apart() -> None:
    left, right = np.array([[2**53, 7]]), np.array([[2**53 + 1, 7]])
    found = change_between(in_memory(left), in_memory(right))
    assert (found.equal, found.count) == (1, 2)


def test_squares_that_are_too_large_for_floats_are_no_figures() -> None:
    left = np.full((3, 2), 1e200)
    found = change_between(in_memory(left), in_memory(-left))
    assert found.max_abs == 2e200
    assert (found.rms, found.relative, found.cosine) == (math.inf, None, None)


def test_what_is_not_finite_has_no_distance() -> None:
    found = change_between(in_memory(np.full((3, 2), np.nan)), in_memory(np.ones((3, 2))))
    assert (found.equal, found.max_abs, found.rms) == (0, None, None)
