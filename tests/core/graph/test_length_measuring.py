"""How many tokens a model accepts, which may differ from the lengths in its configuration."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from bertviewer.core.graph import length_measuring as measuring
from bertviewer.core.graph.length_measuring import length_limits
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.length_limits import (
    LengthLimits,
    position_table_length,
    safe_length,
    stated_lengths,
)
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError

_ONE: dict[str, Any] = {
    "vocab_size": 90,
    "hidden_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 20,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
}
_GPT = {"vocab_size": 90, "n_embd": 24, "n_layer": 1, "n_head": 2, "n_positions": 20}
_TWO: dict[str, Any] = {
    **{"vocab_size": 90, "d_model": 24, "max_position_embeddings": 20, "pad_token_id": 1},
    **{"encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 16},
    **{"decoder_layers": 1, "decoder_attention_heads": 2, "decoder_ffn_dim": 16},
    **{"is_encoder_decoder": True, "decoder_start_token_id": 2},
}
_T5 = {"vocab_size": 90, "d_model": 24, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
_LED = {"max_encoder_position_embeddings": 66, "max_decoder_position_embeddings": 20}
_PROPHETNET = {
    **{"vocab_size": 90, "hidden_size": 24, "max_position_embeddings": 20, "pad_token_id": 0},
    **{"num_encoder_layers": 1, "num_encoder_attention_heads": 2, "encoder_ffn_dim": 16},
    **{"num_decoder_layers": 1, "num_decoder_attention_heads": 2, "decoder_ffn_dim": 16},
    "is_encoder_decoder": True,
}
_REFORMER = {"attn_layers": ["local"], "local_attn_chunk_length": 4, "attention_head_size": 8}
_LUKE = {"entity_vocab_size": 9, "entity_emb_size": 8}
_ROTARY = {"position_embedding_type": "rotary"}
_DEBERTA = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 4}

MODELS: dict[str, tuple[dict[str, Any], int | None, int | None]] = {
    # learnt tables
    "bert": (_ONE, 20, None),
    "gpt2": (_GPT, 20, None),
    "opt": ({**_ONE, "ffn_dim": 16, "word_embed_proj_dim": 24}, 20, None),
    "bart": (_TWO, 20, 20),
    # tables with rows for padding
    "roberta": (_ONE, 18, None),
    "camembert": ({**_ONE, "pad_token_id": 5}, 14, None),
    "mpnet": (_ONE, 18, None),
    "luke": ({**_ONE, **_LUKE}, 18, None),
    "data2vec-text": (_ONE, 18, None),
    "prophetnet": (_PROPHETNET, 19, 18),
    # fixed tables
    "marian": (_TWO, 20, 20),
    "codegen": ({**_GPT, "n_head": 4, "rotary_dim": 4}, 20, None),
    "roformer": (_ONE, 20, None),
    # the last block of tokens is filled up
    "led": ({**_TWO, **_LED, "attention_window": [4]}, 64, 20),
    "longformer": ({**_ONE, "attention_window": 4}, 18, None),
    "reformer": ({**_ONE, **_REFORMER, "axial_pos_embds": False}, 20, None),
    # tables that grow
    "xglm": (
        {**_TWO, "num_layers": 1, "attention_heads": 2, "ffn_dim": 16, "is_encoder_decoder": False},
        None,
        None,
    ),
    "m2m_100": (_TWO, None, None),
    # no table
    "llama": (_ONE, None, None),
    "modernbert": (_ONE, None, None),
    "nomic_bert": (_ONE, None, None),
    "esm": ({**_ONE, **_ROTARY}, None, None),
    "deberta-v2": ({**_ONE, **_DEBERTA, "position_biased_input": False}, None, None),
    "t5": ({**_T5, "is_encoder_decoder": True, "n_positions": 20}, None, None),
    "bloom": ({**_GPT, "hidden_size": 24, "seq_length": 20}, None, None),
}


@pytest.mark.parametrize("family", MODELS)
def test_limits_of_a_family(family: str) -> None:
    values, source, target = MODELS[family]
    config = {"model_type": family, **values}
    found = length_limits(config)
    assert (found.source, found.target) == (source, target)
    assert safe_length(config) <= min(stated_lengths(config))
    assert safe_length(config) <= (found.shared or safe_length(config))


def opened(folder: Path, family: str, **changes: Any) -> LoadedModel:
    path = folder / "config.json"
    path.write_text(json.dumps({"model_type": family, **MODELS[family][0], **changes}))
    return open_model(parse_source(str(path)))


@pytest.mark.parametrize(
    "family", ["roberta", "marian", "codegen", "longformer", "led", "reformer"]
)
def test_a_model_runs_up_to_its_limit(family: str, tmp_path: Path) -> None:
    model = opened(tmp_path, family)
    limits = model.length_limits()
    assert limits.source is not None
    module = model.module(random_weights=True)
    inputs = {"decoder_input_ids": torch.full((1, 3), 7)} if limits.target else {}
    with torch.no_grad():
        module(input_ids=torch.full((1, limits.source), 7), **inputs)
        with pytest.raises((IndexError, RuntimeError, ValueError)):
            module(input_ids=torch.full((1, limits.source + 1), 7), **inputs)


@pytest.mark.parametrize("family", ["llama", "deberta-v2", "t5", "m2m_100"])
def test_a_text_that_is_longer_than_in_training_has_a_notice(family: str, tmp_path: Path) -> None:
    model = opened(tmp_path, family)
    run = run_sentence(model, Sentence("a " * 40), random_weights=True)
    assert len([token for token in run.tokens if token.segment == 0]) >= 40
    (notice,) = run.source.notices
    assert "allows 20:" in notice
    short = run_sentence(model, Sentence("a " * 9), random_weights=True)
    assert short.source.notices == ()


def test_encoder_and_decoder_have_limits_each(tmp_path: Path) -> None:
    model = opened(tmp_path, "led")
    with pytest.raises(UserError, match=r"42 tokens, and the decoder takes at most 20"):
        run_sentence(model, Sentence("a " * 40), random_weights=True)
    run = run_sentence(model, Sentence("a " * 40, "b " * 9), random_weights=True)
    assert len(run.tokens) == 42 + 11
    cut = run_sentence(model, Sentence("a " * 80, cut=True), random_weights=True)
    assert len(cut.tokens) == 20 + 20
    apart = run_sentence(model, Sentence("a " * 80, "b " * 80, cut=True), random_weights=True)
    assert len(apart.tokens) == 64 + 20
    with pytest.raises(UserError, match=r"82 tokens, and the encoder takes at most 64"):
        run_sentence(model, Sentence("a " * 80, "b " * 9), random_weights=True)


def test_a_model_that_cannot_be_built_has_the_stated_lengths() -> None:
    assert length_limits({"max_position_embeddings": 30}) == LengthLimits(30, 30, 30)


@pytest.mark.parametrize("family", ["bert", "roberta", "opt", "bart", "llama", "deberta-v2"])
def test_length_of_a_position_table(family: str, tmp_path: Path) -> None:
    model = opened(tmp_path, family)
    assert position_table_length(model.architecture) == MODELS[family][1]


def test_the_default_dtype_is_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[torch.dtype] = []
    monkeypatch.setattr(torch, "set_default_dtype", chosen.append)
    config = {"model_type": "bert", **_ONE, "dtype": "bfloat16", "max_position_embeddings": 21}
    assert length_limits(config).source == 21
    assert torch.bfloat16 not in chosen


def test_the_stated_length_is_used_if_time_runs_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = {"model_type": "llama", **MODELS["llama"][0], "vocab_size": 91}
    with monkeypatch.context() as patch:
        patch.setattr(measuring, "SECONDS", 0.0)
        assert length_limits(config).source == 20
    assert length_limits(config).source is None
