"""Runs release their tensors; a run keeps its hidden states and little more."""

import gc

import numpy as np
import pytest
from torch import Tensor

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.module_replay import replay
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.sources.model_source import ModelSource
from tests.core.checks.small_models import SENTENCE, small_model
from tests.core.replay.model_runs import known

LONG = Sentence("a long sentence " * 200, cut=True)


@pytest.fixture(scope="module")
def demo(demo_source: ModelSource) -> LoadedModel:
    model = open_model(demo_source)
    run(model, SENTENCE)
    return model


def run(model: LoadedModel, sentence: Sentence) -> tuple[ActivationRun, ActivationCache]:
    """Run a sentence as the window does."""
    cache = ActivationCache("units")
    return run_sentence(model, sentence, random_weights=True, cache=cache), cache


def live_storages() -> dict[int, int]:
    """Return address and size of the memory of all tensors in this process."""
    gc.collect()
    tensors = [thing for thing in gc.get_objects() if isinstance(thing, Tensor)]
    storages = [t.untyped_storage() for t in tensors if not t.is_meta]
    return {storage.data_ptr(): storage.nbytes() for storage in storages}


def test_runs_and_replays_leave_no_objects() -> None:
    model = small_model("bert")
    counts = []
    for words in range(8):
        _, cache = run(model, Sentence("word " * (5 + words % 2), "and more"))
        replay(model, cache, ["encoder.layer.1"])
        del cache, _
        gc.collect()
        counts.append(len(gc.get_objects()))
    # A run has thousands of objects.
    assert counts[-1] - counts[2] < 200


def test_a_long_run_keeps_its_hidden_states_and_little_more(demo: LoadedModel) -> None:
    before = live_storages()
    done, cache = run(demo, LONG)
    assert len(done.tokens) == 512
    states = sum(state.nbytes for state in done.hidden_states)
    assert states == 7 * 512 * 384 * 4
    # Ids and masks, and the pooled vector. Norms of tokens are in NumPy's memory.
    small = 5 * 512 * 8 + 512 * 512
    new = sum(size for at, size in live_storages().items() if at not in before)
    assert states <= new <= states + small
    assert cache.bytes <= states + small
    norms = sum(m.token_norms.nbytes for m in done.modules if m.token_norms is not None)
    assert small + norms < states / 7
    del done, cache
    assert not live_storages().keys() - before.keys()


def test_a_run_without_a_cache_keeps_no_tensor(demo: LoadedModel) -> None:
    before = live_storages()
    modules = run_sentence(demo, LONG).modules
    assert not live_storages().keys() - before.keys()
    assert len(modules) == 113


def test_hidden_states_share_their_memory_with_the_cache() -> None:
    it = known("bert")
    for state, path in zip(
        it.run.hidden_states, ("encoder.layer.0", "encoder.layer.1", "pooler"), strict=True
    ):
        (call,) = it.cache.calls[path]
        assert np.shares_memory(state, call.args[0].numpy())
