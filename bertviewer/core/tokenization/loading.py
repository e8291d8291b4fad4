"""Loading a tokenizer with transformers, from a private copy of its files; helper process only."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import transformers
from transformers.models.auto.tokenization_auto import (
    TOKENIZER_MAPPING_NAMES,
    tokenizer_class_from_name,
)

from bertviewer.core.tokenization.files import SENTENCEPIECE_FILES, TOKENIZER, tokenizer_class
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.installation import extra_advice
from bertviewer.core.util.text import shown_name

SENTENCEPIECE = {
    "sentencepiece": transformers.utils.is_sentencepiece_available,
    "protobuf": transformers.utils.is_protobuf_available,
}
"""The packages that transformers reads SentencePiece models with."""

_BERT_VOCABULARY = "vocab.txt"
# Files without which the vocabulary is still one.
_OPTIONAL = frozenset({"merges_file", "tokenizer_config_file", "normalizer_file"})


def load_tokenizer(folder: Path, *, has_code: bool) -> tuple[Any, bool]:
    """Return the tokenizer in a folder, and whether it is BERT's instead of the model family's.

    BERT's is used if there is only a vocab.txt, which the family's class does not read: Chinese
    ALBERTs were trained on BERT's tokens. ``has_code``: the model comes with Python code for it.

    Raises:
        UserError: the files are broken, or are not for a tokenizer of transformers. Other
            exceptions, including panics in Rust, come from the libraries.
    """
    config = json.loads((folder / "config.json").read_text("utf-8"))
    settings_class, config_class = tokenizer_class(folder), config.get("tokenizer_class")
    named = settings_class or config_class
    family = TOKENIZER_MAPPING_NAMES.get(config.get("model_type"))
    if has_code and (tokenizer_class_from_name(named) is None if named else family is None):
        raise UserError("it is custom Python code from the model, which is never run")
    for name in filter(None, (settings_class, config_class)):
        _check_class(name)
    is_bert = not named and bool(family) and _has_bert_vocabulary_only(family, folder)
    try:
        if is_bert:
            tokenizer = transformers.BertTokenizer.from_pretrained(folder, local_files_only=True)
        else:
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                folder, config=_config(config), local_files_only=True, trust_remote_code=False
            )
    except BaseException as error:
        if cause := next(_causes(folder, settings_class), None):
            raise UserError(cause) from error
        raise
    _check_vocabulary(tokenizer, folder)
    return tokenizer, is_bert


def special_ids(tokenizer: Any) -> frozenset[int]:
    """Return the ids of the special tokens."""
    added = tokenizer.added_tokens_decoder.items()
    special = {number for number, token in added if token.special}
    special.update(tokenizer.all_special_ids)
    return frozenset(number for number in special if isinstance(number, int))


def _config(config: Mapping[str, Any]) -> Any:
    """Return the configuration whose class and ``tokenizer_class`` select the tokenizer."""
    try:
        found = transformers.AutoConfig.for_model(**config)
    except Exception:  # noqa: BLE001 - an unknown family, or one whose parts are missing
        found = transformers.PreTrainedConfig()
    found.tokenizer_class = config.get("tokenizer_class")
    return found


def _check_class(name: str) -> None:
    """Check that a name is not one of transformers' other classes.

    transformers calls ``from_pretrained`` of whatever class has the name: a model's class would
    load the folder's weights, even a pickle that the user did not allow.

    Raises:
        UserError: it is such a class.
    """
    found = tokenizer_class_from_name(name)
    if found is None or _missing_backends(found):
        return
    if not (isinstance(found, type) and issubclass(found, transformers.PreTrainedTokenizerBase)):
        raise UserError(f"the tokenizer_class {shown_name(name)} is not a tokenizer class")


def _missing_backends(found: Any) -> list[str]:
    """Return the packages that a tokenizer class needs and that are not installed."""
    is_dummy = isinstance(found, transformers.utils.import_utils.DummyObject)
    # Dummies of models need torch, which this process does without.
    return found._backends if is_dummy and "torch" not in found._backends else []


def _vocabulary_files(found: Any) -> list[str]:
    """Return the names of the files of which a tokenizer class needs one."""
    files = [name for key, name in found.vocab_files_names.items() if key not in _OPTIONAL]
    return list(dict.fromkeys((*files, TOKENIZER))) if files else []


def _has_bert_vocabulary_only(family_class: str, folder: Path) -> bool:
    """Return whether a family reads SentencePiece models, and there is a vocab.txt instead."""
    found = tokenizer_class_from_name(family_class)
    names = _vocabulary_files(found) if found is not None else []
    others = (*names, *SENTENCEPIECE_FILES, TOKENIZER)
    return (
        (folder / _BERT_VOCABULARY).is_file()
        and any(name in SENTENCEPIECE_FILES for name in names)
        and not any((folder / name).is_file() for name in others)
    )


def _check_vocabulary(tokenizer: Any, folder: Path) -> None:
    """Check that a tokenizer has a vocabulary.

    transformers returns an empty one if the files of its class are missing.

    Raises:
        UserError: it has none.
    """
    names = _vocabulary_files(type(tokenizer))
    if not names or any((folder / name).is_file() for name in names):
        return
    special = special_ids(tokenizer)
    words = tokenizer.get_vocab().items()
    if not any(len(word) > 1 and number not in special for word, number in words):
        kind = type(tokenizer).__name__
        raise UserError(f"{kind} is made from {' or '.join(names)}, which are missing")


def _causes(folder: Path, class_name: str) -> Iterator[str]:
    """Yield why a tokenizer cannot be loaded, where the library's message does not help."""
    if (folder / TOKENIZER).is_file():
        return
    models = [name for name in SENTENCEPIECE_FILES if (folder / name).is_file()]
    missing = [name for name, is_available in SENTENCEPIECE.items() if not is_available()]
    if models and missing:
        advice = extra_advice("sentencepiece")
        yield f"{models[0]} can only be read with {' and '.join(missing)}; install: {advice}"
    if class_name:
        found = tokenizer_class_from_name(class_name)
        if found is None:
            yield f"the tokenizer_class {shown_name(class_name)} is unknown to transformers"
        elif backends := _missing_backends(found):
            yield f"{class_name} needs what is not installed: {', '.join(backends)}"
    if (folder / "vocab.json").is_file() and not (folder / "merges.txt").is_file():
        yield "merges.txt is missing next to vocab.json"
