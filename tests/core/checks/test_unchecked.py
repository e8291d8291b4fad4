"""What is not finite, or cannot be calculated again, is told and stops nothing."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from bertviewer.core.checks.check import check_run
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from tests.core.checks.crossing import crosses, other_forward
from tests.core.checks.small_models import SENTENCE, run, small_model

FAILED = "a reference instance cannot be run on its inputs"


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_value_that_is_not_finite_is_a_cross_where_it_comes_from(value: float) -> None:
    model = small_model("bert")
    path = "encoder.layer.0.intermediate.dense"

    def spoil(y: Tensor) -> Tensor:
        y = y.clone()
        y[0, 1, 2] = value
        return y

    module = model.module(random_weights=True).get_submodule(path)
    handle = module.register_forward_hook(other_forward(spoil))
    capture = run(model)
    handle.remove()
    check = check_run(model, capture)
    (step,) = check.at(path)
    assert (step.ok, step.max_abs_error) == (False, None)
    # What follows is as spoilt in the recomputation as it was in the run.
    assert all(step.ok for step in check.at("encoder.layer.0.output"))
    assert all(step.ok for step in check.at("encoder.layer.1.attention.self"))
    assert (path, "output") in crosses(check)


def test_a_model_that_gives_nan_alone_is_not_called_right() -> None:
    model = small_model("bert")
    weight = model.module(random_weights=True).get_parameter("encoder.layer.0.output.dense.weight")
    with torch.no_grad():
        weight[0, 0] = math.nan
    capture = run(model)
    check = check_run(model, capture)
    assert check.at("encoder.layer.0.attention.self")
    assert check.at("pooler") == ()
    reasons = {left.path: left.reason for left in check.unchecked}
    assert "no finite value" in reasons["pooler"]


def test_a_module_of_another_make_is_told_and_does_not_stop_the_check() -> None:
    model = small_model("bert")
    capture = run(model)
    module: Any = model.module(True)
    module.encoder.layer[0].output.dense = nn.Identity()
    check = check_run(model, capture)
    # The model cannot run any more, and the module cannot be recomputed.
    assert {left.path for left in check.unchecked} == {"", "encoder.layer.0.output.dense"}
    reasons = {left.path: left.reason for left in check.unchecked}
    assert reasons["encoder.layer.0.output.dense"] == FAILED
    assert check.at("encoder.layer.1.output.dense")


def test_a_reason_is_never_in_the_words_of_an_exception() -> None:
    model = small_model("bert")
    capture = run(model)
    module: Any = model.module(True)
    first, second = (layer.attention.self for layer in module.encoder.layer)
    del first.query
    second.value.weight = nn.Parameter(torch.zeros(5, 7))
    del module.pooler
    check = check_run(model, capture)
    again, *others = check.unchecked
    assert again.reason == (
        "the attention could not be run a second time with another implementation: "
        "encoder.layer.0.attention.self (BertSelfAttention) failed"
    )
    # Modules whose parameters are gone; those around them are checked piece by piece.
    assert {left.path: left.reason for left in others} == dict.fromkeys(
        (
            "encoder.layer.0.attention.self.query",
            "encoder.layer.1.attention.self.value",
            "pooler.dense",
        ),
        FAILED,
    )
    assert check.at("encoder.layer.1.output.dense")


def test_attention_that_cannot_be_run_a_second_time_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_args: Any, **_kwargs: Any) -> None:
        raise AssertionError("not in this way")

    model = small_model("bert")
    capture = ActivationCache()
    run_sentence(model, SENTENCE, random_weights=True, cache=capture)
    attention = model.module(True).get_submodule("encoder.layer.0.attention.self")
    monkeypatch.setattr(attention, "forward", fail)
    check = check_run(model, capture)
    (told,) = check.unchecked
    assert told.reason == (
        "the attention could not be run a second time with another implementation: "
        "encoder.layer.0.attention.self (BertSelfAttention) failed"
    )
    assert check.steps
    assert crosses(check) == set()


@pytest.mark.parametrize(
    ("family", "name", "value"),
    [
        # torch's fused attention makes numbers of scores that are NaN.
        ("bart", "encoder.layers.0.self_attn.k_proj.weight", math.nan),
        ("esm", "encoder.layer.0.attention.self.key.bias", math.nan),
        ("mixtral", "layers.1.self_attn.q_proj.weight", math.inf),
        # torch's GELU makes NaN of Inf.
        ("deberta", "encoder.layer.0.intermediate.dense.bias", math.inf),
        # Squares overflow in float32 alone.
        ("gpt2", "h.1.ln_2.weight", 1e30),
        ("t5", "encoder.block.0.layer.0.layer_norm.weight", 1e30),
    ],
)
def test_what_overflows_in_the_reference_too_is_no_cross(
    family: str, name: str, value: float
) -> None:
    model = small_model(family)
    run(model)
    with torch.no_grad():
        model.module(random_weights=True).get_parameter(name).view(-1)[:3] = value
    assert crosses(check_run(model, run(model))) == set()
