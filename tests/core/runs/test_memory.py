"""Runs release their tensors, and memory does not grow."""

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
from tests.tools.resident_memory import resident_memory

MAX_GROWTH = 20_000_000
LONG = Sentence("a long sentence " * 200, cut=True)


@pytest.fixture(scope="module")
def demo(demo_source: ModelSource) -> LoadedModel:
    return open_model(demo_source)


def run(model: LoadedModel, sentence: Sentence) -> tuple[ActivationRun, ActivationCache]:
    """Run a sentence as the window does."""
    kept = ActivationCache("units")
    return run_sentence(model, sentence, random_weights=True, cache=kept), kept


def live_storages() -> dict[int, int]:
    """Return address and size of what the tensors of this process hold, weights too."""
    gc.collect()
    tensors = [thing for thing in gc.get_objects() if isinstance(thing, Tensor)]
    storages = [t.untyped_storage() for t in tensors if not t.is_meta]
    return {storage.data_ptr(): storage.nbytes() for storage in storages}


def test_fifty_runs_take_no_more_memory_than_the_first(demo: LoadedModel) -> None:
    sentences = [Sentence("word " * (5 + 3 * number), "and more") for number in range(10)]
    done, kept = run(demo, sentences[-1])

    def run_often(times: int) -> None:
        nonlocal done, kept
        for number in range(times):
            # The run before is dropped when this one is there.
            done, kept = run(demo, sentences[number % 10])
            replay(demo, kept, ["encoder.layer.3"])

    # The allocator takes some rounds of the same work until it asks for no more.
    run_often(20)
    before = resident_memory()
    run_often(50)
    grown = resident_memory() - before
    assert before > MAX_GROWTH, "the system does not say how much there is"
    assert grown <= MAX_GROWTH
    assert len(done.modules) == 113


def test_a_long_run_keeps_its_hidden_states_and_little_more(demo: LoadedModel) -> None:
    run(demo, SENTENCE)
    before = live_storages()
    done, kept = run(demo, LONG)
    assert len(done.tokens) == 512
    new = {at: size for at, size in live_storages().items() if at not in before}
    states = sum(state.nbytes for state in done.hidden_states)
    assert states == 7 * 512 * 384 * 4
    # Ids and masks, the pooled vector; and, in numpy's memory, the norms of every module's tokens.
    small = 5 * 512 * 8 + 512 * 512
    assert states <= sum(new.values()) <= states + small
    norms = sum(m.token_norms.nbytes for m in done.modules if m.token_norms is not None)
    assert small + norms < states / 7
    assert kept.bytes <= states + small
    del done, kept
    assert sum(size for at, size in live_storages().items() if at not in before) == 0


def test_hidden_states_are_the_very_numbers_that_were_captured(demo: LoadedModel) -> None:
    done, kept = run(demo, SENTENCE)
    layers = [f"encoder.layer.{number}" for number in range(6)]
    for state, path in zip(done.hidden_states, layers, strict=False):
        (taken,) = (call.args[0] for call in kept.calls[path])
        assert np.shares_memory(state, taken.numpy())
    (pooled,) = (call.args[0] for call in kept.calls["pooler"])
    assert np.shares_memory(done.hidden_states[-1], pooled.numpy())


@pytest.mark.parametrize("family", ["gpt2", "albert", "bart", "modernbert"])
def test_other_families_keep_little_more_as_well(family: str) -> None:
    model = small_model(family)
    long = Sentence("word " * 30)
    run(model, long)
    before = live_storages()
    done, kept = run(model, long)
    new = sum(size for at, size in live_storages().items() if at not in before)
    states = sum(state.nbytes for state in done.hidden_states)
    norms = sum(m.token_norms.nbytes for m in done.modules if m.token_norms is not None)
    masks = 16 * len(done.tokens) ** 2
    assert new <= 2 * states + norms + masks
    assert kept.bytes <= new


def test_statistics_alone_keep_no_tensor(demo: LoadedModel) -> None:
    run_sentence(demo, SENTENCE)
    before = live_storages()
    figures = run_sentence(demo, LONG).modules
    assert not live_storages().keys() - before.keys()
    assert len(figures) == 113
