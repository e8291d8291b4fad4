"""The tensors that a check's step compared, and the element that decides it."""

from typing import Any

import numpy as np
import pytest
import torch

from bertviewer.core.checkpoints.reading import matrix_shape
from bertviewer.core.checks.check import check_module
from bertviewer.core.replay.checked_step import DIFFERENCE, GIVEN, RECOMPUTED, checked_step
from bertviewer.core.replay.module_tensors import module_tensors
from bertviewer.core.schema.check import CheckStep
from bertviewer.core.tensors.values import TensorValues
from bertviewer.core.util.errors import UserError
from tests.core.checks.small_models import change_output
from tests.core.replay.model_runs import known, opened, ran

OUTPUT = "encoder.layer.1.output"


def whole(found: TensorValues) -> np.ndarray:
    rows, columns = matrix_shape(found.shape)
    return found.block((0, rows), (0, columns)).reshape(found.shape)


@pytest.mark.parametrize(
    ("family", "path"),
    [
        ("bert", "encoder.layer.1"),
        ("bert", "pooler"),
        ("gpt2", "h.0"),
        ("t5", "decoder.block.0"),
        ("albert", "encoder.albert_layer_groups.0.albert_layers.0"),
        ("mixtral", "layers.1"),
        ("mixtral", "layers.1.mlp"),
    ],
)
def test_the_worst_element_has_the_error_of_the_step(family: str, path: str) -> None:
    it = known(family)
    check = check_module(it.model, it.cache, path)
    assert check.steps
    for step in check.steps:
        found = checked_step(it, step)
        assert tuple(found.interleaved) == (GIVEN, RECOMPUTED, DIFFERENCE)
        given, recomputed, difference = map(whole, found.interleaved.values())
        assert found.interleaved[RECOMPUTED].dtype in ("float64", "int64")  # positions are integers
        np.testing.assert_array_equal(difference, given.astype(np.float64) - recomputed)
        assert found.worst is not None
        assert abs(found.worst.difference) == step.max_abs_error
        assert difference[found.worst.index] == found.worst.difference
        assert found.worst.tolerance == step.tolerance
        assert found.metadata["step"] == step.step


def test_the_given_tensor_is_the_output_of_the_run() -> None:
    it = known("bert")
    step = check_module(it.model, it.cache, OUTPUT).steps[-1]
    given = module_tensors(it, OUTPUT)[1]["output"]
    np.testing.assert_array_equal(whole(checked_step(it, step).interleaved[GIVEN]), given.numpy())


@pytest.mark.parametrize(("index", "value"), [((0, 3, 7), 0.25), ((0, 2, 5), torch.nan)])
def test_a_wrong_element_is_the_worst(index: tuple[int, ...], value: float) -> None:
    it = opened("bert")

    def wrong(output: Any) -> Any:
        output = output.clone()
        output[index] += value
        return output

    change_output(it.network.get_submodule(f"{OUTPUT}.dense"), wrong)
    it = ran(it.model)
    (step,) = check_module(it.model, it.cache, f"{OUTPUT}.dense").steps
    assert not step.ok
    assert (step.max_abs_error is None) == np.isnan(value)
    worst = checked_step(it, step).worst
    assert worst is not None
    assert worst.index == index
    assert worst.difference == pytest.approx(value, rel=1e-5, nan_ok=True)


def test_two_infinite_elements_do_not_differ() -> None:
    it = opened("bert")
    with torch.no_grad():
        it.network.get_submodule(f"{OUTPUT}.dense").bias[4] = torch.inf
    it = ran(it.model)
    (step,) = check_module(it.model, it.cache, f"{OUTPUT}.dense").steps
    found = checked_step(it, step)
    assert np.isposinf(whole(found.interleaved[GIVEN])[0, :, 4]).all()
    assert (whole(found.values)[0, :, 4] == 0).all()


def test_an_unknown_step() -> None:
    step = CheckStep("pooler", "nothing", 0.0, 0.0, ok=True)
    with pytest.raises(UserError, match="pooler: nothing cannot be recomputed"):
        checked_step(known("bert"), step)
