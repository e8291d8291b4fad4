"""What keys of a configuration mean that no formula is made of, by transformers' documentation."""

import re
from collections.abc import Collection, Mapping
from typing import Literal

KEY_MEANINGS: Mapping[str, str] = {
    "model_type": "the family, by which the model's code is chosen",
    "architectures": "the classes that the weights were saved from",
    "transformers_version": "the version of transformers that wrote this",
    "dtype": "the type of the numbers that the weights were saved as",
    "torch_dtype": "the type of the numbers that the weights were saved as",
    "hidden_act": "the function between the two linear layers of the feed-forward network",
    "activation": "the function between the two linear layers of the feed-forward network",
    "activation_function": "the function between the two linear layers of the feed-forward network",
    "hidden_dropout_prob": "dropout of vectors, in training only",
    "dropout": "dropout of vectors, in training only",
    "resid_pdrop": "dropout before each residual, in training only",
    "embd_pdrop": "dropout after the embeddings, in training only",
    "attention_probs_dropout_prob": "dropout of attention probabilities, in training only",
    "attention_dropout": "dropout of attention probabilities, in training only",
    "attn_pdrop": "dropout of attention probabilities, in training only",
    "classifier_dropout": "dropout before a classifier; null for that of vectors",
    "classifier_dropout_prob": "dropout before a classifier, in training only",
    "qa_dropout": "dropout before the head that answers questions, in training only",
    "seq_classif_dropout": "dropout before a classifier, in training only",
    "initializer_range": "standard deviation of the numbers that weights begin as",
    "layer_norm_eps": "small constant under the root of a layer norm",
    "layer_norm_epsilon": "small constant under the root of a layer norm",
    "rms_norm_eps": "small constant under the root of an RMS norm",
    "pad_token_id": "the token that fills up shorter sentences of a batch",
    "bos_token_id": "the token that begins a text",
    "eos_token_id": "the token that ends a text",
    "position_embedding_type": "how positions come in: a table, or relative to one another",
    "sinusoidal_pos_embds": "whether positions begin as sines, and not as random numbers",
    "rope_theta": "the base of the angles that rotary positions turn by",
    "is_decoder": "whether each token sees only those before it",
    "is_encoder_decoder": "whether a decoder reads what an encoder gives",
    "add_cross_attention": "whether layers attend to another model's states as well",
    "cross_attention_hidden_size": "the width of those states",
    "tie_word_embeddings": "whether the head's weight is that of the word embeddings",
    "use_cache": "whether keys and values are kept from one generated token to the next",
    "output_attentions": "whether a forward pass gives its attention probabilities",
    "output_hidden_states": "whether a forward pass gives all hidden states",
    "return_dict": "whether outputs come by name, and not as a tuple",
    "chunk_size_feed_forward": "tokens that the feed-forward network takes at once; 0 for all",
    "gradient_checkpointing": "whether training computes activations again to save memory",
    "id2label": "the names of a classifier's labels",
    "label2id": "the labels' numbers by their names",
    "problem_type": "what a classifier is trained for; null where its labels tell",
    "n_inner": "features inside the feed-forward network; null for four times the width",
    "scale_attn_weights": "whether scores are divided by the root of a head's width",
    "scale_attn_by_inverse_layer_idx": "whether scores are divided by the layer's number too",
    "reorder_and_upcast_attn": "whether scores are computed in float32",
    "summary_type": "which vector a summarising head reads",
    "summary_use_proj": "whether a summarising head has a linear layer",
    "summary_activation": "the function after that linear layer",
    "summary_proj_to_labels": "whether that linear layer gives the labels",
    "summary_first_dropout": "dropout before that linear layer, in training only",
    "summary_last_dropout": "dropout after that linear layer, in training only",
}

# Training, generation, tokenizers, files and outputs.
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
    # What BERT's first checkpoints say of a pooler that their code did not have either.
    r"|^pooler_(fc_size|num_attention_heads|num_fc_layers|size_per_head|type)$"
)
# These are read by transformers or this program, whatever the model's class is.
_GENERAL = re.compile(
    r"^model_type$|dtype$|_token_ids?$|^is_encoder_decoder$|^is_composition$|^tie_"
)

Effect = Literal["", "unused", "none"]
"""Of a key on a model: some, none because its class does not read it, none on any model."""


def effect_of(key: str, unused: Collection[str]) -> Effect:
    """Return the effect of a key on the computation; ``unused`` are keys that are not read."""
    if _WITHOUT_EFFECT.search(key):
        return "none"
    return "unused" if key in unused else ""


def is_general(key: str) -> bool:
    """Tell whether a key never names a way of computing that only some models have.

    It is about dropout, initial values, names, generation and the like, or is for all models.
    """
    return any(each.search(key) for each in (_WITHOUT_EFFECT, _GENERAL))
