"""Causal attention, compared with the effect of later tokens."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from bertviewer.core.analysis.attention_modules import is_causal
from bertviewer.core.analysis.predictions import expected_positions, predicts_next
from bertviewer.core.explain.explanation import Context
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.runs.sentence_comparison import compare_sentences
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.families import is_cross_attention, reads_encoder
from bertviewer.core.sources.parsing import parse_source

SMALL: dict[str, Any] = {
    **{"vocab_size": 60, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3},
    **{"intermediate_size": 32, "max_position_embeddings": 40, "initializer_range": 0.3},
}
DECODER = {**SMALL, "is_decoder": True}
REFORMER: dict[str, Any] = {
    **{"vocab_size": 60, "hidden_size": 24, "num_attention_heads": 3, "attention_head_size": 8},
    **{"axial_pos_shape": [4, 16], "axial_pos_embds_dim": [8, 16], "feed_forward_size": 32},
    **{"max_position_embeddings": 64, "attn_layers": ["local"], "local_attn_chunk_length": 8},
}
LLAMA = {**SMALL, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
GPT = {"vocab_size": 60, "n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 40}
XLM = {"vocab_size": 60, "emb_dim": 24, "n_layers": 2, "n_heads": 3, "max_position_embeddings": 40}
XLNET = {"vocab_size": 60, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 32}
NEO = {
    **{"vocab_size": 60, "hidden_size": 24, "num_layers": 2, "num_heads": 3, "window_size": 4},
    **{"attention_types": [[["global", "local"], 1]], "max_position_embeddings": 40},
}
DISTIL = {"vocab_size": 60, "dim": 24, "n_layers": 2, "n_heads": 3, "hidden_dim": 32}

MODELS: dict[str, dict[str, Any]] = {
    "albert is_decoder": {**DECODER, "embedding_size": 16},
    "mpnet is_decoder": DECODER,
    "distilbert is_decoder": {**DISTIL, "is_decoder": True},
    "rembert is_decoder": DECODER,
    "roc_bert is_decoder": DECODER,
    "mixtral": {**LLAMA, "num_local_experts": 2},
    "mistral window": {**LLAMA, "sliding_window": 4},
    "gemma2": {**LLAMA, "sliding_window": 6, "query_pre_attn_scalar": 8},
    "gemma both ways": {**LLAMA, "use_bidirectional_attention": True},
    "opt": {**SMALL, "ffn_dim": 32, "word_embed_proj_dim": 24},
    "bloom": {"vocab_size": 60, "hidden_size": 24, "n_layer": 2, "n_head": 3},
    "falcon": {**SMALL, "num_attention_heads": 4, "hidden_size": 32},
    "gpt_neo": NEO,
    "openai-gpt": GPT,
    "xlm": XLM,
    "xlm causal": {**XLM, "causal": True},
    "xlnet": XLNET,
    "xlnet uni": {**XLNET, "attn_type": "uni"},
}


def opened(folder: Path, name: str, task: str = "base", **changes: Any) -> LoadedModel:
    values = {"model_type": name.split(maxsplit=1)[0], **MODELS.get(name, {}), **changes}
    (folder / "config.json").write_text(json.dumps(values))
    return open_model(parse_source(str(folder / "config.json"), task))


def moves_earlier_ones(folder: Path) -> bool:
    """Change the last token of a text, and see whether any before it moves."""
    model = transformers.AutoModel.from_config(transformers.AutoConfig.from_pretrained(folder))
    ids = torch.arange(5, 17)[None]
    other = torch.cat([ids[:, :-1], torch.tensor([[40]])], dim=1)
    with torch.no_grad():
        one, two = (model.eval()(input_ids=each)[0] for each in (ids, other))
    return bool((one - two)[0, :-1].abs().max() > 1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_it_is_what_the_model_does(name: str, tmp_path: Path) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = opened(tmp_path, name)
        causal = not moves_earlier_ones(tmp_path)
    assert is_causal(model.architecture) is None
    architecture = model.with_flows()
    assert is_causal(architecture) is causal
    context = Context(architecture, architecture.root)
    assert (context.is_decoder, context.is_encoder) == (causal, not causal)
    formulas = [formula_of(node, architecture) for node in architecture.modules]
    notes = " ".join(note for formula in formulas if formula for note in formula.notes)
    if "It is a decoder" in notes or "Attention is causal" in notes:
        assert causal
    if "very position attends to the whole sequence" in notes:
        assert not causal


def test_the_two_sides_of_an_encoder_decoder(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {
        "d_model": 24,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "vocab_size": 60,
    }
    heads: dict[str, Any] = {"encoder_attention_heads": 3, "decoder_attention_heads": 3}
    more: dict[str, Any] = {
        "encoder_ffn_dim": 32,
        "decoder_ffn_dim": 32,
        "max_position_embeddings": 40,
    }
    model = opened(tmp_path, "bart", **sizes, **heads, **more)
    architecture = model.with_flows()
    assert is_causal(architecture, "encoder") is False
    assert is_causal(architecture, "decoder") is True
    assert is_causal(architecture, "decoder.layers.0.self_attn") is True
    # Attention to another text is neither.
    assert is_causal(architecture, "decoder.layers.0.encoder_attn") is None


@pytest.mark.parametrize(
    ("name", "task", "is_next"),
    [
        ("rembert is_decoder", "masked-lm", True),
        ("albert is_decoder", "masked-lm", False),
        ("openai-gpt", "pretraining", True),
        ("mamba", "pretraining", True),
        ("reformer", "causal-lm", True),
    ],
)
def test_the_next_token_is_predicted_where_no_token_sees_it(
    name: str, task: str, is_next: bool, tmp_path: Path
) -> None:
    changes = MODELS.get(name, {})
    if name == "mamba":
        changes = {**SMALL, "state_size": 4}
    if name == "reformer":
        changes = {**REFORMER, "is_decoder": True}
    model = opened(tmp_path, name, task, **changes)
    run = run_sentence(model, Sentence("the cat sat on the mat"), random_weights=True)
    architecture = model.with_flows()
    assert predicts_next(architecture) is is_next
    places = expected_positions(run, architecture)
    assert places[0] == (1 if is_next else 0)
    assert places[len(run.tokens) - 1] == (None if is_next else len(run.tokens) - 1)


@pytest.mark.parametrize("name", ["mixtral", "mamba", "albert is_decoder"])
def test_the_last_tokens_vector_is_that_of_a_decoder(name: str, tmp_path: Path) -> None:
    changes = {} if name in MODELS else {**SMALL, "state_size": 4}
    model = opened(tmp_path, name, **changes)
    found = compare_sentences(model, "the cat sat", "rivers run", random_weights=True)
    names = {one.pooling for one in found.poolings}
    assert ("last" in names) is (name != "albert is_decoder")
    assert ("cls" in names) is (name == "albert is_decoder")


@pytest.mark.parametrize(
    ("path", "is_cross", "reads"),
    [
        ("encoder.layer.0.crossattention.self.key", True, True),
        ("decoder.block.0.layer.1.EncDecAttention.q", True, False),
        ("decoder.layers.0.cross_attn.value_proj", True, True),
        ("decoder.layers.0.self_attn.k_proj", False, False),
        # BridgeTower's layers read text and image, but their first attention only one of them.
        ("cross_modal_text_layers.0.attention.self.key", False, False),
        ("decoder.layers.0.encoder_attn_layer_norm", False, False),
    ],
)
def test_cross_attention_is_found_by_the_name_of_its_module(
    path: str, is_cross: bool, reads: bool
) -> None:
    assert is_cross_attention(path) == is_cross
    assert reads_encoder(path) == reads
