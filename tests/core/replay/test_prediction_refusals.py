"""Missing predictions have a reason, and leave the model unchanged."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from bertviewer.core.analysis.predictions import mask_positions, predicted_positions
from bertviewer.core.util.errors import Cancelled, UserError
from tests.core.checks.small_models import hook_count
from tests.core.replay.guesses import at, ids, logits_of
from tests.core.replay.model_runs import known, opened, ran


@pytest.mark.parametrize(
    ("family", "task"),
    [
        ("bert", "base"),
        ("gpt2", "base"),
        ("bert", "sequence-classification"),
        ("bert", "token-classification"),
    ],
)
def test_models_without_a_vocabulary_say_so(family: str, task: str) -> None:
    it = known(family, task)
    assert predicted_positions(it.run, it.model.architecture) == ()
    assert mask_positions(it.run, it.model.architecture) == ()
    with pytest.raises(UserError, match="no head that predicts tokens"):
        at(it, 0)


def test_the_encoders_tokens_predict_nothing() -> None:
    it = known("bart", "masked-lm")
    with pytest.raises(UserError, match="decoder's tokens"):
        at(it, 0)


def test_a_head_that_mixes_tokens_has_no_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    it = opened("bert", "masked-lm")
    head = it.network.cls
    plain = type(head).forward
    monkeypatch.setattr(type(head), "forward", lambda self, x: plain(self, x + x.mean(1, True)))
    again = ran(it.model)
    found = at(again, 2)
    assert found.layers == ()
    assert "more than the token's last hidden state" in found.no_layers
    assert ids(found.guess) == logits_of(again)[2].topk(10).indices.tolist()


def test_a_head_that_fails_on_one_token_has_no_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    it = known("bert", "masked-lm")
    head = it.network.cls
    plain = type(head).forward

    def needs_all(self: Any, x: torch.Tensor) -> torch.Tensor:
        if x.shape[1] == 1:
            raise RuntimeError("too short")
        return plain(self, x)  # type: ignore[no-any-return]

    monkeypatch.setattr(type(head), "forward", needs_all)
    found = at(it, 2)
    assert found.layers == ()
    assert "too short" in found.no_layers
    assert ids(found.guess) == logits_of(it)[2].topk(10).indices.tolist()


@pytest.mark.parametrize(("family", "task"), [("bert", "masked-lm"), ("t5", "pretraining")])
@pytest.mark.parametrize("cancel_at", [1, 4, 6])
def test_a_prediction_that_is_cancelled_leaves_the_model_as_it_was(
    family: str, task: str, cancel_at: int
) -> None:
    it = opened(family, task)
    position = predicted_positions(it.run, it.model.architecture)[0]
    before = at(it, position)
    hooks, called = hook_count(it.network), 0

    def stop(done: int, total: int, label: str) -> None:
        nonlocal called
        called += 1
        if called == cancel_at:
            raise Cancelled

    with pytest.raises(Cancelled):
        at(it, position, progress=stop)
    assert hook_count(it.network) == hooks
    assert not any("forward" in vars(inner) for inner in it.network.modules())
    assert at(it, position) == before


def test_a_forward_that_was_replaced_before_stays_so() -> None:
    it = opened("bert", "masked-lm")
    own = it.network.bert.forward
    it.network.bert.forward = replaced = partial(own)
    at(it, 1)
    assert it.network.bert.forward is replaced


def test_scores_that_are_no_numbers() -> None:
    it = opened("bert", "masked-lm")
    with torch.no_grad():
        it.network.cls.predictions.bias[3] = torch.nan
    found = at(ran(it.model), 1)
    assert found.guess.rank is None
    assert found.guess.probability is None
    assert np.isnan(found.guess.top[0].probability)


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
@pytest.mark.parametrize(("family", "layers"), [("bert", "encoder.layer"), ("gpt2", "h")])
def test_layers_before_one_that_gives_nan_still_tell(
    family: str, layers: str, value: float
) -> None:
    it = opened(family, "masked-lm" if family == "bert" else "pretraining")
    plain = at(it, 1)
    last = it.network.base_model.get_submodule(layers)[-1]
    # Not in the queries: on some processors torch's fused attention takes a NaN for a number.
    *_, parameter = last.parameters()
    with torch.no_grad():
        parameter.view(-1)[0] = value
    found = at(ran(it.model), 1)
    assert found.no_layers == ""
    assert found.layers[:-1] == plain.layers[:-1]
    assert found.guess.rank is None
