"""Small models of many families: configurations, architectures and formulas."""

from functools import cache
from typing import Any

import transformers
from msgspec.structs import replace

from bertviewer.core.building.transformer_base import register
from bertviewer.core.formulas.catalogue import formula_of, with_formulas
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.graph.flow_reader import FlowReader
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode

register()

TINY: dict[str, dict[str, Any]] = {
    "bert": {
        "vocab_size": 97,
        "hidden_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "intermediate_size": 40,
        "max_position_embeddings": 32,
    },
    "distilbert": {
        "vocab_size": 97,
        "dim": 24,
        "n_layers": 2,
        "n_heads": 3,
        "hidden_dim": 40,
        "max_position_embeddings": 32,
    },
    "gpt2": {"vocab_size": 97, "n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 32},
}
TINY["roberta"] = TINY["xlm-roberta"] = TINY["camembert"] = TINY["mpnet"] = TINY["bert"]
TINY["electra"] = TINY["albert"] = {**TINY["bert"], "embedding_size": 16}
TINY["deberta-v2"] = {
    **TINY["bert"],
    "type_vocab_size": 0,
    "relative_attention": True,
    "position_biased_input": False,
    "position_buckets": 8,
    "pos_att_type": ["c2p", "p2c"],
    "share_att_key": True,
    "norm_rel_ebd": "layer_norm",
}
# The default ids of special tokens lie outside of 97 rows.
_IDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1}
TINY["gpt2"] |= {"bos_token_id": 1, "eos_token_id": 2}
TINY["modernbert"] = {**TINY["bert"], **_IDS, "sep_token_id": 2, "num_hidden_layers": 4}
TINY["deberta"] = {
    **TINY["bert"],
    "relative_attention": True,
    "pos_att_type": ["c2p", "p2c"],
    "type_vocab_size": 0,
}
TINY["roformer"] = {**TINY["electra"], **_IDS}
TINY["esm"] = {
    **TINY["bert"],
    **_IDS,
    "mask_token_id": 3,
    "position_embedding_type": "rotary",
    "token_dropout": True,
}
# With so small a block, a sentence of 8 tokens has blocks that do not see each other.
TINY["big_bird"] = {
    **TINY["bert"],
    **_IDS,
    "sep_token_id": 2,
    "block_size": 1,
    "num_random_blocks": 1,
}
TINY["squeezebert"] = {**TINY["bert"], **_IDS, "embedding_size": 24}
TINY["bart"] = TINY["mbart"] = {
    "vocab_size": 97,
    "d_model": 24,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 3,
    "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 40,
    "max_position_embeddings": 32,
}
TINY["t5"] = {
    "vocab_size": 97,
    "d_model": 24,
    "d_kv": 6,
    "d_ff": 40,
    "num_layers": 2,
    "num_heads": 3,
    "tie_word_embeddings": True,
}
TINY["mt5"] = {**TINY["t5"], "feed_forward_proj": "gated-gelu"}
TINY["transformer-base"] = {
    "vocab_size": 97,
    "d_model": 24,
    "nhead": 3,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "dim_feedforward": 40,
}
TINY["llama"] = {
    **TINY["bert"],
    "hidden_size": 24,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
TINY["mistral"] = {**TINY["llama"], "sliding_window": 5}
TINY["qwen2"] = TINY["llama"]
TINY["qwen3"] = TINY["gemma"] = {**TINY["llama"], "head_dim": 8}

_NARROW = {
    "vocab_size": 97,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 40,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_EXPERTS = {
    **_NARROW,
    "num_experts": 4,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 24,
}
_T5 = {"vocab_size": 97, "d_model": 24, "d_kv": 8, "d_ff": 40, "num_heads": 3, "num_layers": 2}
_LSH = {"attn_layers": ["lsh"], "axial_pos_shape": [4, 6], "axial_pos_embds_dim": [16, 16]}
OTHERS: dict[str, dict[str, Any]] = {
    "cohere2": {**TINY["llama"], "pad_token_id": 0},
    "convbert": {**TINY["electra"], "hidden_size": 32, "num_attention_heads": 4},
    "fnet": TINY["bert"],
    "funnel": {
        **{"vocab_size": 97, "d_model": 24, "n_head": 3, "d_head": 8, "d_inner": 40},
        **{"block_sizes": [1, 1], "num_decoder_layers": 1, "architectures": ["FunnelModel"]},
    },
    "gemma2": {**TINY["llama"], "head_dim": 6},
    "gptj": {
        **{"vocab_size": 97, "n_embd": 24, "n_layer": 2, "n_head": 3, "rotary_dim": 4},
        **{"bos_token_id": 1, "eos_token_id": 2},
    },
    "layoutlm": TINY["bert"],
    "mamba": {"vocab_size": 97, "hidden_size": 24, "num_hidden_layers": 2, "state_size": 8},
    "mixtral": _EXPERTS,
    "mobilebert": {
        **{**TINY["bert"], "embedding_size": 12, "intra_bottleneck_size": 12},
        **{"true_hidden_size": 12, "num_feedforward_networks": 2, "pad_token_id": 0},
    },
    "qwen3_moe": _EXPERTS,
    "reformer": {**_NARROW, **_LSH, "lsh_attn_chunk_length": 4, "num_buckets": 4},
    "rwkv": {"vocab_size": 97, "hidden_size": 24, "num_hidden_layers": 2, "rescale_every": 1},
    "switch_transformers": {
        **_T5,
        **{"num_decoder_layers": 2, "num_experts": 4},
        **{"num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1},
    },
    "xlnet": {"vocab_size": 97, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 40},
}
"""Families that are not in ``TINY``."""

DISTINCT = tuple(family for family in TINY if family not in ("xlm-roberta", "camembert"))
"""The families, without two whose code is a copy of RoBERTa's."""

HEADS = (
    *("bert masked-lm", "bert pretraining", "bert next-sentence", "bert causal-lm"),
    *("bert sequence-classification", "bert token-classification", "bert question-answering"),
    *("roberta masked-lm", "roberta sequence-classification", "mpnet masked-lm"),
    *("distilbert masked-lm", "distilbert sequence-classification", "electra masked-lm"),
    *("electra pretraining", "electra sequence-classification", "albert pretraining"),
    *("deberta masked-lm", "deberta-v2 sequence-classification", "squeezebert masked-lm"),
    *("modernbert masked-lm", "modernbert sequence-classification", "esm masked-lm"),
    *("roformer masked-lm", "roformer sequence-classification", "gpt2 causal-lm"),
    *("gpt2 sequence-classification", "llama causal-lm", "llama sequence-classification"),
    *("bart pretraining", "bart sequence-classification", "bart question-answering"),
    *("t5 pretraining", "t5 sequence-classification", "big_bird question-answering"),
)
"""Families with a head: each kind of head once."""

MODELS = (*DISTINCT, *HEADS)


@cache
def config_of(family: str) -> transformers.PreTrainedConfig:
    return transformers.AutoConfig.for_model(family, **TINY[family])


def architecture_of(family: str, task: str = "base", **changes: Any) -> Architecture:
    """Return a small model of a family with its flows and formulas."""
    from tests.core.graph.readers import meta_model  # imports TINY

    return _explained(meta_model(family, task, **changes))


@cache
def _explained(model: Any) -> Architecture:
    from tests.core.graph.readers import LENGTHS

    flows = FlowReader(model.trace, model.architecture).flows(LENGTHS)
    return with_formulas(replace(model.architecture, flows=flows))


def all_architectures() -> dict[str, Architecture]:
    """Return every family, and each kind of head once."""
    return {name: architecture_of(*name.split()) for name in MODELS}


def node_at(architecture: Architecture, path: str) -> ModuleNode:
    node = architecture.module(path)
    assert node is not None
    return node


def formula_at(architecture: Architecture, path: str) -> Formula:
    formula = formula_of(node_at(architecture, path), architecture)
    assert formula is not None
    return formula


def maths_of(node: ModuleNode, architecture: Architecture) -> str | None:
    """Return the lines of a module's formula as an architecture has them."""
    formula = formula_of(node, architecture)
    return None if formula is None else " \\ ".join(formula.maths)


def values(formula: Formula) -> dict[str, str | None]:
    return {term.symbol: term.value for term in formula.terms}
