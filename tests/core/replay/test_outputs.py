"""Histograms are NumPy's, and statistics by token are those of the rows."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.replay.outputs import call_statistics, histogram_of
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.measuring import measure_tokens
from bertviewer.core.runs.module_replay import replay_outputs
from bertviewer.core.statistics.histograms import Histogram, histogram
from bertviewer.core.util.errors import Cancelled, UserError
from bertviewer.core.util.progress import no_progress
from tests.core.checks.small_models import hook_count
from tests.core.replay.model_runs import Opened, known, opened, ran


def outputs(it: Opened, path: str) -> list[torch.Tensor]:
    """Return what a module gives in a plain pass of the model."""
    seen: list[torch.Tensor] = []

    def hook(_m: Any, _a: Any, output: Any) -> None:
        seen.append((output[0] if isinstance(output, tuple) else output).clone())

    handle = it.network.get_submodule(path).register_forward_hook(hook)
    it.plain()
    handle.remove()
    return seen


@pytest.mark.parametrize(
    ("family", "path"),
    [
        ("bert", "encoder.layer.1"),
        ("bert", "embeddings.word_embeddings"),
        ("bert", "pooler"),
        ("bert", "encoder.layer.0.attention.self"),
        ("albert", "encoder.albert_layer_groups.0.albert_layers.0.ffn"),
        ("t5", "decoder.block.1.layer.2"),
        ("gpt2", "h.0.mlp.act"),
    ],
)
def test_it_is_numpys(family: str, path: str) -> None:
    it = known(family)
    values = torch.cat([tensor.flatten() for tensor in outputs(it, path)]).numpy()
    found = histogram_of(it, path)
    counts, edges = np.histogram(values, 64)
    assert found.counts.tolist() == counts.tolist()
    assert found.edges == pytest.approx(edges)
    assert found.edges[[0, -1]].tolist() == [values.min(), values.max()]
    assert found.count == values.size == found.counts.sum()
    activation = it.run.activation(path)
    assert activation is not None
    assert found.count == activation.statistics.count


def test_a_model_above_the_layers() -> None:
    it = known("bert")
    found = histogram_of(it, "encoder")
    values = it.run.hidden_states[-1]
    assert found.counts.tolist() == np.histogram(values, 64)[0].tolist()


def test_bins_and_a_range_can_be_chosen() -> None:
    it = known("bert")
    values = it.run.hidden_states[1]
    path = "encoder.layer.0"
    found = histogram_of(it, path, bins=10, range=(-1.0, 0.5))
    assert found.counts.tolist() == np.histogram(values, 10, (-1.0, 0.5))[0].tolist()
    assert found.outside == np.count_nonzero((values < -1) | (values > 0.5)) > 0


def test_what_is_not_finite_is_counted_apart() -> None:
    values = np.array([[1.0, np.nan, 3.0], [np.inf, -np.inf, np.nan]], dtype=np.float32)
    found = histogram(values)
    assert (found.nan_count, found.inf_count, found.count) == (2, 2, 6)
    assert found.counts.tolist() == np.histogram([1.0, 3.0], 64)[0].tolist()
    assert found.edges[[0, -1]].tolist() == [1.0, 3.0]


@pytest.mark.parametrize("value", [0.0, -2.5, 1e20, -3e38, 1e-40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_single_value(value: float, dtype: Any) -> None:
    found = histogram(np.full(7, value, dtype=dtype))
    assert found.counts.max() == found.counts.sum() == 7
    assert found.edges[0] < value < found.edges[-1]
    if abs(value) < 1e5:
        assert found.edges == pytest.approx(np.histogram(np.full(7, value), 64)[1])


@pytest.mark.parametrize(
    "values",
    [np.empty(0, dtype=np.float32), np.array([np.nan, np.inf]), np.empty((1, 0, 4))],
)
def test_nothing_to_count(values: np.ndarray) -> None:
    found = histogram(values)
    assert found.counts.sum() == 0
    assert found.edges[[0, -1]].tolist() == [0.0, 1.0]
    assert len(found.edges) == 65
    assert found.nan_count + found.inf_count == found.count == values.size


def test_integers_and_truth_values() -> None:
    found = histogram(np.array([3, 3, 7, 100]))
    assert found.counts.tolist() == np.histogram([3, 3, 7, 100], 64)[0].tolist()
    truth = histogram(np.array([True, False, True]))
    assert (truth.counts[0], truth.counts[-1]) == (1, 2)


def test_bfloat16() -> None:
    it = opened("bert")
    it.network.to(torch.bfloat16)
    again = ran(it.model)
    values = torch.cat([t.flatten() for t in outputs(again, "encoder.layer.0")]).float().numpy()
    found = histogram_of(again, "encoder.layer.0")
    assert found.counts.tolist() == np.histogram(values, 64)[0].tolist()


def sound(found: Histogram) -> None:
    assert np.isfinite(found.edges).all()
    assert (np.diff(found.edges) > 0).all()
    assert found.outside == 0


@settings(max_examples=60)
@given(
    arrays.arrays(np.float32, st.integers(0, 20), elements=st.floats(width=32)),
    arrays.arrays(np.float64, st.integers(0, 20), elements=st.floats()),
)
def test_any_values_have_a_histogram(single: np.ndarray, double: np.ndarray) -> None:
    sound(histogram(single))
    sound(histogram(double))


def test_a_tensor_that_is_changed_afterwards_is_seen_as_it_was() -> None:
    it = opened("bert")
    path = "embeddings.LayerNorm"
    expected = histogram_of(it, path).counts.tolist()

    def spoil(_m: Any, _a: Any, output: Any) -> None:
        output.mul_(100)

    embeddings = it.network.embeddings
    handle = embeddings.register_forward_hook(spoil)
    found = histogram_of(it, path)
    handle.remove()
    assert found.counts.tolist() == expected


def test_what_was_not_called_is_told() -> None:
    it = known("bert")
    with pytest.raises(UserError, match="was not called"):
        histogram_of(it, "encoder.layer")


def test_a_histogram_that_is_cancelled_leaves_no_hooks() -> None:
    it = opened("bert")
    hooks = hook_count(it.network)

    def stop(done: int, total: int, label: str) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        histogram_of(CachedRun(it.model, it.run, ActivationCache()), "encoder.layer.0", stop)
    with pytest.raises(Cancelled):
        histogram_of(it, "encoder.layer.0", stop)
    assert hook_count(it.network) == hooks


def rows_of(it: Opened, path: str) -> list[np.ndarray]:
    """Return what a module gives in a plain pass, [S, D] for each call."""
    seen: list[np.ndarray] = []
    module = it.network.get_submodule(path)
    handle = module.register_forward_hook(lambda _m, _a, x: seen.append(x[0].double().numpy()))
    it.plain()
    handle.remove()
    return seen


@pytest.mark.parametrize(
    ("family", "path"),
    [
        ("bert", "encoder.layer.1"),
        ("bert", "encoder.layer.1.intermediate"),
        ("gpt2", "h.1.mlp"),
        ("bart", "decoder.layers.0.fc1"),
        ("albert", "encoder.albert_layer_groups.0.albert_layers.0.ffn"),
    ],
)
def test_statistics_by_token_are_those_of_the_rows(family: str, path: str) -> None:
    it = known(family)
    found = call_statistics(it, (path,))[path]
    expected = rows_of(it, path)
    assert len(found) == len(expected)
    for statistics, rows in zip(found, expected, strict=True):
        assert len(statistics) == len(rows)
        chosen, part = statistics.of((0, 2)), rows[[0, 2]]
        assert chosen.count == part.size
        assert chosen.mean == pytest.approx(part.mean(), rel=1e-5)
        assert chosen.std == pytest.approx(part.std(), rel=1e-5)
        assert (chosen.min, chosen.max) == pytest.approx((part.min(), part.max()))


def test_nothing_to_measure_by_token() -> None:
    it = known("bert")
    assert call_statistics(it, ("pooler", "encoder.layer")) == {}


def test_statistics_by_token_that_are_cancelled() -> None:
    it = opened("bert")
    hooks = hook_count(it.network)

    def stop(done: int, total: int, label: str) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        call_statistics(it, ("encoder.layer.0.output.dense",), stop)
    assert hook_count(it.network) == hooks


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
def test_hidden_states_need_no_replay(family: str, path: str) -> None:
    it = known(family)
    found = call_statistics(CachedRun(it.model, it.run, ActivationCache("units")), (path,))[path]
    expected = replay_outputs(it.model, it.cache, (path,), measure_tokens, no_progress)[path]
    assert len(found) == len(expected)
    for mine, other in zip(found, expected, strict=True):
        assert mine.width == other.width
        np.testing.assert_array_equal(mine.sums, other.sums)


@pytest.mark.parametrize(
    ("family", "path"),
    # GPT-2's last state comes after the norm behind its last layer.
    [("gpt2", "h.1"), ("bert", "encoder.layer.0.output.dense")],
)
def test_other_outputs_are_replayed(family: str, path: str) -> None:
    it = known(family)
    with pytest.raises((UserError, LookupError)):
        call_statistics(CachedRun(it.model, it.run, ActivationCache("units")), (path,))
    assert len(call_statistics(it, (path,))[path]) == 1
