"""The compared tensors of a check's step, and the worst element."""

import numpy as np
import pytest
import torch

from bertviewer.core.checkpoints.reading import matrix_shape
from bertviewer.core.checks.check import check_module
from bertviewer.core.replay.checked_step import DIFFERENCE, GIVEN, RECOMPUTED, checked_step
from bertviewer.core.replay.module_tensors import module_tensors
from bertviewer.core.schema.check import CheckStep
from bertviewer.core.tensors.values import NamedValues, TensorValues
from bertviewer.core.util.errors import UserError
from tests.core.checks.small_models import change_output
from tests.core.replay.model_runs import Opened, known, opened, ran


def whole(found: TensorValues) -> np.ndarray:
    rows, columns = matrix_shape(found.shape)
    return found.block((0, rows), (0, columns)).reshape(found.shape)


def looked_at(it: Opened, step: CheckStep) -> NamedValues:
    return checked_step(it, step)


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
def test_each_step_has_the_numbers_that_it_was_judged_by(family: str, path: str) -> None:
    it = known(family)
    check = check_module(it.model, it.cache, path)
    assert check.steps
    for step in check.steps:
        found = looked_at(it, step)
        assert tuple(found.interleaved) == (GIVEN, RECOMPUTED, DIFFERENCE)
        given, recomputed, difference = map(whole, found.interleaved.values())
        assert found.interleaved[RECOMPUTED].dtype in ("float64", "int64")  # positions are integers
        np.testing.assert_array_equal(difference, given.astype(np.float64) - recomputed)
        assert found.worst is not None
        assert abs(found.worst.difference) == step.max_abs_error
        assert difference[found.worst.index] == found.worst.difference
        assert found.worst.tolerance == step.tolerance
        assert found.metadata["step"] == step.step


def test_what_was_given_is_what_the_run_gave() -> None:
    it = known("bert")
    path = "encoder.layer.1.output"
    step = check_module(it.model, it.cache, path).steps[-1]
    given = module_tensors(it, path)[1]["output"]
    np.testing.assert_array_equal(whole(looked_at(it, step).interleaved[GIVEN]), given.numpy())


def test_a_fault_is_found_where_it_is() -> None:
    it = opened("bert")
    inner = it.network.encoder.layer[1].output.dense

    def wrong(output: torch.Tensor) -> torch.Tensor:
        output = output.clone()
        output[0, 3, 7] += 0.25
        return output

    change_output(inner, wrong)
    it = ran(it.model)
    (step,) = check_module(it.model, it.cache, "encoder.layer.1.output.dense").steps
    assert not step.ok
    worst = looked_at(it, step).worst
    assert worst is not None
    assert worst.index == (0, 3, 7)
    assert worst.difference == pytest.approx(0.25, rel=1e-5)


def test_a_number_that_should_be_none_is_the_worst() -> None:
    it = opened("bert")

    def wrong(output: torch.Tensor) -> torch.Tensor:
        output = output.clone()
        output[0, 2, 5] = torch.nan
        return output

    change_output(it.network.encoder.layer[1].output, wrong)
    it = ran(it.model)
    step = check_module(it.model, it.cache, "encoder.layer.1.output").steps[-1]
    assert step.max_abs_error is None
    found = looked_at(it, step)
    assert found.worst is not None
    assert found.worst.index == (0, 2, 5)
    assert np.isnan(found.worst.difference)


def test_both_infinite_is_no_difference() -> None:
    it = opened("bert")
    with torch.no_grad():
        it.network.encoder.layer[1].output.dense.bias[4] = torch.inf
    it = ran(it.model)
    (step,) = check_module(it.model, it.cache, "encoder.layer.1.output.dense").steps
    found = looked_at(it, step)
    assert np.isposinf(whole(found.interleaved[GIVEN])[0, :, 4]).all()
    assert (whole(found.values)[0, :, 4] == 0).all()


def test_a_step_that_there_is_not() -> None:
    it = known("bert")
    step = CheckStep("pooler", "nothing", 0.0, 0.0, ok=True)
    with pytest.raises(UserError, match="pooler: nothing cannot be recomputed"):
        looked_at(it, step)
