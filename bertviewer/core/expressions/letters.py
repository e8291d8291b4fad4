"""The standard letters of formulas, V for words and D for width, and the keys that mean them."""

import re
from typing import Literal

from msgspec import Struct

Quantity = Literal["size", "width", "heads", "layers"]
"""What a number counts, which says how it may be changed.

A size freely, a width in multiples of the heads, heads with the widths, layers as a depth.
"""

LABELS_KEY = "num_labels"
"""The labels have no number in a saved configuration: it is the length of ``id2label``."""


class Letter(Struct, frozen=True):
    """A standard letter: the keys that mean it, the likeliest first, and what it means."""

    letter: str
    keys: tuple[str, ...]
    quantity: Quantity
    meaning: str


_ROWS: tuple[tuple[str, str, Quantity, str], ...] = (
    # Without a key: what a sentence brings, and no configuration.
    ("B", "", "size", "sentences in a batch"),
    ("S", "", "size", "tokens in a sentence"),
    ("S_d", "", "size", "tokens in the target sentence"),
    ("V", "vocab_size", "size", "vocabulary size (tokens)"),
    ("L", "max_position_embeddings n_positions", "size", "maximum sequence length"),
    ("T", "type_vocab_size", "size", "segment types (token types)"),
    ("C", LABELS_KEY, "size", "labels of the task head"),
    ("N", "num_hidden_layers n_layers n_layer num_layers depth", "layers", "layers (blocks)"),
    ("N_e", "encoder_layers num_encoder_layers", "layers", "encoder layers (blocks)"),
    ("N_d", "decoder_layers num_decoder_layers", "layers", "decoder layers (blocks)"),
    ("G", "num_hidden_groups", "heads", "layer groups with shared weights"),
    ("A", "num_attention_heads n_heads n_head num_heads nhead", "heads", "attention heads"),
    (
        "A_e",
        "encoder_attention_heads num_encoder_attention_heads",
        "heads",
        "attention heads in the encoder",
    ),
    (
        "A_d",
        "decoder_attention_heads num_decoder_attention_heads",
        "heads",
        "attention heads in the decoder",
    ),
    ("A_kv", "num_key_value_heads", "heads", "key/value heads"),
    ("K", "head_dim d_kv", "width", "head size (features per attention head)"),
    ("D", "hidden_size dim n_embd d_model emb_dim", "width", "hidden size (features per token)"),
    ("E", "embedding_size", "width", "embedding size (features per embedding)"),
    (
        "E",
        "num_experts num_local_experts n_routed_experts moe_num_experts",
        "size",
        "experts per layer",
    ),
    (
        "I",
        "intermediate_size hidden_dim n_inner d_ff dim_feedforward ffn_dim",
        "width",
        "intermediate size of the feed-forward network",
    ),
    ("I_e", "encoder_ffn_dim", "width", "intermediate size of the encoder’s feed-forward network"),
    ("I_d", "decoder_ffn_dim", "width", "intermediate size of the decoder’s feed-forward network"),
)

LETTERS = tuple(
    Letter(letter, tuple(keys.split()), quantity, meaning)
    for letter, keys, quantity, meaning in _ROWS
)
"""In the order in which a term of a formula names them: ``V*D``, ``D*E``, ``D*I``.

A letter in two rows means the first of them whose key a configuration has.
"""

WIDTHS = next(letter.keys for letter in LETTERS if letter.letter == "D")
"""The keys that mean the hidden state's width."""

STANDARD_LETTERS = frozenset(letter.letter for letter in LETTERS)
_RANK = {letter: rank for rank, letter in enumerate(dict.fromkeys(x.letter for x in LETTERS))}
BY_KEY = {key: letter for letter in LETTERS for key in letter.keys}
_DEPTH = re.compile(
    r"(^|_)(layers|blocks|stages|depths?)(_per_stage)?$|^(n|num)_\w*layer$|^stage_num\w*_(of_layers|blocks)$"
)


def is_depth(key: str) -> bool:
    """Tell whether a configuration's key is a number of layers, by its name."""
    standard = BY_KEY.get(key)
    return standard.quantity == "layers" if standard else _DEPTH.search(key) is not None


def letter_order(letter: str) -> tuple[int, str]:
    """Return the sort key that puts letters in the order of ``LETTERS``, other names after.

    A letter with the name of a part is where it is without.
    """
    base = letter
    while base not in _RANK and "_" in base:
        base = base.rpartition("_")[0]
    return _RANK.get(base, len(_RANK)), letter
