"""What a run keeps for its check: references, up to a budget, of the last run only."""

import gc
import weakref
from typing import Any

import pytest
import torch
from torch import nn

from bertviewer.core.architecture import SourceInfo
from bertviewer.core.checking.check import check_run
from bertviewer.core.checking.checker import Checker
from bertviewer.core.checking.part import NoFormulaError
from bertviewer.core.errors import Cancelled
from bertviewer.core.inspection import inspect_module
from bertviewer.core.run.activation_run import Sentence
from bertviewer.core.run.capture import Capture
from bertviewer.core.run.running import run_sentence
from tests.core.checking.small_models import SENTENCE, hook_count, run, small_model


def captured(model: Any) -> Capture:
    assert isinstance(model.capture, Capture)
    return model.capture


def test_a_run_keeps_nothing_unless_it_is_asked_to() -> None:
    model = small_model("bert")
    run_sentence(model, SENTENCE, random_weights=True)
    assert model.capture is None


def test_tensors_are_not_copied() -> None:
    model = small_model("bert")
    run(model)
    calls = captured(model).calls
    (layer,), (after,) = calls["encoder.layer.0"], calls["encoder.layer.1"]
    assert after.args[0] is layer.output
    assert calls[""][0].output["hidden_states"][1] is layer.output


def test_bytes_count_every_storage_once() -> None:
    capture = Capture({}, 1e9)
    model = nn.Sequential(nn.Identity(), nn.Flatten(), nn.Identity())
    with torch.no_grad(), capture.watching(dict(model.named_modules())):
        model(torch.zeros(4, 5, 5))
    assert len(capture.calls) == 4
    assert capture.bytes == 4 * 25 * 4


def test_a_small_budget_is_told() -> None:
    model = small_model("bert")
    run(model)
    whole = captured(model).bytes
    run(model, keep=whole / 2)
    assert 0 < captured(model).bytes <= whole / 2
    assert captured(model).refused
    check = check_run(model)
    assert check.steps
    assert check.crosses == ()
    reasons = {left.reason for left in check.unchecked if left.path in captured(model).refused}
    assert len(reasons) == 1
    assert "the sentence is too long" in reasons.pop()


def test_the_last_run_takes_the_place_of_the_one_before() -> None:
    model = small_model("bert")
    run(model)
    first = weakref.ref(captured(model).calls["encoder.layer.0"][0].output)
    size = captured(model).bytes
    for _ in range(3):
        run(model)
    gc.collect()
    assert first() is None
    assert captured(model).bytes == size
    run_sentence(model, SENTENCE, random_weights=True)
    assert model.capture is None


def test_a_run_that_is_cancelled_leaves_the_one_before_and_no_hooks() -> None:
    model = small_model("bert")
    run(model)
    before = captured(model)
    hooks = hook_count(model.module(True))

    def stop(done: int, total: int, label: str) -> None:
        if label == "encoder.layer.1":
            raise Cancelled

    with pytest.raises(Cancelled):
        run_sentence(model, Sentence("other"), True, stop, keep=1e9)
    assert model.capture is before
    assert hook_count(model.module(True)) == hooks
    assert check_run(model).crosses == ()


def test_a_check_that_is_cancelled_leaves_the_model_as_it_was() -> None:
    model = small_model("bert")
    run(model)
    hooks = hook_count(model.module(True))

    def stop(done: int, total: int, label: str) -> None:
        if label == "BertSelfAttention":
            raise Cancelled

    with pytest.raises(Cancelled):
        check_run(model, progress=stop)
    module: Any = model.module(True)
    assert module.config._attn_implementation == "sdpa"
    assert hook_count(module) == hooks


@pytest.mark.parametrize("inplace", [True, False])
def test_what_is_changed_in_place_is_told_and_not_checked(inplace: bool) -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=inplace)).eval()
    architecture = inspect_module(model, SourceInfo("config", "x", "base", "none"), {})
    capture = Capture({}, 1e9)
    with torch.no_grad(), capture.watching(dict(model.named_modules())):
        model(torch.ones(2, 3))
    checker = Checker(model, architecture, capture)
    if not inplace:
        assert all(step.ok for path in ("", "0", "1") for step in checker.steps(path))
        return
    for path in ("0", "1"):
        with pytest.raises(NoFormulaError, match="changed in place"):
            list(checker.steps(path))
