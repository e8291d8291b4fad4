"""The letters that stand for a configuration's numbers in formulas: V for words, D for width.

This is all that is written by hand about counting; what each letter does to a tensor's shape is
found by experiment (see ``counting``).
"""

import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Role = Literal["size", "width", "heads", "layers"]
"""How a number may be changed: freely, in multiples of the heads, with the heads, as a depth."""

LABELS_KEY = "num_labels"
"""The labels have no number in a saved configuration: it is the length of ``id2label``."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A letter of the counting formulas: the configuration key behind it, its value and meaning."""

    letter: str
    key: str
    value: int
    meaning: str


@dataclass(frozen=True, slots=True)
class Letter:
    """A standard letter: the keys that mean it, the likeliest first, and what it means."""

    letter: str
    keys: tuple[str, ...]
    role: Role
    meaning: str


LETTERS = (
    Letter("V", ("vocab_size",), "size", "tokens in the vocabulary"),
    Letter("L", ("max_position_embeddings", "n_positions"), "size", "longest sequence, in tokens"),
    Letter("T", ("type_vocab_size",), "size", "kinds of segment (token types)"),
    Letter("C", (LABELS_KEY,), "size", "labels that the head tells apart"),
    Letter(
        "N",
        ("num_hidden_layers", "n_layers", "n_layer", "num_layers"),
        "layers",
        "layers (blocks)",
    ),
    Letter("N_e", ("encoder_layers", "num_encoder_layers"), "layers", "encoder layers (blocks)"),
    Letter("N_d", ("decoder_layers", "num_decoder_layers"), "layers", "decoder layers (blocks)"),
    Letter("G", ("num_hidden_groups",), "heads", "groups of layers that share their weights"),
    Letter(
        "A",
        ("num_attention_heads", "n_heads", "n_head", "num_heads", "nhead"),
        "heads",
        "attention heads",
    ),
    Letter("A_e", ("encoder_attention_heads",), "heads", "attention heads in the encoder"),
    Letter("A_d", ("decoder_attention_heads",), "heads", "attention heads in the decoder"),
    Letter("A_kv", ("num_key_value_heads",), "heads", "attention heads for keys and values"),
    Letter("K", ("head_dim", "d_kv"), "width", "features of one attention head"),
    Letter("D", ("hidden_size", "dim", "n_embd", "d_model"), "width", "features of a hidden state"),
    Letter("E", ("embedding_size",), "width", "features of an embedding"),
    Letter(
        "I",
        ("intermediate_size", "hidden_dim", "n_inner", "d_ff", "dim_feedforward"),
        "width",
        "features inside the feed-forward network",
    ),
    Letter("I_e", ("encoder_ffn_dim",), "width", "features inside the encoder's feed-forward"),
    Letter("I_d", ("decoder_ffn_dim",), "width", "features inside the decoder's feed-forward"),
)
"""In the order in which a term of a formula names them: ``V*D``, ``D*E``, ``D*I``."""

_BY_LETTER = {letter.letter: letter for letter in LETTERS}
_RANK = {letter.letter: rank for rank, letter in enumerate(LETTERS)}
# These integers name or steer something; no tensor is as long as they say.
_NOT_A_SIZE = re.compile(r"(^|_)(ids?|idx|index|indices|seed|version)$|chunk_size|token_id")


def symbols_of(config: Mapping[str, Any]) -> tuple[Symbol, ...]:
    """Return a symbol for each number in a configuration that may be a size or a count.

    Args:
        config: a configuration as a plain dict, as ``to_dict()`` of transformers gives it.

    Returns:
        The standard letters first, in the order of ``LETTERS``, then every other positive integer
        under its own key. Letters are unique Python identifiers. Booleans, ids, seeds, indices,
        numbers below 1 and nested tables are left out.
    """
    sizes = _sizes(config)
    symbols = []
    for letter in LETTERS:
        key = next((key for key in letter.keys if key in sizes), None)
        if key is not None:
            symbols.append(Symbol(letter.letter, key, sizes.pop(key), letter.meaning))
    symbols = _with_two_stacks(symbols)
    taken = {symbol.letter for symbol in symbols}
    for key, value in sizes.items():
        letter_name = _identifier(key, taken)
        taken.add(letter_name)
        symbols.append(Symbol(letter_name, key, value, f"the configuration's {key}"))
    return tuple(symbols)


def role_of(symbol: Symbol) -> Role:
    """Return how the number behind a symbol may be changed; a guess by name for own keys."""
    standard = _BY_LETTER.get(symbol.letter)
    if standard is not None:
        return standard.role
    if re.search(r"layers?$|blocks?$", symbol.key):
        return "layers"
    if "heads" in symbol.key or "groups" in symbol.key:
        return "heads"
    return "width"


def is_standard(symbol: Symbol) -> bool:
    """Tell whether the symbol is one of ``LETTERS``, not a key under its own name."""
    return symbol.letter in _BY_LETTER


def letter_order(letter: str) -> tuple[int, str]:
    """Return the sort key that puts letters in the order of ``LETTERS``, other names after."""
    return _RANK.get(letter, len(_RANK)), letter


def _sizes(config: Mapping[str, Any]) -> dict[str, int]:
    sizes = {
        key: value
        for key, value in config.items()
        # A bool is an int in Python, and never a size.
        if isinstance(value, int)
        and not isinstance(value, bool)
        and value > 0
        and not _NOT_A_SIZE.search(key)
    }
    labels = config.get("id2label")
    if LABELS_KEY not in sizes and isinstance(labels, Mapping) and labels:
        sizes[LABELS_KEY] = len(labels)
    return sizes


def _with_two_stacks(symbols: list[Symbol]) -> list[Symbol]:
    """Sort out N in an encoder-decoder, where it means the encoder's layers.

    T5 calls them ``num_layers`` next to ``num_decoder_layers``; BART's files repeat
    ``encoder_layers`` as ``num_hidden_layers``, an alias that must not be changed alone.
    """
    letters = {symbol.letter for symbol in symbols}
    if "N_e" in letters:
        return [symbol for symbol in symbols if symbol.letter != "N"]
    if "N_d" in letters:
        encoder = _BY_LETTER["N_e"]
        return [
            Symbol("N_e", symbol.key, symbol.value, encoder.meaning)
            if symbol.letter == "N"
            else symbol
            for symbol in symbols
        ]
    return symbols


def _identifier(key: str, taken: set[str]) -> str:
    """Return the key as a Python identifier that is not taken and not a standard letter."""
    name = re.sub(r"\W", "_", key, flags=re.ASCII)
    if not name or name[0].isdigit() or keyword.iskeyword(name):
        name = f"_{name}"
    while name in taken or name in _BY_LETTER:
        name += "_"
    return name
