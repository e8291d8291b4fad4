"""The worker of the tokenizers' helper process: reads tokenizers, and texts with them."""

import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from bertviewer.core.util.errors import describe_error
from bertviewer.core.util.sandbox import Functions


class EncodedToken(Struct, frozen=True, array_like=True):
    """A token as the tokenizer gives it.

    Attributes:
        id: its id.
        text: how the vocabulary writes it.
        segment: its ``token_type_ids``.
        sentence: 0 or 1; ``None`` for what the tokenizer adds around the texts. Segments are not
            the same: RoBERTa's are 0 in both.
        word: the number of its word; also special tokens and spaces have one.
        written: the characters of the text that it stands for.
    """

    id: int
    text: str
    segment: int
    sentence: int | None
    word: int
    written: str


class LoadedTokenizer(Struct, frozen=True):
    """What is needed of a tokenizer outside the helper process.

    Attributes:
        unknown: the id of the unknown token, ``None`` if it has none.
        special: the ids of the special tokens.
        is_bert: whether it is BERT's although the model's family has another one.
        keeps_end: whether ``truncation_side`` is "left".
    """

    unknown: int | None
    special: list[int]
    is_bert: bool
    keeps_end: bool


def functions() -> Functions:
    """Return what the helper process can do; a tokenizer is named by a number."""
    # Tokenizers work without torch, whose import takes seconds. transformers warns about it.
    sys.modules["torch"] = None  # type: ignore[assignment]
    logging.getLogger("transformers").setLevel(logging.CRITICAL)
    from msgspec import to_builtins

    from bertviewer.core.tokenization.loading import load_tokenizer, special_ids

    tokenizers: dict[int, Any] = {}

    def load(number: int, folder: str, has_code: bool, closed: list[int]) -> Any:
        for other in closed:
            tokenizers.pop(other, None)
        tokenizer, is_bert = load_tokenizer(Path(folder), has_code=has_code)
        tokenizers[number] = tokenizer
        unknown, side = tokenizer.unk_token_id, tokenizer.truncation_side
        unknown = unknown if isinstance(unknown, int) else None
        found = LoadedTokenizer(unknown, special_ids(tokenizer), is_bert, side == "left")
        return to_builtins(found)

    return {
        "load": load,
        "encode": lambda number, texts: to_builtins(encode(tokenizers[number], texts)),
        "ids": lambda number, texts: ids_of(tokenizers[number], texts),
        "vocabulary": lambda number: vocabulary(tokenizers[number]),
    }


def vocabulary(tokenizer: Any) -> list[tuple[int, str]]:
    """Return the ids of a vocabulary, and how it writes their tokens."""
    ids = sorted({number for number in tokenizer.get_vocab().values() if isinstance(number, int)})
    names = tokenizer.convert_ids_to_tokens(ids)
    return [(number, name) for number, name in zip(ids, names, strict=True) if name]


def encode(tokenizer: Any, texts: Sequence[str]) -> list[EncodedToken]:
    """Return the tokens of one text, or of two that are read together."""
    return list((_encode_fast if tokenizer.is_fast else _encode_slow)(tokenizer, texts))


def ids_of(tokenizer: Any, texts: Sequence[str]) -> list[list[list[int]] | str]:
    """Return for each text its ids, its segments, and 1 where the tokenizer added a token.

    For a text that cannot be read it is the error message.
    """
    try:
        return list(_ids_of(tokenizer, texts))
    except BaseException:  # noqa: BLE001 - a panic in Rust is not an Exception; read each text alone
        return [_ids_or_error(tokenizer, text) for text in texts]


def _ids_or_error(tokenizer: Any, text: str) -> list[list[int]] | str:
    try:
        return next(iter(_ids_of(tokenizer, [text])))
    except BaseException as error:  # noqa: BLE001 - a panic in Rust is not an Exception
        return describe_error(error)


def _ids_of(tokenizer: Any, texts: Sequence[str]) -> Iterator[list[list[int]]]:
    if not tokenizer.is_fast:
        for text in texts:
            tokens = list(_encode_slow(tokenizer, [text]))
            added = [int(token.sentence is None) for token in tokens]
            yield [[token.id for token in tokens], [token.segment for token in tokens], added]
        return
    encoding = tokenizer(list(texts), verbose=False)
    segments = encoding.get("token_type_ids") or [[0] * len(own.ids) for own in encoding.encodings]
    for own, types in zip(encoding.encodings, segments, strict=True):
        yield [own.ids, types, [int(sentence is None) for sentence in own.sequence_ids]]


def _encode_fast(tokenizer: Any, texts: Sequence[str]) -> Iterator[EncodedToken]:
    """Encode with a tokenizer in Rust, which has the offsets of tokens in the text."""
    encoding = tokenizer(*texts, verbose=False)
    own = encoding.encodings[0]
    names = tokenizer.convert_ids_to_tokens(own.ids)
    segments = encoding.get("token_type_ids") or [0] * len(own.ids)
    before: tuple[int | None, int | None] = (None, None)
    stop = number = 0
    for token, name, segment, sentence, word, (start, end) in zip(
        own.ids, names, segments, own.sequence_ids, own.word_ids, own.offsets, strict=True
    ):
        text = "" if sentence is None else texts[sentence]
        # A space ends a word, even where the tokenizer doesn't split the text into words.
        follows_space = any(map(str.isspace, text[stop:start] + text[start:end][:1]))
        number += (sentence, word) != before or follows_space
        yield EncodedToken(token, name, segment, sentence, number, text[start:end])
        before, stop = (sentence, word), end


def _encode_slow(tokenizer: Any, texts: Sequence[str]) -> Iterator[EncodedToken]:
    """Encode with a tokenizer in Python, which has no offsets."""
    contents = [tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text)) for text in texts]
    encoding = tokenizer(*texts, verbose=False)
    ids = encoding["input_ids"]
    names = tokenizer.convert_ids_to_tokens(ids)
    segments = encoding.get("token_type_ids") or [0] * len(ids)
    starts = [iter(word_starts(tokenizer.convert_ids_to_tokens(content))) for content in contents]
    number = 0
    for token, name, segment, sentence in zip(
        ids, names, segments, _sentences(ids, contents), strict=True
    ):
        number += sentence is None or next(starts[sentence])
        # A token is written as in the vocabulary if the text has it.
        written = "" if sentence is None or name not in texts[sentence] else name
        yield EncodedToken(token, name, segment, sentence, number, written)


def _sentences(ids: Sequence[int], contents: Sequence[Sequence[int]]) -> list[int | None]:
    """Return which sentence each id belongs to: each sentence's ids are contiguous."""
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


def word_starts(names: Sequence[str]) -> list[bool]:
    """Return for each token of a text whether it starts a word, by the marks in vocabularies.

    WordPiece marks what continues a word with "##", subword-nmt what is continued with "@@".
    SentencePiece and byte-level BPE mark what follows a space, OpenAI's GPT marks the end of a word
    with "</w>". If all tokens are single characters or bytes, spaces separate words. Without any of
    these marks each token is a word.
    """
    marks_starts = any(name[:1] in ("▁", "Ġ") for name in names)
    marks_ends = any(name.endswith("</w>") for name in names)
    are_characters = all(len(name) == 1 for name in names)
    starts = []
    before = " "
    for name in names:
        if name.startswith("##") or before.endswith("@@"):
            starts.append(False)
        elif marks_starts:
            starts.append(before == " " or name[:1] in ("▁", "Ġ"))
        elif marks_ends:
            starts.append(before == " " or before.endswith("</w>"))
        else:
            starts.append(not are_characters or before.isspace() or name.isspace())
        before = name
    return starts
