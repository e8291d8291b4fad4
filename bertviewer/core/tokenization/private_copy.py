"""A copy of a tokenizer's files in which no key of any file can name another file.

transformers reads a tokenizer from this copy and never from the model's own folder. What is not
needed to read a sentence, such as the templates of chats, is left out.
"""

import json
import re
from collections.abc import Callable, Mapping
from importlib.metadata import version
from os.path import lexists
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from bertviewer.core.checkpoints.finding import check_inside, is_plain_name
from bertviewer.core.checkpoints.header import shown_name
from bertviewer.core.tokenization.files import (
    MAX_BYTES,
    READ_BY_TRANSFORMERS,
    SETTINGS,
    TOKENIZER,
)
from bertviewer.core.tokenization.settings import known_added_tokens, known_settings
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import read_small_file
from bertviewer.core.util.serialization import loads

_VERSIONS = "fast_tokenizer_files"
_VERSIONED = re.compile(r"tokenizer\.(.+)\.json")
# What transformers looks at in a configuration to choose the class of the tokenizer.
_CONFIG_KEYS = ("model_type", "tokenizer_class", "transformers_version")
_PARTS = ("encoder", "decoder")


def write_private_copy(folder: Path, config: Mapping[str, Any], target: Path) -> bool:
    """Write what a tokenizer is made from into an empty folder; ``config`` is the model's.

    What comes back says whether the tokenizer was meant to be Python code of the model's own.

    Raises:
        UserError: a file is no file, far too large, leads elsewhere, or says what it may not.
    """
    (target / "config.json").write_text(json.dumps(tokenizer_config_of(config)), encoding="utf-8")
    settings = _parsed(folder / SETTINGS) if lexists(folder / SETTINGS) else {}
    for name in READ_BY_TRANSFORMERS:
        file = folder / (_tokenizer_for(settings, folder) if name == TOKENIZER else name)
        if lexists(file):
            (target / name).write_bytes(_known(name, file))
    return bool(settings.get("auto_map"))


def tokenizer_config_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a model's configuration the choice of its tokenizer hangs on."""
    kept: dict[str, Any] = {
        key: config[key] for key in _CONFIG_KEYS if isinstance(config.get(key), str)
    }
    parts = {key: config[key] for key in _PARTS if isinstance(config.get(key), Mapping)}
    return kept | {key: tokenizer_config_of(part) for key, part in parts.items()}


def _known(name: str, file: Path) -> bytes:
    """Return a file's content as far as it is passed on."""
    if (read := _READERS.get(name)) is None:
        return _content(file)
    data = _parsed(file)
    try:
        known = read(data)
    except ValueError as error:
        raise UserError(f"{file}: {error}") from error
    return json.dumps(known).encode()


def _content(file: Path) -> bytes:
    check_inside(file)
    return read_small_file(file, MAX_BYTES, "a tokenizer")


def _parsed(file: Path) -> dict[str, Any]:
    what = "settings" if file.name == SETTINGS else "JSON"
    try:
        data = loads(_content(file))  # with the 31 digits of transformers' "no limit"
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file}: bad {what}: {error}") from error
    if not isinstance(data, dict):
        raise UserError(f"{file}: the {what} is not an object")
    return data


def _tokenizer_for(settings: Mapping[str, Any], folder: Path) -> str:
    """Return the name of the tokenizer.json that is meant for this version of transformers.

    The settings may list some as ``tokenizer.4.0.0.json``: from that version on.
    """
    names = settings.get(_VERSIONS) or []
    chosen, newest = TOKENIZER, Version("0")
    for name in names if isinstance(names, list) else [names]:
        if not isinstance(name, str) or not is_plain_name(name):
            raise UserError(
                f"{folder / SETTINGS}: {shown_name(str(name))} is not the name of a file in the "
                "same folder"
            )
        try:
            since = Version(found[1]) if (found := _VERSIONED.fullmatch(name)) else Version("0")
        except InvalidVersion:
            continue
        if newest < since <= Version(version("transformers")):
            chosen, newest = name, since
    return chosen


def _tokenizer(data: dict[str, Any]) -> dict[str, Any]:
    """Look at a tokenizer.json, of which transformers takes the vocabulary for an argument."""
    model = data.get("model")
    if not isinstance(model, dict):
        raise ValueError("it contains no model")
    if not isinstance(model.get("vocab", []), dict | list):
        raise ValueError("the model's vocab is neither an object nor a list")
    if not isinstance(model.get("merges", []), list):
        raise ValueError("the model's merges are not a list")
    return data


def _tables(data: dict[str, Any]) -> dict[str, Any]:
    """Look at a file of tables: where a text stood for one, it would be a path."""
    if odd := [key for key, value in data.items() if not isinstance(value, dict)]:
        raise ValueError(f"{shown_name(odd[0])} is not an object")
    return data


_READERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    SETTINGS: known_settings,
    "special_tokens_map.json": known_settings,
    "added_tokens.json": known_added_tokens,
    TOKENIZER: _tokenizer,
    "byte_maps.json": _tables,
    "emoji.json": _tables,
}
