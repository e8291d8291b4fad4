"""Names that model families use for the same thing: modules, tensors and configuration keys.

A family that uses another name has it added here.
"""

from collections.abc import Mapping

CROSS_ATTENTIONS = frozenset({"crossattention", "EncDecAttention", "encoder_attn"})
"""A layer's attention to an encoder."""
KEYS_AND_VALUES = frozenset({"key", "value", "k", "v", "k_proj", "v_proj"})
"""Its layers that read the encoder's states."""
ON_PROBABILITIES = ("dropout", "attn_dropout", "attention_dropout")
"""Dropouts of an attention's probabilities."""
POSITION_TABLES = ("position_embeddings", "embed_positions", "wpe", "position_embedding")
"""Tables of position vectors."""
ANGLES = "encoder.embed_positions.weight"
"""A tensor that holds the angles of a rotation."""
DROPOUT = "Dropout"
"""What is in the names of all classes of dropouts."""
CONFIG_KEYS: Mapping[str, tuple[str, ...]] = {
    "vocabulary": ("vocab_size",),
    "width": ("hidden_size", "n_embd", "dim", "d_model"),
    "embedding width": ("embedding_size",),
    "positions": ("max_position_embeddings", "n_positions"),
    "token types": ("type_vocab_size",),
    "padding": ("pad_token_id",),
    "layers": (
        "num_hidden_layers",
        "n_layer",
        "n_layers",
        "num_layers",
        "num_decoder_layers",
        "encoder_layers",
        "decoder_layers",
    ),
    "groups": ("num_hidden_groups", "inner_group_num"),
    "heads": (
        "num_attention_heads",
        "n_head",
        "n_heads",
        "nhead",
        "num_heads",
        "encoder_attention_heads",
        "decoder_attention_heads",
    ),
    "key/value heads": ("num_key_value_heads",),
    "head size": ("head_dim", "d_kv"),
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
    "feed-forward": (
        "intermediate_size",
        "n_inner",
        "hidden_dim",
        "dim_feedforward",
        "d_ff",
        "encoder_ffn_dim",
        "decoder_ffn_dim",
    ),
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
"""The keys that are shown beside a formula: families spell a choice differently, it asks for that.

Switches and names are among them, and encoder and decoder are one choice: ``expressions.letters``
has the keys that a count follows, each with a letter of its own.
"""


def is_cross_attention(path: str) -> bool:
    """Tell whether a module is a layer's attention to an encoder, or stands in it."""
    return not CROSS_ATTENTIONS.isdisjoint(path.split("."))
