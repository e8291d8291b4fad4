"""The letters that stand for a configuration's numbers in formulas: V for words, D for width.

This is all that is written by hand about counting; what each letter does to a tensor's shape is
found by experiment (see ``counting``).
"""

import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

Role = Literal["size", "width", "heads", "layers"]
"""How a number may be changed: freely, in multiples of the heads, with the heads, as a depth."""

LABELS_KEY = "num_labels"
"""The labels have no number in a saved configuration: it is the length of ``id2label``."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A letter of the counting formulas: the configuration key behind it, its value and meaning.

    ``variable`` is the letter that formulas follow when this number changes: its own, or another's
    that it is taken to follow, where the model was only seen with both in proportion, as with two
    equal widths; the formulas' domains say so then. It is empty where nothing was derived, and
    where every other value makes another model, or none.
    """

    letter: str
    key: str
    value: int
    meaning: str
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Letter:
    """A standard letter: the keys that mean it, the likeliest first, and what it means."""

    letter: str
    keys: tuple[str, ...]
    role: Role
    meaning: str


LETTERS = (
    # Without a key: what a sentence brings, and no configuration.
    Letter("B", (), "size", "sentences in a batch"),
    Letter("S", (), "size", "tokens in a sentence"),
    Letter("S_d", (), "size", "tokens of the target sentence"),
    Letter("V", ("vocab_size",), "size", "tokens in the vocabulary"),
    Letter(
        "L",
        ("max_position_embeddings", "n_positions"),
        "size",
        "positions that the model is made for",
    ),
    Letter("T", ("type_vocab_size",), "size", "kinds of segment (token types)"),
    Letter("C", (LABELS_KEY,), "size", "labels that the head tells apart"),
    Letter(
        "N",
        ("num_hidden_layers", "n_layers", "n_layer", "num_layers", "depth"),
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
        "E",
        ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"),
        "size",
        "experts of a layer",
    ),
    Letter(
        "I",
        ("intermediate_size", "hidden_dim", "n_inner", "d_ff", "dim_feedforward", "ffn_dim"),
        "width",
        "features inside the feed-forward network",
    ),
    Letter("I_e", ("encoder_ffn_dim",), "width", "features inside the encoder's feed-forward"),
    Letter("I_d", ("decoder_ffn_dim",), "width", "features inside the decoder's feed-forward"),
)
"""In the order in which a term of a formula names them: ``V*D``, ``D*E``, ``D*I``.

A letter that stands in two rows means the first of them whose key a configuration has.
"""

WIDTHS = next(letter.keys for letter in LETTERS if letter.letter == "D")
"""The keys that mean the hidden state's width."""

_NAMES = frozenset(letter.letter for letter in LETTERS)
_RANK = {letter: rank for rank, letter in enumerate(dict.fromkeys(x.letter for x in LETTERS))}
_BY_KEY = {key: letter for letter in LETTERS for key in letter.keys}
# These integers name or steer something; no tensor is as long as they say.
_NOT_A_SIZE = re.compile(
    r"(^|_)(ids?|idxs?|index|indices|indexes|seed|version|theta|base)$|chunk_size|token_id"
)
# Such a table gives names or numbers to words, or says how positions are turned.
_NO_SIZES_IN = re.compile(r"2id$|^id2|(^|_)(map|params|rope)(_|$)")
# They say where something is, in a list or alone, and not in a text.
_PLACES = re.compile(r"(?<!token)_(indices|indexes)$")
# A list with such a name says which layers, not how many.
_WHICH = re.compile(r"(^|_)(layers|blocks|levels|types?|pattern|dilations?|pinpoints)$")
_DEPTH = re.compile(
    r"(^|_)(layers|blocks|stages|depths?)(_per_stage)?$|^(n|num)_\w*layer$|^stage_num\w*_(of_layers|blocks)$"
)
_PARTS = 8
"""A list of different numbers has a symbol for each, if it is no longer than this."""


def symbols_of(config: Mapping[str, Any]) -> tuple[Symbol, ...]:
    """Return a symbol for each number in a configuration that may be a size or a count.

    Args:
        config: a configuration as a plain dict, as ``to_dict()`` of transformers gives it.

    Returns:
        The standard letters first, in the order of ``LETTERS``, then every other positive integer
        under its own key; then those of the configurations inside this one, with the part as an
        index: ``D_text`` for ``text_config.hidden_size``. A list of equal numbers is one symbol,
        a short one of different numbers has one for each: ``hidden_sizes_0`` for
        ``hidden_sizes.0``. Letters are unique Python identifiers. Booleans, ids, seeds, indices
        and numbers below 1 are left out.
    """
    taken: set[str] = set()
    return tuple(_symbols_in(config, (), taken))


def places_of(config: Mapping[str, Any]) -> tuple[Symbol, ...]:
    """Return a symbol for each place that a configuration names, as of layers that are different.

    They are no sizes, and no formula follows them; it may hold for one place only.
    """
    return tuple(_places_in(config, (), {symbol.letter for symbol in symbols_of(config)}))


def role_of(symbol: Symbol) -> Role:
    """Return how the number behind a symbol may be changed; a guess by name for own keys."""
    key = _last(symbol.key)
    if key in _BY_KEY:
        return _BY_KEY[key].role
    if not key:
        return "size"
    if is_depth(key):
        return "layers"
    if "heads" in key or "groups" in key:
        return "heads"
    return "width"


def standard_letter(symbol: Symbol) -> str:
    """Return the standard letter that its key means, without the name of a part; or nothing.

    A second key of the same meaning, which keeps its own name, has none.
    """
    key = _last(symbol.key)
    letter = _BY_KEY[key].letter if key in _BY_KEY else ""
    return letter if letter and symbol.letter.split("_")[0] == letter.split("_")[0] else ""


def place_of(symbol: Symbol) -> str:
    """Return the part of the configuration that its key is in, empty for the whole."""
    path = symbol.key
    while path.rpartition(".")[2].isdigit():
        path = path.rpartition(".")[0]
    return path.rpartition(".")[0]


def is_width(symbol: Symbol) -> bool:
    """Tell whether its key means the hidden state's width, that of one stage among them."""
    return _last(symbol.key).removesuffix("s") in WIDTHS


def is_depth(key: str) -> bool:
    """Tell whether a configuration's key is a number of layers, by its name."""
    standard = _BY_KEY.get(key)
    return standard.role == "layers" if standard else _DEPTH.search(key) is not None


def is_standard(symbol: Symbol) -> bool:
    """Tell whether the symbol is one of ``LETTERS``, not a key under its own name or in a part."""
    return symbol.letter in _NAMES


def letter_order(letter: str) -> tuple[int, str]:
    """Return the sort key that puts letters in the order of ``LETTERS``, other names after.

    A letter with the name of a part stands where it stands without.
    """
    base = letter
    while base not in _RANK and "_" in base:
        base = base.rpartition("_")[0]
    return _RANK.get(base, len(_RANK)), letter


def _symbols_in(
    config: Mapping[str, Any], path: tuple[str, ...], taken: set[str]
) -> Iterator[Symbol]:
    sizes = _sizes(config)
    symbols: list[Symbol] = []
    for letter in LETTERS:
        key = next((key for key in letter.keys if key in sizes), None)
        if key is not None and all(letter.letter != symbol.letter for symbol in symbols):
            symbols.append(Symbol(letter.letter, key, sizes.pop(key), letter.meaning))
    symbols = _with_two_stacks(symbols)
    standard = {symbol.letter for symbol in symbols}
    symbols += [
        Symbol(key, key, value, f"the configuration's {'.'.join((*path, key))}")
        for key, value in sizes.items()
    ]
    for symbol in symbols:
        name = ".".join((*path, symbol.key))
        is_letter = symbol.letter in standard
        index = "".join(f"_{_part_name(part)}" for part in path)
        letter_name = _identifier(symbol.letter + index, taken, is_letter and not path)
        taken.add(letter_name)
        meaning = f"{symbol.meaning} ({', '.join(path)})" if is_letter and path else symbol.meaning
        yield replace(symbol, letter=letter_name, key=name, meaning=meaning)
    for key, value in config.items():
        if isinstance(value, Mapping) and _has_sizes(key, value):
            yield from _symbols_in(value, (*path, key), taken)


def _has_sizes(key: str, table: Mapping[Any, Any]) -> bool:
    """Tell whether a table is a configuration inside of one, or a few numbers with their names."""
    if key.endswith("config") or "model_type" in table:
        return True
    return len(table) <= _PARTS and not _NO_SIZES_IN.search(key) and all(map(_is_name, table))


def _is_name(key: Any) -> bool:
    return isinstance(key, str) and key.isidentifier()


def _places_in(
    config: Mapping[str, Any], path: tuple[str, ...], taken: set[str]
) -> Iterator[Symbol]:
    for key, value in config.items():
        if isinstance(value, Mapping) and _has_sizes(key, value):
            yield from _places_in(value, (*path, key), taken)
        elif _PLACES.search(key) and isinstance(value, list | tuple) and len(value) <= _PARTS:
            for number, place in enumerate(value):
                if _is_size(place):
                    name = ".".join((*path, key, str(number)))
                    letter = _identifier("_".join((key, str(number), *map(_part_name, path))),
                                         taken, is_letter=False)  # fmt: skip
                    taken.add(letter)
                    yield Symbol(letter, name, place, f"the configuration's {name}")


def _part_name(key: str) -> str:
    return re.sub(r"_?config$", "", key) or key


def _last(key: str) -> str:
    """Return a path's last key, without the place in a list."""
    return next((part for part in reversed(key.split(".")) if not part.isdigit()), key)


def _sizes(config: Mapping[str, Any]) -> dict[str, int]:
    """Return what may be a size, by its key; a place in a list follows the key after a dot."""
    sizes: dict[str, int] = {}
    for key, value in config.items():
        if _NOT_A_SIZE.search(key) or "." in key:
            continue
        if _is_size(value):
            sizes[key] = value
        elif isinstance(value, list | tuple) and value and all(map(_is_size, value)):
            if len(set(value)) == 1:
                sizes[key] = value[0]
            elif len(value) <= _PARTS and not (_WHICH.search(key) and "num" not in key):
                sizes |= {f"{key}.{place}": size for place, size in enumerate(value)}
    labels = config.get("id2label")
    if LABELS_KEY not in sizes and isinstance(labels, Mapping) and labels:
        sizes[LABELS_KEY] = len(labels)
    return sizes


def _is_size(value: Any) -> bool:
    # A bool is an int in Python, and never a size.
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _with_two_stacks(symbols: list[Symbol]) -> list[Symbol]:
    """Sort out N in an encoder-decoder, where it means the encoder's layers.

    T5 calls them ``num_layers`` next to ``num_decoder_layers``; BART's files repeat
    ``encoder_layers`` as ``num_hidden_layers``, an alias that must not be changed alone.
    """
    letters = {symbol.letter for symbol in symbols}
    if "N_e" in letters:
        return [symbol for symbol in symbols if symbol.letter != "N"]
    if "N_d" in letters:
        meaning = next(letter.meaning for letter in LETTERS if letter.letter == "N_e")
        return [
            replace(symbol, letter="N_e", meaning=meaning) if symbol.letter == "N" else symbol
            for symbol in symbols
        ]
    return symbols


def _identifier(name: str, taken: set[str], is_letter: bool) -> str:
    """Return a name as a Python identifier that is not taken and not a standard letter."""
    name = re.sub(r"\W", "_", name, flags=re.ASCII)
    if not name or name[0].isdigit() or keyword.iskeyword(name):
        name = f"_{name}"
    while name in taken or (name in _NAMES and not is_letter):
        name += "_"
    return name
