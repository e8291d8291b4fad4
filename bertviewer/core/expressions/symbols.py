"""Symbols of a configuration: its numbers that may be sizes or counts, and what they are called.

Which dimensions of a tensor each of them changes is found by experiment (see ``symbolic``).
"""

import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal

from msgspec import Struct

DimensionKind = Literal["size", "width", "heads", "layers"]
"""What a number counts, which decides how it may be changed.

A size freely, a width in multiples of the heads, heads with the widths, layers as a depth.
"""

SENTENCES, TOKENS, TARGET_TOKENS = "B", "S", "S_d"
"""The symbols of a forward pass's inputs."""

LABELS_KEY = "num_labels"
"""Not in saved configurations, where it is the length of ``id2label``."""


class StandardSymbol(Struct, frozen=True):
    """A standard symbol: its name, configuration keys, the likeliest first, and meaning."""

    name: str
    keys: tuple[str, ...]
    kind: DimensionKind
    meaning: str


_ROWS: tuple[tuple[str, str, DimensionKind, str], ...] = (
    # Without a key: sizes of the inputs, which no configuration has.
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
STANDARD_SYMBOLS = tuple(
    StandardSymbol(name, tuple(keys.split()), kind, meaning) for name, keys, kind, meaning in _ROWS
)
"""In the order of factors in a term: ``V*D``, ``D*E``, ``D*I``.

A name in two rows means the first of them whose key a configuration has.
"""

WIDTHS = next(symbol.keys for symbol in STANDARD_SYMBOLS if symbol.name == "D")
"""Configuration keys of the hidden state's width."""

STANDARD_NAMES = frozenset(symbol.name for symbol in STANDARD_SYMBOLS)
_RANK = {name: rank for rank, name in enumerate(dict.fromkeys(s.name for s in STANDARD_SYMBOLS))}
BY_KEY = {key: symbol for symbol in STANDARD_SYMBOLS for key in symbol.keys}
_DEPTH = re.compile(
    r"(^|_)(layers|blocks|stages|depths?)(_per_stage)?$|^(n|num)_\w*layer$|^stage_num\w*_(of_layers|blocks)$"
)


def is_depth(key: str) -> bool:
    """Return whether a configuration key is a number of layers, by its name."""
    standard = BY_KEY.get(key)
    return standard.kind == "layers" if standard else _DEPTH.search(key) is not None


def name_order(name: str) -> tuple[int, str]:
    """Return a sort key: the order of ``STANDARD_SYMBOLS``, then other names.

    The suffix of a part of the configuration is ignored: ``D_text`` is sorted like ``D``.
    """
    base = name
    while base not in _RANK and "_" in base:
        base = base.rpartition("_")[0]
    return _RANK.get(base, len(_RANK)), name


class Symbol(Struct, frozen=True, rename={"name": "letter"}):
    """A number of a configuration in formulas.

    Attributes:
        name: in formulas, such as ``D`` or ``image_size``.
        key: the configuration key, with dots: ``text_config.hidden_size``.
        value: the number.
        meaning: in words.
        variable: the symbol that formulas have for this number: its own name, or another symbol if
            only models with both in proportion could be built; validity conditions then state the
            ratio. Empty if nothing was derived, or if no other value gives a comparable model.
    """

    name: str
    key: str
    value: int
    meaning: str
    variable: str = ""


_INDICES = re.compile(r"(^|_)(ids?|idxs?|index|indices|indexes)$")
# Settings, which are no sizes.
_NOT_A_SIZE = re.compile(r"(^|_)(seed|version|theta|base)$|chunk_size|token_id")
# Mappings of labels, or settings of rotary positions.
_NO_SIZES_IN = re.compile(r"2id$|^id2|(^|_)(map|params|rope)(_|$)")
# Lists that select layers instead of counting them.
_WHICH = re.compile(r"(^|_)(layers|blocks|levels|types?|pattern|dilations?|pinpoints)$")
_HOW_MANY = re.compile(r"num|^n_")
# Mappings of labels, and settings that the model does not read.
_NO_NUMBERS_IN = re.compile(r"2id$|^id2|^task_specific_params$")
_MAX_ENTRIES = 8
"""A list of different numbers has a symbol for each, if it is no longer than this."""

MAX_SYMBOLS = 250
MAX_OTHERS = 2_000
"""Real configurations have half as many; further numbers of an untrusted file are ignored."""

Path = tuple[str, ...]
"""The keys to a part of a configuration."""


def symbols_of(config: Mapping[str, Any]) -> tuple[Symbol, ...]:
    """Return a symbol for each number in a configuration that may be a size or a count.

    Args:
        config: the result of ``to_dict()`` of a transformers configuration.

    Returns:
        The standard symbols first, in the order of ``STANDARD_SYMBOLS``, then every other positive
        integer, named by its key; then those of sub-configurations, with the part as a suffix:
        ``D_text`` for ``text_config.hidden_size``. A list of equal numbers is one symbol, a short
        one of different numbers has one for each: ``hidden_sizes_0`` for ``hidden_sizes.0``. Names
        are unique Python identifiers. Booleans, ids, seeds, indices and numbers below 1 are
        skipped, and so are symbols after the first ``MAX_SYMBOLS``.
    """
    taken: set[str] = set()
    found = (symbol for path, part in _parts(config) for symbol in _symbols_in(part, path, taken))
    return tuple(islice(found, MAX_SYMBOLS))


def other_symbols_of(config: Mapping[str, Any]) -> tuple[Symbol, ...]:
    """Return a symbol for each other integer of a configuration that is at least 0.

    These are ids, indices and settings, which formulas do not depend on. Integers in longer lists
    than those of ``symbols_of`` are skipped.
    """
    symbols = symbols_of(config)
    keys, taken = {symbol.key for symbol in symbols}, {symbol.name for symbol in symbols}
    return tuple(islice(_others_in(config, (), keys, taken), MAX_OTHERS))


def dimension_kind(symbol: Symbol) -> DimensionKind:
    """Return what a symbol counts; a guess by name if its key is not a standard one."""
    key = _path(symbol)[-1]
    if key in BY_KEY:
        return BY_KEY[key].kind
    if not key:
        return "size"
    if is_depth(key):
        return "layers"
    return "heads" if "heads" in key or "groups" in key else "width"


def standard_name(symbol: Symbol) -> str:
    """Return the standard name for a symbol's key, without suffix, "" if there is none.

    Of two keys with the same meaning only the first has one.
    """
    key = _path(symbol)[-1]
    name = BY_KEY[key].name if key in BY_KEY else ""
    return name if name and symbol.name.split("_")[0] == name.split("_")[0] else ""


def config_part(symbol: Symbol) -> str:
    """Return the part of the configuration that has the symbol's key, "" for the root."""
    return ".".join(_path(symbol)[:-1])


def are_indices(key: str) -> bool:
    """Return whether a configuration key has identifiers or indices, by its name."""
    return _INDICES.search(key) is not None


def is_width(symbol: Symbol) -> bool:
    """Return whether a symbol is the width of the hidden state, or of that of one stage."""
    return _path(symbol)[-1].removesuffix("s") in WIDTHS


def is_standard(symbol: Symbol) -> bool:
    """Return whether a symbol is one of ``STANDARD_SYMBOLS`` and not in a sub-configuration."""
    return symbol.name in STANDARD_NAMES


def shape_text(shape: Sequence[int | str] | None) -> str:
    """Return ``[30522, 768]`` or ``[V, D]``, as torch writes shapes; empty for ``None``."""
    return "" if shape is None else f"[{', '.join(map(str, shape))}]"


def _path(symbol: Symbol) -> list[str]:
    """Return the keys to a symbol's number, without an index in a list."""
    return re.sub(r"(\.\d+)+$", "", symbol.key).split(".")


def _parts(config: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield a configuration, its sub-configurations and small mappings of numbers."""
    yield path, config
    for key, value in config.items():
        if not isinstance(value, Mapping):
            continue
        is_config = key.endswith("config") or "model_type" in value
        is_short = len(value) <= _MAX_ENTRIES and all(map(_is_name, value))
        if is_config or (is_short and not _NO_SIZES_IN.search(key)):
            yield from _parts(value, (*path, key))


def _is_name(key: Any) -> bool:
    return isinstance(key, str) and key.isidentifier()


def _symbols_in(config: Mapping[str, Any], path: Path, taken: set[str]) -> Iterator[Symbol]:
    sizes = _sizes(config)
    found: dict[str, tuple[str, StandardSymbol]] = {}
    for standard in STANDARD_SYMBOLS:
        key = next((key for key in standard.keys if key in sizes), None)
        if key is not None and standard.name not in found:
            found[standard.name] = key, standard
    standard_keys = {key for key, _ in found.values()}
    # N means an encoder-decoder's encoder. T5 calls its layers ``num_layers`` next to
    # ``num_decoder_layers``; BART's files repeat ``encoder_layers`` as ``num_hidden_layers``, an
    # alias that must not be changed alone.
    if "N_e" in found:
        found.pop("N", None)
    elif "N" in found and "N_d" in found:
        found["N"] = found["N"][0], next(s for s in STANDARD_SYMBOLS if s.name == "N_e")
    for key, standard in found.values():
        yield _symbol((*path, key), sizes[key], taken, standard)
    for key in sizes:
        if key not in standard_keys:
            yield _symbol((*path, key), sizes[key], taken)


def _others_in(
    config: Mapping[str, Any], path: Path, keys: set[str], taken: set[str]
) -> Iterator[Symbol]:
    for key, value in config.items():
        if not _is_name(key) or _NO_NUMBERS_IN.search(key):
            continue
        if isinstance(value, Mapping):
            yield from _others_in(value, (*path, key), keys, taken)
        numbers = {key: value}
        if isinstance(value, list | tuple):
            is_list = len(value) <= _MAX_ENTRIES and all(map(_is_number, value))
            is_list = is_list and ".".join((*path, key)) not in keys
            numbers = {f"{key}.{at}": number for at, number in enumerate(value) if is_list}
        for each, number in numbers.items():
            if _is_number(number) and ".".join((*path, each)) not in keys:
                yield _symbol((*path, each), number, taken)


def _symbol(
    path: Path, value: int, taken: set[str], standard: StandardSymbol | None = None
) -> Symbol:
    """Return a symbol with an unused name, by its key if there is no ``standard`` symbol."""
    *parts, key = path
    index = (re.sub(r"_?config$", "", part) or part for part in parts)
    name = "_".join((standard.name if standard else key, *index))
    name = re.sub(r"\W", "_", name, flags=re.ASCII)
    if not name or name[0].isdigit() or keyword.iskeyword(name):
        name = f"_{name}"
    while name in taken or (name in STANDARD_NAMES and (standard is None or parts)):
        name += "_"
    taken.add(name)
    meaning = f"configuration key {'.'.join(path)}"
    if standard:
        meaning = f"{standard.meaning} of {'.'.join(parts)}" if parts else standard.meaning
    return Symbol(name, ".".join(path), value, meaning)


def _sizes(config: Mapping[str, Any]) -> dict[str, int]:
    """Return numbers that may be sizes, by key; an index in a list follows after a dot."""
    sizes: dict[str, int] = {}
    for key, value in config.items():
        if are_indices(key) or _NOT_A_SIZE.search(key) or "." in key:
            continue
        if _is_size(value):
            sizes[key] = value
        elif isinstance(value, list | tuple) and value and all(map(_is_size, value)):
            selects = _WHICH.search(key) and not _HOW_MANY.search(key)
            if len(set(value)) == 1 and (len(value) > 1 or not selects):
                sizes[key] = value[0]
            elif len(value) <= _MAX_ENTRIES and not selects:
                sizes |= {f"{key}.{place}": size for place, size in enumerate(value)}
    labels = config.get("id2label")
    if LABELS_KEY not in sizes and isinstance(labels, Mapping) and labels:
        sizes[LABELS_KEY] = len(labels)
    return sizes


def _is_number(value: Any, least: int = 0) -> bool:
    # A bool is an int in Python, and never a size.
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_size(value: Any) -> bool:
    return _is_number(value, 1)
