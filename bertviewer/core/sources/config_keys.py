"""Keys of a configuration: which mean the same, what they mean, and which have no effect."""

import re
from collections.abc import Collection, Mapping
from typing import Literal

from bertviewer.core.expressions.symbols import STANDARD_SYMBOLS


def _keys_of(*symbols: str) -> tuple[str, ...]:
    """Return the configuration keys of these symbols."""
    return tuple(
        key for symbol in STANDARD_SYMBOLS if symbol.name in symbols for key in symbol.keys
    )


CONFIG_KEYS: Mapping[str, tuple[str, ...]] = {
    "vocabulary": _keys_of("V"),
    "width": _keys_of("D"),
    "embedding width": ("embedding_size",),
    "positions": _keys_of("L"),
    "token types": _keys_of("T"),
    "padding": ("pad_token_id",),
    "layers": _keys_of("N", "N_e", "N_d"),
    "groups": ("num_hidden_groups", "inner_group_num"),
    "heads": _keys_of("A", "A_e", "A_d"),
    "key/value heads": _keys_of("A_kv"),
    "head size": _keys_of("K"),
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
    "feed-forward": _keys_of("I", "I_e", "I_d"),
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
"""Configuration keys that are shown with a formula, by what they control.

transformers has such aliases in ``attribute_map``, but only after the import of a configuration
class, which imports torch; it has no aliases for epsilons, activations and dropouts. Tests compare
the two.
"""


KEY_MEANINGS: Mapping[str, str] = {
    "model_type": "model family; selects the code",
    "architectures": "model class the weights were saved from",
    "transformers_version": "transformers version that wrote this file",
    "dtype": "number format of the saved weights",
    "torch_dtype": "number format of the saved weights",
    "hidden_act": "activation function of the feed-forward network",
    "activation": "activation function of the feed-forward network",
    "activation_function": "activation function of the feed-forward network",
    "hidden_dropout_prob": "dropout on hidden states (training only)",
    "dropout": "dropout on hidden states (training only)",
    "resid_pdrop": "dropout before each residual addition (training only)",
    "embd_pdrop": "dropout after the embeddings (training only)",
    "attention_probs_dropout_prob": "dropout on attention weights (training only)",
    "attention_dropout": "dropout on attention weights (training only)",
    "attn_pdrop": "dropout on attention weights (training only)",
    "classifier_dropout": "dropout before the classifier; null: same as hidden states",
    "classifier_dropout_prob": "dropout before the classifier (training only)",
    "qa_dropout": "dropout before the question-answering head (training only)",
    "seq_classif_dropout": "dropout before the classifier (training only)",
    "initializer_range": "std of the initial weights",
    "layer_norm_eps": "epsilon added to the variance in layer norm",
    "layer_norm_epsilon": "epsilon added to the variance in layer norm",
    "rms_norm_eps": "epsilon added to the mean square in RMS norm",
    "pad_token_id": "padding token (fills up shorter sentences in a batch)",
    "bos_token_id": "token that starts a text",
    "eos_token_id": "token that ends a text",
    "position_embedding_type": "how positions are encoded: absolute table or relative",
    "sinusoidal_pos_embds": "whether position embeddings start as sinusoids, not random values",
    "rope_theta": "base of the rotary position angles",
    "is_decoder": "whether each token attends only to itself and earlier tokens",
    "is_encoder_decoder": "whether it is an encoder-decoder model",
    "add_cross_attention": "whether layers also attend to an encoder's output",
    "cross_attention_hidden_size": "size of that encoder's output",
    "tie_word_embeddings": "whether the output head shares the word embedding weight",
    "use_cache": "whether keys and values are cached during generation",
    "output_attentions": "whether a forward pass returns attention weights",
    "output_hidden_states": "whether a forward pass returns all hidden states",
    "return_dict": "whether outputs are named instead of a tuple",
    "chunk_size_feed_forward": "tokens per feed-forward chunk; 0: all at once",
    "gradient_checkpointing": "whether training recomputes activations to save memory",
    "id2label": "label names of the classifier",
    "label2id": "label ids by name",
    "problem_type": "classifier objective; null: inferred from the labels",
    "n_inner": "feed-forward width; null: four times the hidden size",
    "scale_attn_weights": "whether attention scores are divided by √d_k",
    "scale_attn_by_inverse_layer_idx": "whether scores are also divided by the layer number",
    "reorder_and_upcast_attn": "whether attention scores are computed in float32",
    "summary_type": "token vector that the summary head reads",
    "summary_use_proj": "whether the summary head has a linear layer",
    "summary_activation": "activation after that linear layer",
    "summary_proj_to_labels": "whether that linear layer outputs the labels",
    "summary_first_dropout": "dropout before that linear layer (training only)",
    "summary_last_dropout": "dropout after that linear layer (training only)",
}

# Keys about training, generation, tokenizers, files and outputs.
_WITHOUT_EFFECT = re.compile(
    r"drop|^attn_pdrop$|initializer|init_std|^init_|_init_|^use_cache$|^(id2label|label2id)$"
    r"|^architectures$|version$|^task_specific_params$|^output_|^return_dict|_loss|^loss_|aux_"
    r"|gradient_checkpointing|^problem_type$|^finetuning_task$|tokenizer|^model_max_length$"
    r"|^do_lower_case$|name_or_path$|^torchscript$|^license$|label_smoothing|^pretraining_tp$"
    r"|^(max|min)_(new_)?(length|tokens)$|^(do_sample|early_stopping|num_beams|num_beam_groups)$"
    r"|^(diversity_penalty|temperature|top_k|top_p|typical_p|prefix|repetition_penalty)$"
    r"|^(length_penalty|no_repeat_ngram_size|bad_words_ids|num_return_sequences)$"
    r"|^(remove_invalid_values|exponential_decay_length_penalty|directionality|commit_hash|seed)$"
    r"|^(begin_)?suppress_tokens$|^forced_|^(mask|spec)_.*_prob$|^fp16$|^bf16$|^keys_to_ignore"
    # Settings of a pooler in BERT's first checkpoints, which no code reads.
    r"|^pooler_(fc_size|num_attention_heads|num_fc_layers|size_per_head|type)$"
)
# Keys that are read for any class of model.
_GENERAL = re.compile(
    r"^model_type$|dtype$|_token_ids?$|^is_encoder_decoder$|^is_composition$|^tie_"
)

Effect = Literal["", "unused", "none"]
"""Effect of a key: some, none as the class does not read it, or none on any model."""


def effect_of(key: str, unused: Collection[str]) -> Effect:
    """Return the effect of a key on the computation; ``unused`` are keys that no code reads."""
    if _WITHOUT_EFFECT.search(key):
        return "none"
    return "unused" if key in unused else ""


def is_common_key(key: str) -> bool:
    """Tell whether a key never selects a computation that only some models have.

    Such keys are about dropout, initialization, names or generation, or are read for any model.
    """
    return any(each.search(key) for each in (_WITHOUT_EFFECT, _GENERAL))
