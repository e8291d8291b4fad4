"""Attention weights of more families: shown, or refused with a reason."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bertviewer.core.analysis.attention_layers import attention_layers
from bertviewer.core.analysis.attention_modules import attention_paths
from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay import attention as module
from bertviewer.core.replay.attention import attention_of
from bertviewer.core.replay.module_tensors import module_tensors
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from tests.core.checks.small_models import run
from tests.core.replay.model_runs import Opened, ran

BERT = {
    "vocab_size": 97,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 64,
}
XLM = {"vocab_size": 97, "emb_dim": 24, "n_layers": 2, "n_heads": 3, "max_position_embeddings": 64}
SIDES = {"decoder_layers": 1, "encoder_ffn_dim": 40, "decoder_ffn_dim": 40}
HEADS = {"encoder_attention_heads": 3, "decoder_attention_heads": 2}
BART = {"vocab_size": 97, "d_model": 24, "encoder_layers": 2, **SIDES, **HEADS}
SHOWN: dict[str, dict[str, Any]] = {
    "bert-generation": BERT,
    "convbert": {**BERT, "embedding_size": 16, "head_ratio": 1, "num_attention_heads": 4},
    "deberta": {**BERT, "type_vocab_size": 0, "relative_attention": True, "pos_att_type": ["c2p"]},
    "falcon": {**BERT, "hidden_size": 32, "num_attention_heads": 4},
    "flaubert": XLM,
    "megatron-bert": BERT,
    "pegasus": BART,
    "roformer": {**BERT, "embedding_size": 16},
    "xlm": XLM,
    "xlnet": {"vocab_size": 97, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 40},
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "canine": (BERT, "is not token-to-token"),
    "led": ({**BART, "attention_window": [4, 4]}, "is not token-to-token"),
    "longformer": ({**BERT, "attention_window": [4, 4]}, "does not return its attention weights"),
    "yoso": (BERT, "does not return its attention weights"),
}

Open = Callable[[str, dict[str, Any]], Opened]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """Return what opens a model by its configuration, and runs a sentence."""

    def open_and_run(family: str, values: dict[str, Any]) -> Opened:
        path = tmp_path / "config.json"
        path.write_text(json.dumps({"model_type": family, **values}))
        model = open_model(parse_source(str(path)))
        run(model)  # moves the weights away from those of the initialisation
        return ran(model)

    return open_and_run


def given_eagerly(it: Opened) -> list[np.ndarray]:
    """Return what transformers gives: the encoder's, the decoder's, crossing ones."""
    used = it.network.config._attn_implementation
    it.network.config._attn_implementation = "eager"
    with torch.no_grad():
        output = it.plain(output_attentions=True)
    it.network.config._attn_implementation = used
    names = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")
    return [weights[0].numpy() for name in names for weights in output.get(name) or ()]


@pytest.mark.parametrize("family", SHOWN)
def test_it_is_what_transformers_gives(family: str, opened: Open) -> None:
    it = opened(family, SHOWN[family])
    layers = attention_layers(it.model.architecture, it.run)
    labels = ["e 0", "e 1", "d 0 self", "d 0 cross"] if family == "pegasus" else ["0", "1"]
    assert [layer.label for layer in layers] == labels
    expected = given_eagerly(it)
    assert len(expected) == len(layers)
    for layer, weights in zip(layers, expected, strict=True):
        found = attention_of(it, layer.path, call=layer.call)
        assert found.probabilities == pytest.approx(weights, abs=1e-5)
        assert found.probabilities.sum(-1) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("family", REFUSED)
def test_what_is_not_from_token_to_token_is_told(family: str, opened: Open) -> None:
    values, reason = REFUSED[family]
    it = opened(family, values)
    path = next(
        layer.path
        for layer in attention_layers(it.model.architecture, it.run)
        if layer.path.startswith("encoder")
    )
    with pytest.raises(UserError, match=reason) as refusal:
        attention_of(it, path)
    assert "\n" not in str(refusal.value)


def test_a_model_without_attention_has_no_layers_of_it(opened: Open) -> None:
    it = opened("fnet", {**BERT, "pad_token_id": 0})
    assert attention_layers(it.model.architecture, it.run) == ()


def test_shares_are_those_that_the_run_used(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ALiBi, Falcon's eager attention gives other numbers than what torch carries out."""
    it = opened("falcon", {**SHOWN["falcon"], "alibi": True})
    path = attention_paths(it.model.architecture)[0]
    shares = torch.tensor(attention_of(it, path).probabilities)[None]
    attention = it.network.get_submodule(path)
    _, fused = module_tensors(it, f"{path}.query_key_value")
    value = attention._split_heads(fused["output"])[2].transpose(1, 2)
    mixed = (shares @ value).transpose(1, 2).flatten(2)
    _, given = module_tensors(it, path)
    assert torch.allclose(attention.dense(mixed), given["output.0"], atol=1e-4)
    assert not shares.triu(1).any()
    # Where neither way shows them, that is what is said.
    monkeypatch.setattr(module._AttentionCall, "_observed", lambda _: None)
    with pytest.raises(UserError, match="gives different values than in the run"):
        attention_of(it, path)
