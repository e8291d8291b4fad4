"""Sums of hidden states are those of the tensors that they were."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from bertviewer.core.analysis.state_measures import measure_rows, state_statistics
from bertviewer.core.analysis.token_measures import call_statistics
from bertviewer.core.run.measuring import measure_tokens
from bertviewer.core.run.token_statistics import TokenStatistics
from tests.core.analysis.model_runs import known

FIELDS = ("nan_counts", "inf_counts", "zero_counts", "totals", "deviations", "mins", "maxs")


def assert_equal(found: TokenStatistics, expected: TokenStatistics) -> None:
    assert found.width == expected.width
    for name in FIELDS:
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_as_those_of_a_tensor(dtype: Any) -> None:
    rows: NDArray[Any] = np.random.default_rng(0).normal(3.0, 2.0, (7, 33)).astype(dtype)
    rows[0, 4], rows[1, 5], rows[2, 6], rows[3], rows[4] = np.nan, np.inf, -np.inf, np.nan, 0.0
    rows[5] = 1e6 + rows[5]  # large and nearly equal
    before = rows.copy()
    assert_equal(measure_rows(rows), measure_tokens(torch.tensor(rows)[None]))
    np.testing.assert_array_equal(rows, before)


def test_no_rows_and_no_columns() -> None:
    assert len(measure_rows(np.empty((0, 5)))) == 0
    assert measure_rows(np.empty((3, 0))).of((0, 1)).mean is None


@pytest.mark.parametrize(
    ("family", "path"),
    [
        ("bert", "encoder.layer.0"),
        ("bert", "encoder.layer.1"),
        ("albert", "encoder.albert_layer_groups.0"),
        ("bart", "encoder.layers.1"),
        ("bart", "decoder.layers.0"),
        ("gpt2", "h.0"),
    ],
)
def test_a_layer_needs_no_replay(family: str, path: str) -> None:
    it = known(family)
    found = state_statistics(it.run, path)
    expected = call_statistics(it.model, it.run, it.kept, (path,))[path]
    assert found is not None
    assert len(found) == len(expected)
    for mine, other in zip(found, expected, strict=True):
        assert_equal(mine, other)


@pytest.mark.parametrize(
    ("family", "path"),
    # GPT-2's last state comes after the norm behind its last layer.
    [("gpt2", "h.1"), ("bert", "encoder.layer.0.output.dense"), ("bert", "pooler"), ("bert", "no")],
)
def test_other_modules_gave_no_state(family: str, path: str) -> None:
    assert state_statistics(known(family).run, path) is None
