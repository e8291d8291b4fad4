"""Looks at the files of a model's tokenizer with suspicion, before any library reads them."""

import json
from collections.abc import Iterator
from os.path import lexists
from pathlib import Path
from typing import Any

from bertviewer.core.errors import UserError
from bertviewer.core.small_file import read_small_file
from bertviewer.core.source import ModelSource
from bertviewer.core.weights.finding import check_inside, is_plain_name
from bertviewer.core.weights.header import shown_name

SENTENCEPIECE_FILES = (
    *("spiece.model", "spm.model", "sentencepiece.model"),
    *("sentencepiece.bpe.model", "tokenizer.model"),
)
TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", *SENTENCEPIECE_FILES)
"""One of these is there, or there is no tokenizer, unless it needs no vocabulary."""
WITHOUT_VOCABULARY = ("ByT5Tokenizer", "CanineTokenizer", "DiaTokenizer", "PerceiverTokenizer")
"""They read bytes or characters: their settings are all that there is of them."""
SETTINGS = "tokenizer_config.json"
READ_BY_TRANSFORMERS = (
    SETTINGS, "tokenizer.json", "vocab.txt", "vocab.json", "merges.txt", "tokenizer.model",
    "spiece.model", "sentencepiece.bpe.model", "sentencepiece.model", "spm.model",
    "spm_char.model", "source.spm", "target.spm", "vocab-src.json", "vocab-tgt.json",
    "target_vocab.json", "entity_vocab.json", "word_shape.json", "word_pronunciation.json",
    "bpe.codes", "prophetnet.tokenizer", "normalizer.json", "emoji.json", "dict.txt",
    "byte_maps.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja",
    "tekken.json", "tiktoken.model",
)  # fmt: skip
"""All files that a tokenizer of transformers is made from."""
# One for many languages takes 20 MB.
MAX_BYTES = 100_000_000
MAX_SETTINGS = 20_000_000
# Of one without vocabulary; these are looked at whenever a model is opened.
_MAX_FEW_SETTINGS = 1_000_000
TEMPLATES = "additional_chat_templates"

# Keys by which the settings could have another file read, from anywhere.
_FILE_KEYS = ("gguf_file", "model_file")
# Of these a text is the path of a file; a table is what it says.
_TABLE_KEYS = ("vocab", "merges")
_VERSIONS = "fast_tokenizer_files"


def has_tokenizer(source: ModelSource) -> bool:
    """Tell whether a model has a tokenizer of its own, which may be bad."""
    if source.kind == "preset":
        return False
    own = (source.folder / name for name in TOKENIZER_FILES)
    return any(file.is_file() for file in own) or _needs_no_vocabulary(source.folder)


def lacks_tokenizer(source: ModelSource) -> bool:
    """Tell whether a model cannot be run for want of one: its weights know no others' tokens."""
    # Weights from the hub come with the first run.
    return not has_tokenizer(source) and (source.has_weights or source.kind == "hub")


def _needs_no_vocabulary(folder: Path) -> bool:
    return tokenizer_class(folder, _MAX_FEW_SETTINGS) in WITHOUT_VOCABULARY


def tokenizer_class(folder: Path, most: int = MAX_SETTINGS) -> str:
    """Return the class that the settings of a tokenizer name, "" if they name none, or are bad.

    They are not read if they take more than ``most`` bytes.
    """
    file = folder / SETTINGS
    if not file.is_file():
        return ""
    try:
        data = json.loads(read_small_file(file, most, "a tokenizer's settings"))
    except (UserError, ValueError, RecursionError):
        return ""  # what is bad is told where it is checked
    name = data.get("tokenizer_class") if isinstance(data, dict) else None
    return name if isinstance(name, str) else ""


def check_tokenizer_files(folder: Path) -> None:
    """Return if the files of a tokenizer lie in the folder, are files, and name no others.

    Raises:
        UserError: one is no file, far too large, or leads elsewhere.
    """
    templates = folder / TEMPLATES
    if templates.is_symlink():
        raise UserError(f"{templates}: a link, which is not followed")
    present = (folder / name for name in READ_BY_TRANSFORMERS)
    for file in (*present, *templates.glob("*.jinja")):
        if lexists(file):
            _check_file(file)
    if (folder / SETTINGS).is_file():
        _check_settings(folder / SETTINGS)


def _check_file(file: Path) -> None:
    check_inside(file)
    try:
        if not file.is_file():
            raise UserError(f"{file}: not a regular file")
        if file.stat().st_size > MAX_BYTES:
            raise UserError(f"{file}: too large for a tokenizer")
    except OSError as error:
        raise UserError(f"{file}: {error.strerror or error}") from error


def _check_settings(file: Path) -> None:
    content = read_small_file(file, MAX_SETTINGS, "a tokenizer's settings")
    try:
        data = json.loads(content)  # with the 31 digits that transformers writes for "no limit"
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file}: bad settings: {error}") from error
    if not isinstance(data, dict):
        raise UserError(f"{file}: the settings are not a JSON object")
    if not isinstance(kind := data.get("tokenizer_class"), str | None):
        raise UserError(f"{file}: tokenizer_class is {kind!r}, which is not the name of a class")
    for key, value in _entries(data):
        names_a_file = key in _FILE_KEYS and value is not None
        if names_a_file or (key in _TABLE_KEYS and isinstance(value, str)):
            raise UserError(f"{file}: {key} names another file, which is not read")
    names = data.get(_VERSIONS, [])
    for name in names if isinstance(names, list) else [names]:
        if not isinstance(name, str) or not is_plain_name(name):
            raise UserError(f"{file}: {shown_name(str(name))} is not the name of a file beside it")
        if lexists(file.parent / name):
            _check_file(file.parent / name)


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key with its value, those of nested tables too."""
    if isinstance(value, dict):
        yield from value.items()
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _entries(inner)
