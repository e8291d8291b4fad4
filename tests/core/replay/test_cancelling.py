"""Whatever replays a run can be cancelled at any time, and leaves the model unchanged."""

from collections.abc import Callable
from typing import Any

import pytest

from bertviewer.core.checks.check import check_module
from bertviewer.core.replay.attention import attention_of
from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.replay.checked_step import checked_step
from bertviewer.core.replay.module_tensors import list_tensors, values_of
from bertviewer.core.replay.outputs import call_statistics, histogram_of
from bertviewer.core.replay.padding import compare_padding
from bertviewer.core.replay.predictions import predictions_at, token_probabilities
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.module_replay import replay
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import TensorKey
from bertviewer.core.util.errors import Cancelled
from bertviewer.core.util.progress import Progress, no_progress
from tests.core.checks.small_models import SENTENCE, hook_count
from tests.core.replay.model_runs import Opened, assert_same_calls, opened

LAYER = "bert.encoder.layer.1"
ATTENTION = f"{LAYER}.attention.self"


def without_cache(it: Opened) -> CachedRun:
    """Return a run whose modules are replayed by the whole model."""
    cache = ActivationCache("units")
    cache.inputs = it.cache.inputs
    return CachedRun(it.model, it.run, cache)


def checked(it: Opened, progress: Progress) -> None:
    (step,) = check_module(it.model, it.cache, f"{LAYER}.output.dense").steps
    checked_step(it, step, progress)


ACTIONS: dict[str, Callable[[Opened, Progress], Any]] = {
    "run": lambda it, progress: run_sentence(
        it.model, SENTENCE, progress, random_weights=True, cache=ActivationCache()
    ),
    "layer": lambda it, progress: replay(it.model, it.cache, [LAYER], progress),
    "model": lambda it, progress: replay(it.model, it.cache, [""], progress),
    "attention": lambda it, progress: attention_of(it, ATTENTION, progress),
    "histogram": lambda it, progress: histogram_of(it, LAYER, progress),
    "histogram without a cache": lambda it, progress: histogram_of(
        without_cache(it), LAYER, progress
    ),
    "statistics": lambda it, progress: call_statistics(it, (f"{LAYER}.output.dense",), progress),
    "tensors": lambda it, progress: list_tensors(it, LAYER, progress),
    "input": lambda it, progress: values_of(
        it, f"{LAYER}.output", TensorKey("input", "hidden_states"), progress
    ),
    "predictions": lambda it, progress: predictions_at(it, 2, progress),
    "probabilities": token_probabilities,
    "padding": lambda it, progress: compare_padding(it, 16, progress),
    "check": lambda it, progress: check_module(it.model, it.cache, LAYER, progress),
    "checked step": checked,
}


@pytest.fixture(scope="module")
def it() -> Opened:
    return opened("bert", "masked-lm")


@pytest.mark.parametrize("name", ACTIONS)
def test_cancelling(name: str, it: Opened) -> None:
    count, stop_at = 0, 0

    def progress(done: int, total: int, label: str) -> None:
        nonlocal count
        count += 1
        assert 0 <= done <= total or not total
        if count == stop_at:
            raise Cancelled

    # The first time the model is traced, and transformers puts hooks of its own on it.
    ACTIONS[name](it, no_progress)
    ACTIONS[name](it, progress)
    hooks, implementation = hook_count(it.network), it.network.config._attn_implementation
    for number in sorted({1, count // 3, 2 * count // 3, count} - {0}):
        count, stop_at = 0, number
        with pytest.raises(Cancelled):
            ACTIONS[name](it, progress)
        assert hook_count(it.network) == hooks
        assert it.network.config._attn_implementation == implementation
    assert_same_calls(replay(it.model, it.cache, [LAYER]), it.everything, LAYER)
