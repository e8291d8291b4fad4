"""The check can fail, and then at the right step."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

from bertviewer.core.checks.check import check_module, check_run
from bertviewer.core.checks.layer_steps import NEXT
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.activation_cache import ActivationCache, Scope
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.model_source import ModelSource
from tests.core.checks.crossing import crosses, other_forward
from tests.core.checks.small_models import SENTENCE, run, small_model

LAYER = "encoder.layer.2"
ABOVE = {("", "output"), ("encoder", "output")}
"""Everything that holds a broken layer is broken as well."""


@pytest.fixture(scope="module")
def demo(demo_source: ModelSource) -> LoadedModel:
    return open_model(demo_source)


def fresh_run(model: LoadedModel) -> ActivationCache:
    capture = ActivationCache()
    run_sentence(model, Sentence("this is a 12212121 test sentence"), cache=capture)
    return capture


@contextmanager
def changed(tensor: Tensor, place: tuple[int, ...], by: float) -> Iterator[None]:
    before = tensor.detach().clone()
    try:
        with torch.no_grad():
            tensor[place] += by
        yield
    finally:
        with torch.no_grad():
            tensor.copy_(before)


def test_the_real_model_ticks(demo: LoadedModel) -> None:
    capture = fresh_run(demo)
    check = check_run(demo, capture)
    assert crosses(check) == set()
    assert check.unchecked == ()
    assert len(check.steps) == 238
    # Rounding, and no more: the tolerance is never a hundred times what is there.
    for step in check.steps:
        assert step.max_abs_error is not None
        assert step.max_abs_error <= step.tolerance < 1e-3
        assert step.max_abs_error < step.tolerance or step.max_abs_error == 0


def test_a_weight_that_is_broken_after_the_run(demo: LoadedModel) -> None:
    capture = fresh_run(demo)
    weight = demo.module(False).get_parameter(f"{LAYER}.intermediate.dense.weight")
    with changed(weight, (5, 7), 0.1):
        found = crosses(check_run(demo, capture))
    assert found == {
        (f"{LAYER}.intermediate.dense", "output"),
        (f"{LAYER}.intermediate", "output"),
        (LAYER, "intermediate"),
        (LAYER, NEXT),
        *ABOVE,
    }


def test_a_broken_row_of_the_queries_is_one_heads(demo: LoadedModel) -> None:
    capture = fresh_run(demo)
    weight = demo.module(False).get_parameter(f"{LAYER}.attention.self.query.weight")
    # 32 rows a head: row 70 is in head 2.
    with changed(weight, (70, 3), 0.5):
        found = crosses(check_run(demo, capture))
    assert found == {
        (f"{LAYER}.attention.self.query", "output"),
        (f"{LAYER}.attention.self", "output"),
        (f"{LAYER}.attention.self", "head 2"),
        (f"{LAYER}.attention", "output"),
        (LAYER, "self-attention"),
        (LAYER, NEXT),
        *ABOVE,
    }


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("encoder.layer.1.output.dropout", lambda y: y * 0.9),
        ("pooler.activation", lambda y: y.clamp(-0.1, 0.1)),
    ],
)
def test_other_results_of_single_modules(path: str, change: Callable[[Tensor], Tensor]) -> None:
    model = small_model("bert")
    module = model.module(random_weights=True).get_submodule(path)
    handle = module.register_forward_hook(other_forward(change))
    capture = run(model)
    handle.remove()
    assert (path, "output") in crosses(check_run(model, capture))


@pytest.mark.parametrize("scope", ["units", "everything"])
def test_one_module_alone(scope: Scope) -> None:
    model = small_model("bert")
    run(model)
    kept = ActivationCache(scope)
    run_sentence(model, SENTENCE, cache=kept)
    check = check_module(model, kept, "encoder.layer.1")
    assert {step.path for step in check.steps} == {
        "encoder.layer.1",
        "encoder.layer.1.attention.self",
    }
    assert crosses(check) == set()
    alone = check_module(model, kept, "encoder.layer.1.output.dense")
    assert [step.step for step in alone.steps] == ["output"]
    listed = check_module(model, kept, "encoder.layer")
    assert listed.steps == ()
    assert "was not called" in listed.unchecked[0].reason


def test_a_single_module_is_called_again_with_the_weights_of_this_moment(
    demo: LoadedModel,
) -> None:
    kept = ActivationCache("units")
    run_sentence(demo, Sentence("this is a 12212121 test sentence"), cache=kept)
    attention: Any = demo.module(False).get_submodule(f"{LAYER}.attention.self")
    with changed(attention.query.weight, (70, 3), 0.5):
        # It gives something else than in the run, and just what its formula says.
        assert crosses(check_module(demo, kept, LAYER)) == set()
    attention.scaling, usual = 1.0, attention.scaling
    try:
        found = crosses(check_module(demo, kept, LAYER))
    finally:
        attention.scaling = usual
    path = f"{LAYER}.attention.self"
    assert found == {
        *((path, f"head {number}") for number in range(12)),
        *((path, step) for step in ("output", "output (eager)", "weights (eager)")),
        (LAYER, "self-attention"),
        (LAYER, NEXT),
    }
    assert crosses(check_module(demo, kept, LAYER)) == set()
