"""Whatever replays a run: it can be cancelled at any time, also of a model read layer by layer."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.checks.check import check_module
from bertviewer.core.loading.lazy_parameter import lazy_parameters
from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.attention import attention_of
from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.replay.checked_step import checked_step
from bertviewer.core.replay.module_tensors import list_tensors, module_tensors, values_of
from bertviewer.core.replay.outputs import call_statistics, histogram_of
from bertviewer.core.replay.padding import compare_padding
from bertviewer.core.replay.predictions import predictions_at, token_probabilities
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.module_replay import replay
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence, TensorKey
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import Cancelled
from bertviewer.core.util.progress import Progress, no_progress
from tests.core.checks.small_models import SENTENCE, hook_count
from tests.core.replay.model_runs import Opened, assert_same_calls, opened, ran

LAYER = "bert.encoder.layer.1"
INPUT = TensorKey("input", "hidden_states")


def without_cache(it: Opened) -> CachedRun:
    """Return a run whose modules are replayed by the whole model."""
    cache = ActivationCache("units")
    cache.inputs = it.cache.inputs
    return CachedRun(it.model, it.run, cache)


def checked(it: Opened, progress: Progress) -> Any:
    (step,) = check_module(it.model, it.cache, f"{LAYER}.output.dense").steps
    return checked_step(it, step, progress).worst


REPLAYS: dict[str, Callable[[Opened, Progress], Any]] = {
    "run": lambda it, progress: (
        run_sentence(
            it.model, SENTENCE, progress, random_weights=True, cache=ActivationCache()
        ).modules
    ),
    "layer": lambda it, progress: replay(it.model, it.cache, [LAYER], progress).calls,
    "model": lambda it, progress: replay(it.model, it.cache, [""], progress).calls,
    "attention": lambda it, progress: attention_of(it, f"{LAYER}.attention.self", progress),
    "histogram": lambda it, progress: histogram_of(it, LAYER, progress),
    "histogram without a cache": lambda it, progress: histogram_of(
        without_cache(it), LAYER, progress
    ),
    "statistics": lambda it, progress: call_statistics(it, (f"{LAYER}.output.dense",), progress),
    "list of tensors": lambda it, progress: list_tensors(it, LAYER, progress),
    "tensors": lambda it, progress: module_tensors(it, f"{LAYER}.attention.self", progress),
    "input": lambda it, progress: values_of(it, f"{LAYER}.output", INPUT, progress).values.elements,
    "predictions": lambda it, progress: predictions_at(it, 2, progress),
    "probabilities": token_probabilities,
    "padding": lambda it, progress: compare_padding(it, 16, progress),
    "check": lambda it, progress: check_module(it.model, it.cache, LAYER, progress),
    "checked step": checked,
}


@pytest.fixture(scope="module")
def small() -> Opened:
    return opened("bert", "masked-lm")


@pytest.mark.parametrize("name", REPLAYS)
def test_cancelling_leaves_the_model_unchanged(name: str, small: Opened) -> None:
    count, stop_at = 0, 0

    def progress(done: int, total: int, label: str) -> None:
        nonlocal count
        count += 1
        assert 0 <= done <= total or not total
        if count == stop_at:
            raise Cancelled

    # The first call traces the model, and transformers adds its hooks.
    REPLAYS[name](small, no_progress)
    REPLAYS[name](small, progress)
    hooks, implementation = hook_count(small.network), small.network.config._attn_implementation
    for number in sorted({1, count // 3, 2 * count // 3, count} - {0}):
        count, stop_at = 0, number
        with pytest.raises(Cancelled):
            REPLAYS[name](small, progress)
        assert hook_count(small.network) == hooks
        assert small.network.config._attn_implementation == implementation
    assert_same_calls(replay(small.model, small.cache, [LAYER]), small.everything, LAYER)


@pytest.fixture(scope="module")
def lazy_and_whole(tiny_bert_folder: Path) -> tuple[Opened, Opened]:
    """Return runs of a model that is loaded layer by layer, and of the same in memory."""
    source = parse_source(str(tiny_bert_folder), "masked-lm")
    lazy, whole = (
        ran(open_model(replace(source, offload=offload)), Sentence("the cat sat on the mat"))
        for offload in (True, False)
    )
    return lazy, whole


def is_equal(a: Any, b: Any) -> bool:
    """Return whether two results are equal bit by bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, Struct):
        names = a.__struct_fields__
        return all(is_equal(getattr(a, name), getattr(b, name)) for name in names)
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(is_equal(a[key], b[key]) for key in a)
    if isinstance(a, Sequence) and not isinstance(a, str):
        return len(a) == len(b) and all(map(is_equal, a, b))
    return bool(a == b)


@pytest.mark.parametrize("name", REPLAYS)
def test_a_model_that_is_read_layer_by_layer(
    name: str, lazy_and_whole: tuple[Opened, Opened]
) -> None:
    lazy, whole = lazy_and_whole
    before = len(lazy_parameters(lazy.network))
    found, expected = (REPLAYS[name](it, no_progress) for it in (lazy, whole))
    assert is_equal(found, expected)
    # Every weight that was read is dropped again, also where the model stopped on the way.
    assert len(lazy_parameters(lazy.network)) == before > 0
