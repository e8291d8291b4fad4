"""Attention of a model that does not do all that is asked of it."""

import pytest

from bertviewer.core.replay.attention import attention_of
from bertviewer.core.util.errors import UserError
from tests.core.replay.model_runs import opened


def test_what_cannot_be_called_alone_may_yet_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    it = opened("bert")
    path = "encoder.layer.1.attention.self"
    expected = attention_of(it.model, it.run, it.kept, path).probabilities

    def fail(*_args: object, **_kwargs: object) -> None:
        raise UserError("part of the run cannot be replayed")

    monkeypatch.setattr("bertviewer.core.replay.attention.replay_call", fail)
    found = attention_of(it.model, it.run, it.kept, path).probabilities
    assert found == pytest.approx(expected, abs=1e-5)


def test_a_model_that_fails_eagerly_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    it = opened("bert")
    path = "encoder.layer.1.attention.self"

    def fail(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("odd")

    monkeypatch.setattr(
        "bertviewer.core.replay.attention._Attention._observed", lambda *_, **__: None
    )
    monkeypatch.setattr(it.module.get_submodule("pooler"), "forward", fail)
    said = rf"^{path}: its attention weights cannot be obtained: pooler \(BertPooler\): odd$"
    with pytest.raises(UserError, match=said):
        attention_of(it.model, it.run, it.kept, path)
    assert it.module.config._attn_implementation == "sdpa"
