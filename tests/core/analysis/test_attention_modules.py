"""Causal attention, compared with the effect of later tokens on earlier ones."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from msgspec.structs import replace

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
LLAMA = {**SMALL, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
XLM = {"vocab_size": 60, "emb_dim": 24, "n_layers": 2, "n_heads": 3, "max_position_embeddings": 40}
XLNET = {"vocab_size": 60, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 32}

SINGLE_STACKS: dict[str, dict[str, Any]] = {
    # Some families ignore is_decoder.
    "albert is_decoder": {**DECODER, "embedding_size": 16},
    "mpnet is_decoder": DECODER,
    "rembert is_decoder": DECODER,
    "mistral window": {**LLAMA, "sliding_window": 4},
    "gemma both ways": {**LLAMA, "use_bidirectional_attention": True},
    "bloom": {"vocab_size": 60, "hidden_size": 24, "n_layer": 2, "n_head": 3},
    "falcon": {**SMALL, "num_attention_heads": 4, "hidden_size": 32},
    "gpt_neo": {
        **{"vocab_size": 60, "hidden_size": 24, "num_layers": 2, "num_heads": 3, "window_size": 4},
        **{"attention_types": [[["global", "local"], 1]], "max_position_embeddings": 40},
    },
    "openai-gpt": {"vocab_size": 60, "n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 40},
    "xlm": XLM,
    "xlm causal": {**XLM, "causal": True},
    "xlnet": XLNET,
    "xlnet uni": {**XLNET, "attn_type": "uni"},
}
OTHERS: dict[str, dict[str, Any]] = {
    "mixtral": {**LLAMA, "num_local_experts": 2},
    "mamba": {**SMALL, "state_size": 4},
    "reformer": {
        **{"vocab_size": 60, "hidden_size": 24, "num_attention_heads": 3},
        **{"attention_head_size": 8, "axial_pos_shape": [4, 16], "axial_pos_embds_dim": [8, 16]},
        **{"feed_forward_size": 32, "max_position_embeddings": 64, "attn_layers": ["local"]},
        **{"local_attn_chunk_length": 8, "is_decoder": True},
    },
    "bart": {
        **{"vocab_size": 60, "d_model": 24, "encoder_layers": 1, "decoder_layers": 1},
        **{"encoder_attention_heads": 3, "decoder_attention_heads": 3, "encoder_ffn_dim": 32},
        **{"decoder_ffn_dim": 32, "max_position_embeddings": 40},
    },
}

Opener = Callable[..., LoadedModel]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opener:
    """Return a function that opens a model by its name above, each only once."""

    @cache
    def open_once(name: str, task: str = "base") -> LoadedModel:
        file = tmp_path_factory.mktemp("model") / "config.json"
        values = {"model_type": name.split(maxsplit=1)[0], **{**SINGLE_STACKS, **OTHERS}[name]}
        file.write_text(json.dumps(values))
        return open_model(parse_source(str(file), task))

    return open_once


def earlier_tokens_change(folder: Path) -> bool:
    """Change the last token of a text, and return whether any output before it changes."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = transformers.AutoConfig.from_pretrained(folder)
        model = transformers.AutoModel.from_config(config).eval()
    ids = torch.arange(5, 17)[None]
    other = torch.cat([ids[:, :-1], torch.tensor([[40]])], dim=1)
    with torch.no_grad():
        one, two = (model(input_ids=each)[0] for each in (ids, other))
    return bool((one - two)[0, :-1].abs().max() > 1e-6)


@pytest.mark.parametrize("name", SINGLE_STACKS)
def test_causal_is_what_later_tokens_do_not_change(name: str, opened: Opener) -> None:
    model = opened(name)
    assert model.source.config_file is not None
    causal = not earlier_tokens_change(model.source.config_file.parent)
    assert is_causal(replace(model.architecture, flows=None)) is None
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


def test_the_stacks_of_an_encoder_decoder_differ(opened: Opener) -> None:
    architecture = opened("bart").with_flows()
    assert is_causal(architecture, "encoder") is False
    assert is_causal(architecture, "decoder") is True
    assert is_causal(architecture, "decoder.layers.0.self_attn") is True
    assert is_causal(architecture, "decoder.layers.0.encoder_attn") is None


@pytest.mark.parametrize(
    ("name", "task", "is_next"),
    [
        ("rembert is_decoder", "masked-lm", True),
        ("albert is_decoder", "masked-lm", False),
        ("openai-gpt", "pretraining", True),
        # Without traced attention:
        ("mamba", "pretraining", True),
        ("reformer", "causal-lm", True),
    ],
)
def test_decoders_predict_the_next_token(
    name: str, task: str, is_next: bool, opened: Opener
) -> None:
    model = opened(name, task)
    run = run_sentence(model, Sentence("the cat sat on the mat"), random_weights=True)
    architecture = model.with_flows()
    assert predicts_next(architecture) is is_next
    positions = expected_positions(run, architecture)
    last = len(run.tokens) - 1
    assert positions[0] == (1 if is_next else 0)
    assert positions[last] == (None if is_next else last)


@pytest.mark.parametrize("name", ["mixtral", "mamba", "albert is_decoder"])
def test_decoders_have_the_last_tokens_vector(name: str, opened: Opener) -> None:
    found = compare_sentences(opened(name), "the cat sat", "rivers run", random_weights=True)
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
def test_cross_attention_is_recognised_by_the_name_of_its_module(
    path: str, is_cross: bool, reads: bool
) -> None:
    assert is_cross_attention(path) == is_cross
    assert reads_encoder(path) == reads
