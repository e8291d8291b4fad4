"""Names that model families use for the same thing: modules, tensors and configuration keys.

A family that uses another name has it added here.
"""

from collections.abc import Mapping
from typing import Literal

from bertviewer.core.expressions.symbols import STANDARD_SYMBOLS

CROSS_ATTENTIONS = frozenset(
    {
        *("crossattention", "cross_attention", "cross_attn"),
        *("EncDecAttention", "encoder_attn", "multihead_attn"),
    }
)
"""A layer's attention to an encoder."""
Projection = Literal["query", "key", "value"]
PROJECTIONS: Mapping[str, Projection] = {
    **dict.fromkeys(("query", "q_lin", "q_proj", "query_proj", "q", "q_attn"), "query"),
    **dict.fromkeys(("key", "k_lin", "k_proj", "key_proj", "k"), "key"),
    **dict.fromkeys(("value", "v_lin", "v_proj", "value_proj", "v"), "value"),
}
"""An attention's linear layers by name; the output of each is all heads side by side."""
ON_PROBABILITIES = ("dropout", "attn_dropout", "attention_dropout")
"""Dropouts of an attention's probabilities."""
POSITION_TABLES = ("position_embeddings", "embed_positions", "wpe", "position_embedding")
"""Tables of position vectors."""
ANGLES = "encoder.embed_positions.weight"
"""A tensor that holds the angles of a rotation."""
DROPOUT = "Dropout"
"""What is in the names of all classes of dropouts."""


def _meaning(*letters: str) -> tuple[str, ...]:
    """Return the keys that mean one of these standard letters."""
    return tuple(
        key for symbol in STANDARD_SYMBOLS if symbol.name in letters for key in symbol.keys
    )


CONFIG_KEYS: Mapping[str, tuple[str, ...]] = {
    "vocabulary": _meaning("V"),
    "width": _meaning("D"),
    "embedding width": ("embedding_size",),
    "positions": _meaning("L"),
    "token types": _meaning("T"),
    "padding": ("pad_token_id",),
    "layers": _meaning("N", "N_e", "N_d"),
    "groups": ("num_hidden_groups", "inner_group_num"),
    "heads": _meaning("A", "A_e", "A_d"),
    "key/value heads": _meaning("A_kv"),
    "head size": _meaning("K"),
    "rotation": ("rope_parameters", "rope_theta", "rotary_value", "position_embedding_type"),
    "window": ("sliding_window", "layer_types"),
    "blocks": ("attention_type", "block_size", "num_random_blocks"),
    "groups of features": (
        *("q_groups", "k_groups", "v_groups"),
        *("post_attention_groups", "intermediate_groups", "output_groups"),
    ),
    "distances": (
        "relative_attention_num_buckets",
        "relative_attention_max_distance",
        "position_buckets",
        "max_relative_positions",
        "relative_attention",
        "pos_att_type",
        "share_att_key",
    ),
    "feed-forward": _meaning("I", "I_e", "I_d"),
    "experts": (
        "num_experts_per_tok",
        *("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"),
        *("n_shared_experts", "moe_intermediate_size", "shared_expert_intermediate_size"),
        *("norm_topk_prob", "routed_scaling_factor"),
    ),
    "activation": (
        "hidden_act",
        "hidden_activation",
        "activation_function",
        "activation",
        "dense_act_fn",
    ),
    "epsilon": ("layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps", "norm_eps"),
    "dropout": ("hidden_dropout_prob", "resid_pdrop", "dropout", "dropout_rate"),
    "embedding dropout": ("hidden_dropout_prob", "embd_pdrop", "embedding_dropout", "dropout"),
    "head dropout": (
        "classifier_dropout",
        "classifier_dropout_prob",
        "seq_classif_dropout",
        "qa_dropout",
        "hidden_dropout_prob",
        "dropout",
    ),
    "embedding scale": ("scale_embedding", "rescale_embeddings"),
    "attention dropout": ("attention_probs_dropout_prob", "attn_pdrop", "attention_dropout"),
    "decoder": ("is_decoder", "add_cross_attention"),
    "scale": ("scale_attn_weights", "scale_attn_by_inverse_layer_idx"),
    "labels": ("num_labels", "id2label"),
    "tying": ("tie_word_embeddings",),
    "norm first": ("norm_first",),
}
"""The keys that are shown with a formula, by the choice that they make.

Switches and names are among them.
"""


def is_cross_attention(path: str) -> bool:
    """Return whether a module is a layer's attention to an encoder, or inside one."""
    return not CROSS_ATTENTIONS.isdisjoint(path.split("."))


def reads_encoder(path: str) -> bool:
    """Return whether a module projects the encoder's output to keys or values."""
    return is_cross_attention(path) and PROJECTIONS.get(path.rpartition(".")[2]) in ("key", "value")
