"""Histograms of outputs are NumPy's, and statistics by token are those of their rows."""

from typing import Any

import numpy as np
import pytest

from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.replay.outputs import call_statistics, histogram_of
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.measuring import measure_tokens
from bertviewer.core.runs.module_replay import replay_outputs
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import no_progress
from tests.core.replay.model_runs import Opened, known, opened

ALBERT_LAYER = "encoder.albert_layer_groups.0.albert_layers.0"


def outputs(it: Opened, path: str) -> list[np.ndarray]:
    """Return what a module returned in the run, one array for each call."""
    tensors = [first_tensor(call.output) for call in it.everything.calls[path]]
    return [tensor.numpy() for tensor in tensors if tensor is not None]


def without_cache(it: Opened) -> CachedRun:
    """Return a run of which nothing can be replayed."""
    return CachedRun(it.model, it.run, ActivationCache("units"))


@pytest.mark.parametrize(
    ("family", "path"),
    [
        ("bert", "encoder.layer.1"),
        ("bert", "encoder"),
        ("bert", "embeddings.word_embeddings"),
        ("bert", "pooler"),
        ("bert", "encoder.layer.0.attention.self"),
        ("albert", f"{ALBERT_LAYER}.ffn"),
        ("t5", "decoder.block.1.layer.2"),
        ("gpt2", "h.0.mlp.act"),
    ],
)
def test_histograms_are_numpys(family: str, path: str) -> None:
    it = known(family)
    values = np.concatenate([each.ravel() for each in outputs(it, path)])
    found = histogram_of(it, path)
    counts, edges = np.histogram(values, 64)
    assert found.counts.tolist() == counts.tolist()
    assert found.edges == pytest.approx(edges)
    assert found.edges[[0, -1]].tolist() == [values.min(), values.max()]
    activation = it.run.activation(path)
    assert activation is not None
    assert found.count == values.size == found.counts.sum() == activation.statistics.count


def test_histogram_with_chosen_bins_and_range() -> None:
    it = known("bert")
    values = it.run.hidden_states[1]
    found = histogram_of(it, "encoder.layer.0", bins=10, range=(-1.0, 0.5))
    assert found.counts.tolist() == np.histogram(values, 10, (-1.0, 0.5))[0].tolist()
    assert found.outside == np.count_nonzero((values < -1) | (values > 0.5)) > 0


def test_a_tensor_that_is_changed_after_the_call_is_counted_as_it_was() -> None:
    it = opened("bert")
    path = "embeddings.LayerNorm"
    expected = histogram_of(it, path).counts.tolist()

    def change(_module: Any, _args: Any, output: Any) -> None:
        output.mul_(100)

    it.network.embeddings.register_forward_hook(change)
    assert histogram_of(it, path).counts.tolist() == expected


@pytest.mark.parametrize(
    ("family", "path"),
    [
        ("bert", "encoder.layer.1"),
        ("bert", "encoder.layer.1.intermediate"),
        ("gpt2", "h.1.mlp"),
        ("bart", "decoder.layers.0.fc1"),
        ("albert", f"{ALBERT_LAYER}.ffn"),
    ],
)
def test_statistics_by_token_are_those_of_the_rows(family: str, path: str) -> None:
    it = known(family)
    found = call_statistics(it, (path,))[path]
    for statistics, (rows,) in zip(found, outputs(it, path), strict=True):
        assert len(statistics) == len(rows)
        chosen, part = statistics.of((0, 2)), rows[[0, 2]].astype(np.float64)
        assert chosen.count == part.size
        assert chosen.mean == pytest.approx(part.mean(), rel=1e-5)
        assert chosen.std == pytest.approx(part.std(), rel=1e-5)
        assert (chosen.min, chosen.max) == (part.min(), part.max())


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
def test_hidden_states_are_measured_without_a_replay(family: str, path: str) -> None:
    it = known(family)
    found = call_statistics(without_cache(it), (path,))[path]
    expected = replay_outputs(it.model, it.cache, (path,), measure_tokens, no_progress)[path]
    for one, other in zip(found, expected, strict=True):
        assert one.width == other.width
        np.testing.assert_array_equal(one.sums, other.sums)


@pytest.mark.parametrize(
    ("family", "path"),
    # GPT-2's last hidden state comes after the norm behind its last layer.
    [("gpt2", "h.1"), ("bert", "encoder.layer.0.output.dense")],
)
def test_other_outputs_are_replayed(family: str, path: str) -> None:
    it = known(family)
    with pytest.raises((UserError, LookupError)):
        call_statistics(without_cache(it), (path,))
    assert len(call_statistics(it, (path,))[path]) == 1


def test_modules_that_have_no_statistics() -> None:
    it = known("bert")
    with pytest.raises(UserError, match="was not called"):
        histogram_of(it, "encoder.layer")
    assert call_statistics(it, ("pooler", "encoder.layer")) == {}
