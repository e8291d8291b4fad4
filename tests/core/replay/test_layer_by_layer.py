"""Details of a run that was loaded layer by layer are those of the model in memory."""

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
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.attention import attention_of
from bertviewer.core.replay.module_tensors import list_tensors, values_of
from bertviewer.core.replay.outputs import call_statistics, histogram_of
from bertviewer.core.replay.padding import compare_padding
from bertviewer.core.replay.predictions import predictions_at, token_probabilities
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.runs.sentence_comparison import compare_sentences
from bertviewer.core.schema.activation_run import ActivationRun, Sentence, TensorKey
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.tensors.parameters import whole_tensor

LAYER = "bert.encoder.layer.3"
Looks = tuple[LoadedModel, ActivationRun, ActivationCache]


def looked_at(offload: bool) -> Looks:
    source = replace(parse_source("demo", "masked-lm"), offload=offload)
    model, kept = open_model(source), ActivationCache("units")
    run = run_sentence(model, Sentence("The cat sat on the mat."), cache=kept)
    return model, run, kept


@pytest.fixture(scope="module")
def both() -> tuple[Looks, Looks]:
    return looked_at(True), looked_at(False)


def is_equal(a: Any, b: Any) -> bool:
    """Tell whether two results are the same, bit by bit."""
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


LOOKS: dict[str, Any] = {
    "attention": lambda model, run, kept: [
        attention_of(model, run, kept, path) for path in attention_paths(model.architecture)
    ],
    "histogram of a layer": lambda model, run, kept: histogram_of(model, run, kept, LAYER),
    "histogram of the model": lambda model, run, kept: histogram_of(model, run, kept, ""),
    "sums by token": lambda model, run, kept: call_statistics(
        model, run, kept, (LAYER, f"{LAYER}.output.dense")
    ),
    "predictions": lambda model, run, kept: predictions_at(model, run, kept, 2),
    "probabilities of the tokens": token_probabilities,
    "check of a layer": lambda model, _run, kept: check_module(model, kept, LAYER),
    "check of the model": lambda model, _run, kept: check_module(model, kept, ""),
    "step of a check": lambda model, _run, kept: replay_step(
        model, kept, check_module(model, kept, f"{LAYER}.output").steps[-1]
    ),
    "tensors of a module": lambda model, run, kept: list_tensors(
        model, run, kept, f"{LAYER}.attention.self"
    ),
    "values of a projection": lambda model, run, kept: values_of(
        model, run, kept, f"{LAYER}.attention.self.query", TensorKey("output", "output")
    ).values.block((0, 4), (0, 384)),
    "padding": lambda model, run, kept: compare_padding(model, run, kept, 12),
    "sentences": lambda model, _run, _kept: compare_sentences(model, "a cat", "a dog"),
    "random tensor": lambda model, _run, _kept: whole_tensor(
        model, "cls.predictions.transform.dense.weight"
    ),
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_closer_look(both: tuple[Looks, Looks], name: str) -> None:
    ours, whole = both
    before = len(lazy_parameters(ours[0].running_module))
    assert is_equal(LOOKS[name](*ours), LOOKS[name](*whole))
    # All that was read is given back, whether the look came to its end or stopped on the way.
    assert len(lazy_parameters(ours[0].running_module)) == before > 0
