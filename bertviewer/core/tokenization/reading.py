"""Reads tokenizers through transformers, and texts with them: in the child process alone."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import transformers
from transformers.models.auto import tokenization_auto

from bertviewer.core.checkpoints.header import shown_name
from bertviewer.core.tokenization.files import SENTENCEPIECE_FILES, TOKENIZER, tokenizer_class
from bertviewer.core.tokenization.pieces import word_starts
from bertviewer.core.util.errors import UserError, describe_error
from bertviewer.core.util.installation import extra_advice

SENTENCEPIECE = {"sentencepiece": "sentencepiece", "protobuf": "google.protobuf"}
"""What transformers turns a SentencePiece model into a tokenizer with, and how it is imported."""

_BERT_VOCABULARY = "vocab.txt"

# Settings, and what is of no use without the vocabulary.
_BESIDE = frozenset({"merges_file", "tokenizer_config_file", "normalizer_file"})

Read = tuple[int, str, int, int | None, bool, str]
"""A piece: id, name in the vocabulary, segment, sentence, whether a word starts, what was written.

A sentence is 0 or 1, ``None`` for what the tokenizer puts around them.
"""


def read_tokenizer(
    folder: Path, config: Mapping[str, Any], *, is_own_code: bool
) -> tuple[Any, bool]:
    """Return the tokenizer in a private copy of its folder, and whether it is BERT's instead.

    That is read where a vocab.txt is all there is, which the class of the family does not read: as
    beside Chinese ALBERTs, which were trained on BERT's tokens. ``config`` is what the choice of a
    tokenizer hangs on; ``is_own_code`` says that it came with Python code.

    Raises:
        UserError: its files are broken, or of no tokenizer that transformers has.
    """
    if is_own_code and not _is_known(folder, config):
        raise UserError("it is custom Python code from the model, which is never run")
    try:
        _check_class(folder, config)
        if is_bert := _is_like_bert(folder, config):
            tokenizer = transformers.BertTokenizer.from_pretrained(folder, local_files_only=True)
        else:
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                folder, config=_config(config), local_files_only=True, trust_remote_code=False
            )
    except BaseException as error:
        # The tokenizers in Rust panic on what is broken, and their panic is not an Exception.
        if isinstance(error, UserError) or not (cause := _why_not(folder)):
            raise
        raise UserError(cause) from error
    _check_vocabulary(tokenizer, folder)
    return tokenizer, is_bert


def unknown_id(tokenizer: Any) -> int | None:
    """Return the id of what the vocabulary lacks, ``None`` if it lacks nothing."""
    number = tokenizer.unk_token_id
    return number if isinstance(number, int) else None


def special_ids(tokenizer: Any) -> list[int]:
    """Return the ids of the tokens that stand for no text."""
    added = tokenizer.added_tokens_decoder.items()
    special = {number for number, token in added if token.special}
    special.update(tokenizer.all_special_ids)
    return sorted(number for number in special if isinstance(number, int))


def names_by_id(tokenizer: Any) -> list[tuple[int, str]]:
    """Return the vocabulary: its ids, and how it writes their tokens."""
    ids = sorted({number for number in tokenizer.get_vocab().values() if isinstance(number, int)})
    names = tokenizer.convert_ids_to_tokens(ids)
    return [(number, name) for number, name in zip(ids, names, strict=True) if name]


def read_texts(tokenizer: Any, texts: Sequence[str]) -> list[Read]:
    """Tokenize texts together."""
    read = _read_fast if tokenizer.is_fast else _read_slow
    return list(read(tokenizer, texts))


def read_ids(tokenizer: Any, texts: Sequence[str]) -> list[list[list[int]] | str]:
    """Return of each text its ids, its segments, and 1 where something was put around it.

    Where one of them cannot be read, that is told in its place.
    """
    try:
        return list(_ids_of(tokenizer, texts))
    except BaseException:  # noqa: BLE001 - of which text it is shows when each is read alone
        return [_ids_or_problem(tokenizer, text) for text in texts]


def _ids_or_problem(tokenizer: Any, text: str) -> list[list[int]] | str:
    try:
        return next(iter(_ids_of(tokenizer, [text])))
    except BaseException as error:  # noqa: BLE001 - the tokenizers in Rust panic
        return describe_error(error)


def _ids_of(tokenizer: Any, texts: Sequence[str]) -> Iterator[list[list[int]]]:
    if not tokenizer.is_fast:
        for text in texts:
            read = list(_read_slow(tokenizer, [text]))
            yield [[one[0] for one in read], [one[2] for one in read],
                   [int(one[3] is None) for one in read]]  # fmt: skip
        return
    encoding = tokenizer(list(texts), verbose=False)
    segments = encoding.get("token_type_ids") or [[0] * len(own.ids) for own in encoding.encodings]
    for own, types in zip(encoding.encodings, segments, strict=True):
        yield [own.ids, types, [int(sentence is None) for sentence in own.sequence_ids]]


def _read_fast(tokenizer: Any, texts: Sequence[str]) -> Iterator[Read]:
    """Read with a tokenizer in Rust, which knows where in the text each piece stands."""
    encoding = tokenizer(*texts, verbose=False)
    own = encoding.encodings[0]
    names = tokenizer.convert_ids_to_tokens(own.ids)
    segments = encoding.get("token_type_ids") or [0] * len(own.ids)
    before: tuple[int | None, int | None] = (None, None)
    stop = 0
    for number, name, segment, sentence, word, (start, end) in zip(
        own.ids, names, segments, own.sequence_ids, own.word_ids, own.offsets, strict=True
    ):
        text = "" if sentence is None else texts[sentence]
        # A space ends a word, also where the tokenizer cuts a whole sentence into pieces at once.
        follows_space = any(map(str.isspace, text[stop:start] + text[start:end][:1]))
        starts = (sentence, word) != before or follows_space
        yield number, name, segment, sentence, starts, text[start:end]
        before, stop = (sentence, word), end


def _read_slow(tokenizer: Any, texts: Sequence[str]) -> Iterator[Read]:
    """Read with a tokenizer in Python, which tells of nothing but ids."""
    # They warn of what was typed, as of a "</s>", in words that are meant for programmers.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        encoding = tokenizer(*texts, verbose=False)
        contents = [tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text)) for text in texts]
    ids: list[int] = encoding["input_ids"]
    names: list[str] = tokenizer.convert_ids_to_tokens(ids)
    segments = encoding.get("token_type_ids") or [0] * len(ids)
    sentences = _sentences(ids, contents)
    starts: dict[int, Iterator[bool]] = {}
    for place in range(len(texts)):
        own = [name for name, of in zip(names, sentences, strict=True) if of == place]
        starts[place] = iter(word_starts(own))
    for number, name, segment, sentence in zip(ids, names, segments, sentences, strict=True):
        if sentence is None:
            yield number, name, segment, None, True, ""
        else:
            written = name if name in texts[sentence] else ""
            yield number, name, segment, sentence, next(starts[sentence]), written


def _sentences(ids: Sequence[int], contents: Sequence[Sequence[int]]) -> list[int | None]:
    """Return of which sentence each id is, ``None`` if of neither: where they stand in a row."""
    sentences: list[int | None] = [None] * len(ids)
    begin = 0
    for sentence, content in enumerate(contents):
        stop = len(ids) - len(content)
        while begin <= stop and list(ids[begin : begin + len(content)]) != list(content):
            begin += 1
        if begin > stop:
            raise ValueError("its ids do not match the text")
        sentences[begin : begin + len(content)] = [sentence] * len(content)
        begin += len(content)
    return sentences


def own_files(kind: type) -> list[str]:
    """Return the names of the files that a tokenizer of this class may be made from."""
    named: dict[str, str] = kind.vocab_files_names  # type: ignore[attr-defined]
    files = [name for key, name in named.items() if key not in _BESIDE]
    return list(dict.fromkeys((*files, TOKENIZER))) if files else []


def _config(config: Mapping[str, Any]) -> Any:
    """Return the configuration by whose class transformers chooses the tokenizer's."""
    named = config.get("tokenizer_class")
    try:
        made = transformers.AutoConfig.for_model(**config)
    except Exception:  # noqa: BLE001 - of a family without a class of its own, or of parts that lack
        made = transformers.PreTrainedConfig()
    made.tokenizer_class = named
    return made


def _is_like_bert(folder: Path, config: Mapping[str, Any]) -> bool:
    """Tell whether all there is is a vocab.txt, and the family's class is made from SentencePiece.

    One that is named is meant, and byte-level vocabularies are none of BERT's.
    """
    named = tokenizer_class(folder) or config.get("tokenizer_class")
    family = tokenization_auto.TOKENIZER_MAPPING_NAMES.get(config.get("model_type"))
    if named or not family or not (folder / _BERT_VOCABULARY).is_file():
        return False
    names = own_files(_class_of(family)) if _class_of(family) is not None else []
    own = (*names, *SENTENCEPIECE_FILES, TOKENIZER)
    reads_pieces = any(name in SENTENCEPIECE_FILES for name in names)
    return reads_pieces and not any((folder / name).is_file() for name in own)


def _is_known(folder: Path, config: Mapping[str, Any]) -> bool:
    """Tell whether transformers has the class that is named, or one for the family."""
    if named := tokenizer_class(folder) or config.get("tokenizer_class"):
        return _class_of(named) is not None
    return config.get("model_type") in tokenization_auto.TOKENIZER_MAPPING_NAMES


def _check_class(folder: Path, config: Mapping[str, Any]) -> None:
    """Return if what is named as the class of the tokenizer is none that reads other things.

    transformers lets whatever it has under that name read the folder: a model's class would read
    its weights, a pickle that nobody has agreed to included.

    Raises:
        UserError: it is not a tokenizer class class.
    """
    for name in (tokenizer_class(folder), config.get("tokenizer_class")):
        if not isinstance(name, str) or (kind := _class_of(name)) is None:
            continue
        base = transformers.PreTrainedTokenizerBase
        if not _is_stand_in(kind) and not (isinstance(kind, type) and issubclass(kind, base)):
            raise UserError(f"the tokenizer_class {shown_name(name)} is not a tokenizer class")


def _is_stand_in(kind: Any) -> bool:
    """Tell whether a class stands for a tokenizer whose libraries are not installed."""
    is_dummy = isinstance(kind, transformers.utils.import_utils.DummyObject)
    return is_dummy and "torch" not in kind._backends


def _class_of(name: str) -> Any:
    """Return what transformers takes for the class of that name, ``None`` if there is nothing."""
    return tokenization_auto.tokenizer_class_from_name(name)


def _check_vocabulary(tokenizer: Any, folder: Path) -> None:
    """Return if it was made from a vocabulary.

    transformers makes one that knows no words from a folder that has no file of its class, as
    of BERT's tokenizer where there is no vocab.txt.

    Raises:
        UserError: it was not.
    """
    names = own_files(type(tokenizer))
    if not names or any((folder / name).is_file() for name in names):
        return
    special = set(special_ids(tokenizer))
    words = tokenizer.get_vocab().items()
    if not any(len(word) > 1 and number not in special for word, number in words):
        kind = type(tokenizer).__name__
        raise UserError(f"{kind} is made from {' or '.join(names)}, which are missing")


def _why_not(folder: Path) -> str:
    """Return why a tokenizer cannot be read where the library's own words are of no use."""
    if (folder / TOKENIZER).is_file():
        return ""
    if models := [name for name in SENTENCEPIECE_FILES if (folder / name).is_file()]:
        lacking = [name for name, module in SENTENCEPIECE.items() if not is_installed(module)]
        if lacking:
            names = " and ".join(lacking)
            advice = extra_advice("sentencepiece")
            return f"{models[0]} can only be read with {names}; install: {advice}"
    if name := tokenizer_class(folder):
        if (kind := _class_of(name)) is None:
            return f"the tokenizer_class {shown_name(name)} is unknown to transformers"
        if _is_stand_in(kind):
            return f"{name} needs what is not installed: {', '.join(kind._backends)}"
    if (folder / "vocab.json").is_file() and not (folder / "merges.txt").is_file():
        return "merges.txt is missing next to vocab.json"
    return ""


def is_installed(module: str) -> bool:
    """Return whether a module can be imported, without importing it."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # nor is what it lies in
        return False
