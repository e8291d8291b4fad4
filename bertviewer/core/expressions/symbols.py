"""The symbols of a configuration: its numbers that may be sizes or counts, with their letters.

What each of them does to a tensor's shape is found by experiment (see ``symbolic``).
"""

import keyword
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from msgspec import Struct

from bertviewer.core.expressions.letters import (
    BY_KEY,
    LABELS_KEY,
    LETTERS,
    STANDARD_LETTERS,
    WIDTHS,
    Letter,
    Quantity,
    is_depth,
)


class Symbol(Struct, frozen=True):
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
    key = _path(symbol)[-1]
    if key in BY_KEY:
        return BY_KEY[key].quantity
    if not key:
        return "size"
    if is_depth(key):
        return "layers"
    return "heads" if "heads" in key or "groups" in key else "width"


def standard_letter(symbol: Symbol) -> str:
    """Return the standard letter that its key means, without the name of a part; or nothing.

    A second key of the same meaning, which keeps its own name, has none.
    """
    key = _path(symbol)[-1]
    letter = BY_KEY[key].letter if key in BY_KEY else ""
    return letter if letter and symbol.letter.split("_")[0] == letter.split("_")[0] else ""


def place_of(symbol: Symbol) -> str:
    """Return the part of the configuration that its key is in, empty for the whole."""
    return ".".join(_path(symbol)[:-1])


def is_width(symbol: Symbol) -> bool:
    """Return whether its key means the hidden state's width, that of one stage among them."""
    return _path(symbol)[-1].removesuffix("s") in WIDTHS


def is_standard(symbol: Symbol) -> bool:
    """Return whether it is one of ``LETTERS``, not a key under its own name or in a part."""
    return symbol.letter in STANDARD_LETTERS


def _path(symbol: Symbol) -> list[str]:
    """Return the keys that lead to a symbol's number, without its place in a list."""
    return re.sub(r"(\.\d+)+$", "", symbol.key).split(".")


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
    found: dict[str, tuple[str, Letter]] = {}
    for letter in LETTERS:
        key = next((key for key in letter.keys if key in sizes), None)
        if key is not None and letter.letter not in found:
            found[letter.letter] = key, letter
    own = sizes.keys() - {key for key, _ in found.values()}
    # N means an encoder-decoder's encoder. T5 calls its layers ``num_layers`` next to
    # ``num_decoder_layers``; BART's files repeat ``encoder_layers`` as ``num_hidden_layers``, an
    # alias that must not be changed alone.
    if "N_e" in found:
        found.pop("N", None)
    elif "N" in found and "N_d" in found:
        found["N"] = found["N"][0], next(each for each in LETTERS if each.letter == "N_e")
    for key, letter in found.values():
        yield _symbol((*path, key), sizes[key], taken, letter)
    for key in sizes:
        if key in own:
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
            is_list = len(value) <= _PARTS and all(map(_is_number, value))
            is_list = is_list and ".".join((*path, key)) not in keys
            numbers = {f"{key}.{at}": number for at, number in enumerate(value) if is_list}
        for each, number in numbers.items():
            if _is_number(number) and ".".join((*path, each)) not in keys:
                yield _symbol((*path, each), number, taken)


def _symbol(path: Path, value: int, taken: set[str], letter: Letter | None = None) -> Symbol:
    """Return a symbol whose letter is a Python identifier that is not taken.

    A number without a standard ``letter`` is called like its key, and not like any of these.
    """
    *parts, key = path
    index = (re.sub(r"_?config$", "", part) or part for part in parts)
    name = "_".join((letter.letter if letter else key, *index))
    name = re.sub(r"\W", "_", name, flags=re.ASCII)
    if not name or name[0].isdigit() or keyword.iskeyword(name):
        name = f"_{name}"
    while name in taken or (name in STANDARD_LETTERS and (letter is None or parts)):
        name += "_"
    taken.add(name)
    meaning = f"configuration key {'.'.join(path)}"
    if letter:
        meaning = f"{letter.meaning} of {'.'.join(parts)}" if parts else letter.meaning
    return Symbol(name, ".".join(path), value, meaning)


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
