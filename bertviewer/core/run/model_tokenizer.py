"""The tokenizer in a model's folder, through transformers."""

import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from bertviewer.core.backend import transformers
from bertviewer.core.building import build_config
from bertviewer.core.configuration import position_limit
from bertviewer.core.errors import UserError
from bertviewer.core.run.activation_run import Sentence, Token, TokenizerKind
from bertviewer.core.run.failures import words_of
from bertviewer.core.run.pieces import Piece, joined, word_starts
from bertviewer.core.run.tokenizer_files import SENTENCEPIECE_FILES, tokenizer_class
from bertviewer.core.weights.header import shown_name

Result = TypeVar("Result")

# What transformers turns a SentencePiece model into a tokenizer with, and how it is imported.
_SENTENCEPIECE = {"sentencepiece": "sentencepiece", "protobuf": "google.protobuf"}

_EXTRA = "bertviewer[sentencepiece]"

# Settings, and what is of no use without the vocabulary.
_BESIDE = frozenset({"merges_file", "tokenizer_config_file", "normalizer_file"})

# transformers imports itself bit by bit. Of two threads that do so at once each can wait for what
# the other one has begun, and Python then hands out modules that are half there.
_LIBRARY = threading.Lock()


class ModelTokenizer:
    """Turns sentences into the tokens that the model was trained on. Of one thread only."""

    kind: TokenizerKind = "model"

    def __init__(
        self, folder: Path, config: Mapping[str, Any] | None = None, *, reads_apart: bool = False
    ) -> None:
        """Load it; the model's configuration tells its limit, and whether it has a decoder.

        ``reads_apart`` says that a second sentence is for the decoder.

        Raises:
            UserError: its files are broken.
        """
        config = config or {}
        self._limit = position_limit(config)
        self._reads_apart = reads_apart
        # Whatever the encoder reads is segment 0: segment 1 is the decoder's.
        self._segment = 0 if config.get("is_encoder_decoder") else None
        problem = f"{folder}: the tokenizer cannot be read"
        with _LIBRARY:
            _guarded(problem, lambda: _check_class(folder, config))
        try:
            with _LIBRARY:
                self._tokenizer = _guarded(
                    problem,
                    lambda: transformers.AutoTokenizer.from_pretrained(
                        folder,
                        # As it was checked: the file itself could name another one.
                        config=build_config(config, str(folder))
                        if "model_type" in config
                        else None,
                        local_files_only=True,
                        trust_remote_code=False,
                    ),
                )
        except UserError as error:
            with _LIBRARY:
                cause = _why_not(folder)
            if cause:
                raise UserError(f"{problem}: {cause}") from error
            raise
        self._unknown: int | None = self._tokenizer.unk_token_id
        added = self._tokenizer.added_tokens_decoder.items()
        self._special = {number for number, token in added if token.special}
        self._special.update(self._tokenizer.all_special_ids)
        self._check_vocabulary(folder, problem)

    def tokenize(self, sentence: Sentence) -> tuple[Token, ...]:
        """Return the tokens, special ones included, cut to the limit if the sentence asks for it.

        A decoder that reads the second sentence has it tokenized alone, and as segment 1.

        Raises:
            UserError: the tokenizer cannot read the text, or the limit leaves no room for it.
        """
        texts = [text for text in (sentence.text, sentence.pair) if text is not None]
        limit = self._limit if sentence.cut else None
        if not self._reads_apart:
            return joined([self._pieces(texts, self._segment)], limit)
        return joined([self._pieces([text], place) for place, text in enumerate(texts)], limit)

    def text_of(self, number: int) -> str:
        """Return the token of that id as the vocabulary writes it, "#id" if it has none."""
        try:
            return self._tokenizer.convert_ids_to_tokens(number) or f"#{number}"
        except (LookupError, ValueError, TypeError):
            # Embeddings often have more rows than the vocabulary has tokens.
            return f"#{number}"

    def _check_vocabulary(self, folder: Path, problem: str) -> None:
        """Return if it was made from a vocabulary.

        transformers makes one that knows no words from a folder that has no file of its class, as
        of BERT's tokenizer where there is no vocab.txt.

        Raises:
            UserError: it was not.
        """
        names = own_files(type(self._tokenizer))
        if not names or any((folder / name).is_file() for name in names):
            return
        words = self._tokenizer.get_vocab().items()
        if not any(len(word) > 1 and number not in self._special for word, number in words):
            kind = type(self._tokenizer).__name__
            raise UserError(
                f"{problem}: {kind} is made from {' or '.join(names)}, and none is there"
            )

    def _pieces(self, texts: Sequence[str], segment: int | None) -> list[Piece]:
        """Tokenize texts together; ``segment`` is theirs, ``None`` if the tokenizer tells them."""
        read = _read_fast if self._tokenizer.is_fast else _read_slow
        return _guarded(
            "the tokenizer cannot read this text",
            lambda: [
                Piece(
                    self._token(number, name, own if segment is None else segment, place, written),
                    place,
                    starts,
                )
                for number, name, own, place, starts, written in read(self._tokenizer, texts)
            ],
        )

    def _token(
        self, number: int, name: str, segment: int, sentence: int | None, written: str
    ) -> Token:
        # One that was typed by its name is nothing unknown; nor is GPT-2's end of text, which is
        # its unknown token too.
        is_text = sentence is not None
        is_unknown = is_text and number == self._unknown and written != name
        is_special = not is_text or (number in self._special and not is_unknown)
        if sentence is not None and self._reads_apart:
            sentence = segment  # it was tokenized alone
        return Token(number, name, segment, None, is_special, is_unknown, written, sentence)


_Read = Iterator[tuple[int, str, int, int | None, bool, str]]
"""Ids, names in the vocabulary, segments, sentences, whether a word starts, and what was written.

A sentence is 0 or 1, ``None`` for what the tokenizer puts around them.
"""


def _read_fast(tokenizer: Any, texts: Sequence[str]) -> _Read:
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


def _read_slow(tokenizer: Any, texts: Sequence[str]) -> _Read:
    """Read with a tokenizer in Python, which tells of nothing but ids."""
    # They warn of what was typed, as of a "</s>", in words that are meant for programmers.
    with _LIBRARY, warnings.catch_warnings():
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
            raise ValueError("its ids are not those of the text")
        sentences[begin : begin + len(content)] = [sentence] * len(content)
        begin += len(content)
    return sentences


def _guarded(problem: str, action: Callable[[], Result]) -> Result:
    """Do what calls the library, and tell of its failure as the user's.

    Raises:
        UserError: it failed.
    """
    try:
        return action()
    except BaseException as error:
        # The tokenizers in Rust panic on what is broken, and their panic is not an Exception.
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise UserError(f"{problem}: {words_of(error)}") from error


def _check_class(folder: Path, config: Mapping[str, Any]) -> None:
    """Return if what is named as the class of the tokenizer is none that reads other things.

    transformers lets whatever it has under that name read the folder: a model's class would read
    its weights, a pickle that nobody has agreed to included.

    Raises:
        UserError: it is no tokenizer's class.
    """
    for name in (tokenizer_class(folder), config.get("tokenizer_class")):
        if not isinstance(name, str) or (kind := _class_of(name)) is None:
            continue
        # A stand-in raises, and says what has to be installed.
        is_stand_in = isinstance(kind, transformers.utils.import_utils.DummyObject)
        base = transformers.PreTrainedTokenizerBase
        if not is_stand_in and not (isinstance(kind, type) and issubclass(kind, base)):
            raise UserError(f"the tokenizer_class {shown_name(name)} is no tokenizer's")


def _class_of(name: str) -> Any:
    """Return what transformers takes for the class of that name, ``None`` if there is nothing."""
    return transformers.models.auto.tokenization_auto.tokenizer_class_from_name(name)


def own_files(kind: type) -> list[str]:
    """Return the names of the files that a tokenizer of this class may be made from."""
    named: dict[str, str] = kind.vocab_files_names  # type: ignore[attr-defined]
    files = [name for key, name in named.items() if key not in _BESIDE]
    return list(dict.fromkeys((*files, "tokenizer.json"))) if files else []


def _why_not(folder: Path) -> str:
    """Return why a tokenizer cannot be read where the library's own words are of no use."""
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        # It takes most files by their paths.
        return "its path is not UTF-8, which the library of the tokenizers needs; rename it"
    if (folder / "tokenizer.json").is_file():
        return ""
    if models := [name for name in SENTENCEPIECE_FILES if (folder / name).is_file()]:
        lacking = [name for name, module in _SENTENCEPIECE.items() if not _is_installed(module)]
        if lacking:
            names = " and ".join(lacking)
            return f"{models[0]} can only be read with {names}: pip install '{_EXTRA}'"
    if (kind := tokenizer_class(folder)) and _class_of(kind) is None:
        return f"the tokenizer_class {shown_name(kind)} is not known to transformers"
    if (folder / "vocab.json").is_file() and not (folder / "merges.txt").is_file():
        return "there is no merges.txt beside its vocab.json"
    return ""


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # nor is what it lies in
        return False
