"""Tiny models of every family that has formulas, built without weights."""

from functools import cache
from typing import Any

import transformers

from bertviewer.core.building.transformer_base import register
from bertviewer.core.schema.architecture import Architecture

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
# One token may be padding, and the ids that are special by default lie outside of 97 rows.
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
# A sentence of 8 tokens is long enough to look at some blocks only.
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


@cache
def architecture_of(family: str, task: str = "base") -> Architecture:
    """Return the tiny model of a family with a head, with its graphs and formulas."""
    from tests.core.formulas.flow_models import traced  # which imports TINY

    return traced(family, task)


def all_architectures() -> dict[str, Architecture]:
    """Return every family, and each kind of head once."""
    return {name: architecture_of(*name.split()) for name in MODELS}
