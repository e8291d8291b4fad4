"""The symbols of a configuration: its numbers that may be sizes or counts, with their letters.

What each of them does to a tensor's shape is found by experiment (see ``symbolic``).
"""

import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from bertviewer.core.expressions.letters import (
    BY_KEY,
    LABELS_KEY,
    LETTERS,
    STANDARD_LETTERS,
    WIDTHS,
    Quantity,
    is_depth,
)
from bertviewer.core.frozen import frozen


@frozen
class Symbol:
    """A letter of the counting formulas: the configuration key behind it, its value and meaning.

    Attributes:
        variable: the letter that formulas follow when this number changes: its own, or another's
            where the model was only seen with both in proportion, as with two equal widths; the
            formulas' domains say so then. It is empty where nothing was derived, and where every
            other value makes another model, or none.
    """

    letter: str
    key: str
    value: int
    meaning: str
    variable: str = ""


# These integers name or steer something; no tensor is as long as they say.
_NOT_A_SIZE = re.compile(
    r"(^|_)(ids?|idxs?|index|indices|indexes|seed|version|theta|base)$|chunk_size|token_id"
)
# Such a table gives names or numbers to words, or says how positions are turned.
_NO_SIZES_IN = re.compile(r"2id$|^id2|(^|_)(map|params|rope)(_|$)")
# A list with such a name says which layers, not how many.
_WHICH = re.compile(r"(^|_)(layers|blocks|levels|types?|pattern|dilations?|pinpoints)$")
_HOW_MANY = re.compile(r"num|^n_")
# Such a table names what the model tells apart, or has settings that it does not read.
_NO_NUMBERS_IN = re.compile(r"2id$|^id2|^task_specific_params$")
_PARTS = 8
"""A list of different numbers has a symbol for each, if it is no longer than this."""
MOST_SYMBOLS = 250
MOST_OTHERS = 2_000
"""Real configurations have half as many; what a stranger's file has beyond is not tried."""

Path = tuple[str, ...]
"""The keys that lead to a part of a configuration."""


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
        and numbers below 1 are left out, and so are those after the first ``MOST_SYMBOLS``.
    """
    taken: set[str] = set()
    found = (symbol for path, part in _parts(config) for symbol in _symbols_in(part, path, taken))
    return tuple(islice(found, MOST_SYMBOLS))


def others_of(config: Mapping[str, Any]) -> tuple[Symbol, ...]:
    """Return a symbol for each other integer of a configuration, down to 0, under its own key.

    They are ids, places and settings; no formula follows them. Integers in lists that are longer
    than ``symbols_of`` takes are left out.
    """
    symbols = symbols_of(config)
    keys, taken = {symbol.key for symbol in symbols}, {symbol.letter for symbol in symbols}
    return tuple(islice(_others_in(config, (), keys, taken), MOST_OTHERS))


def quantity_of(symbol: Symbol) -> Quantity:
    """Return what the number behind a symbol counts; a guess by name for own keys."""
    key = _last(symbol.key)
    if key in BY_KEY:
        return BY_KEY[key].quantity
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
    letter = BY_KEY[key].letter if key in BY_KEY else ""
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


def is_standard(symbol: Symbol) -> bool:
    """Tell whether the symbol is one of ``LETTERS``, not a key under its own name or in a part."""
    return symbol.letter in STANDARD_LETTERS


def _parts(config: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield a configuration and all inside of it that may have sizes, with the keys to each.

    These are configurations, or a few numbers with their names.
    """
    yield path, config
    for key, value in config.items():
        if not isinstance(value, Mapping):
            continue
        is_config = key.endswith("config") or "model_type" in value
        is_short = len(value) <= _PARTS and all(map(_is_name, value))
        if is_config or (is_short and not _NO_SIZES_IN.search(key)):
            yield from _parts(value, (*path, key))


def _is_name(key: Any) -> bool:
    return isinstance(key, str) and key.isidentifier()


def _symbols_in(config: Mapping[str, Any], path: Path, taken: set[str]) -> Iterator[Symbol]:
    sizes = _sizes(config)
    symbols: list[Symbol] = []
    for letter in LETTERS:
        key = next((key for key in letter.keys if key in sizes), None)
        if key is not None and all(letter.letter != symbol.letter for symbol in symbols):
            symbols.append(Symbol(letter.letter, key, sizes.pop(key), letter.meaning))
    symbols = _with_two_stacks(symbols)
    standard = {symbol.letter for symbol in symbols}
    symbols += [
        Symbol(key, key, value, f"configuration key {'.'.join((*path, key))}")
        for key, value in sizes.items()
    ]
    for symbol in symbols:
        name = ".".join((*path, symbol.key))
        is_letter = symbol.letter in standard
        index = "".join(f"_{_part_name(part)}" for part in path)
        letter_name = _identifier(symbol.letter + index, taken, is_letter and not path)
        taken.add(letter_name)
        meaning = f"{symbol.meaning} of {'.'.join(path)}" if is_letter and path else symbol.meaning
        yield replace(symbol, letter=letter_name, key=name, meaning=meaning)


def _others_in(at: Any, path: Path, keys: set[str], taken: set[str]) -> Iterator[Symbol]:
    name = ".".join(path)
    if isinstance(at, Mapping):
        for key, value in at.items():
            if _is_name(key) and not _NO_NUMBERS_IN.search(key):
                yield from _others_in(value, (*path, key), keys, taken)
    elif isinstance(at, list | tuple):
        if len(at) <= _PARTS and name not in keys and all(map(_is_number, at)):
            for place, value in enumerate(at):
                yield from _others_in(value, (*path, str(place)), keys, taken)
    elif _is_number(at) and name not in keys:
        *parts, key = (part for part in path if not part.isdigit())
        places = (part for part in path if part.isdigit())
        letter = _identifier("_".join((key, *places, *map(_part_name, parts))), taken, False)
        taken.add(letter)
        yield Symbol(letter, name, at, f"configuration key {name}")


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
            says_which = _WHICH.search(key) and not _HOW_MANY.search(key)
            if len(set(value)) == 1 and (len(value) > 1 or not says_which):
                sizes[key] = value[0]
            elif len(value) <= _PARTS and not says_which:
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
    while name in taken or (name in STANDARD_LETTERS and not is_letter):
        name += "_"
    return name
