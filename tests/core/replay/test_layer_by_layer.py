"""What is replayed of a run that was loaded layer by layer is that of the model in memory."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.analysis.attention_modules import attention_paths
from bertviewer.core.checks.check import check_module, replay_step
from bertviewer.core.loading.lazy_parameter import lazy_parameters
from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.attention import attention_of
from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.replay.module_tensors import list_tensors, values_of
from bertviewer.core.replay.outputs import call_statistics, histogram_of
from bertviewer.core.replay.padding import compare_padding
from bertviewer.core.replay.predictions import predictions_at, token_probabilities
from bertviewer.core.schema.activation_run import Sentence, TensorKey
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.tensors.parameters import whole_tensor
from tests.core.replay.model_runs import ran

LAYER = "bert.encoder.layer.1"


@pytest.fixture(scope="module")
def both(tiny_bert_folder: Any) -> tuple[CachedRun, CachedRun]:
    """Return a run of a model that is loaded layer by layer, and one of the model in memory."""
    source = parse_source(str(tiny_bert_folder), "masked-lm")
    ours, whole = (
        ran(open_model(replace(source, offload=offload)), Sentence("the cat sat on the mat"))
        for offload in (True, False)
    )
    return ours, whole


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


REPLAYS: dict[str, Any] = {
    "attention": lambda it: [
        attention_of(it, path) for path in attention_paths(it.model.architecture)
    ],
    "histogram of a layer": lambda it: histogram_of(it, LAYER),
    "histogram of the model": lambda it: histogram_of(it, ""),
    "statistics by token": lambda it: call_statistics(it, (LAYER, f"{LAYER}.output.dense")),
    "predictions": lambda it: predictions_at(it, 2),
    "probabilities of the tokens": token_probabilities,
    "check of a layer": lambda it: check_module(it.model, it.cache, LAYER),
    "check of the model": lambda it: check_module(it.model, it.cache, ""),
    "step of a check": lambda it: replay_step(
        it.model, it.cache, check_module(it.model, it.cache, f"{LAYER}.output").steps[-1]
    ),
    "tensors of a module": lambda it: list_tensors(it, f"{LAYER}.attention.self"),
    "values of a projection": lambda it: values_of(
        it, f"{LAYER}.attention.self.query", TensorKey("output", "output")
    ).values.block((0, 4), (0, 32)),
    "padding": lambda it: compare_padding(it, 12),
    "random tensor": lambda it: whole_tensor(it.model, "cls.predictions.transform.dense.weight"),
}


@pytest.mark.parametrize("name", REPLAYS)
def test_a_replay(both: tuple[CachedRun, CachedRun], name: str) -> None:
    ours, whole = both
    before = len(lazy_parameters(ours.model.running_module))
    assert is_equal(REPLAYS[name](ours), REPLAYS[name](whole))
    # Every weight that was read is dropped again, also where the model stopped on the way.
    assert len(lazy_parameters(ours.model.running_module)) == before > 0
