"""The worker of the tokenizers' helper process: loads tokenizers, and reads texts with them."""

import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from bertviewer.core.schema.activation_run import Token
from bertviewer.core.util.errors import describe_error
from bertviewer.core.util.sandbox import Functions


def functions() -> Functions:
    """Return what the helper process can do; each tokenizer has a number."""
    # Tokenizers work without torch, whose import takes seconds. transformers warns about it.
    sys.modules["torch"] = None  # type: ignore[assignment]
    logging.getLogger("transformers").setLevel(logging.CRITICAL)
    from bertviewer.core.tokenization.loading import load_tokenizer, special_ids

    readers: dict[int, TextReader] = {}

    def load(number: int, folder: str, has_code: bool, closed: list[int]) -> dict[str, bool]:
        for other in closed:
            readers.pop(other, None)
        tokenizer, is_bert = load_tokenizer(Path(folder), has_code=has_code)
        readers[number] = TextReader(tokenizer, special_ids(tokenizer))
        return {
            "is_bert": is_bert,
            "is_fast": tokenizer.is_fast,
            "keeps_end": tokenizer.truncation_side == "left",
        }

    return {
        "load": load,
        "tokens": lambda number, texts: to_builtins(readers[number].tokens(texts)),
        "ids": lambda number, texts: readers[number].ids(texts),
        "vocabulary": lambda number: readers[number].vocabulary(),
    }


class TextReader:
    """Reads texts with a tokenizer of transformers."""

    def __init__(self, tokenizer: Any, special: frozenset[int]) -> None:
        """``special`` are the ids of the special tokens."""
        self._tokenizer = tokenizer
        self._special = special
        self._unknown = tokenizer.unk_token_id
        self._read = self._fast if tokenizer.is_fast else self._slow

    def vocabulary(self) -> list[tuple[int, str]]:
        """Return the ids of the vocabulary, and how it writes their tokens."""
        found = self._tokenizer.get_vocab().values()
        ids = sorted({number for number in found if isinstance(number, int)})
        names = self._tokenizer.convert_ids_to_tokens(ids)
        return [(number, name) for number, name in zip(ids, names, strict=True) if name]

    def tokens(self, texts: Sequence[str]) -> list[Token]:
        """Return the tokens of one text, or of two that are read together.

        Words are numbered, those of special tokens and spaces too.
        """
        return list(self._read(texts))

    def ids(self, texts: Sequence[str]) -> list[list[list[Any]] | str]:
        """Return for each text its ids, its segments, and which tokens are special and added.

        For a text that cannot be read it is the error message.
        """
        try:
            return list(self._ids(texts))
        except BaseException:  # noqa: BLE001 - a panic in Rust; read each text alone
            return [self._ids_or_error(text) for text in texts]

    def _ids_or_error(self, text: str) -> list[list[Any]] | str:
        try:
            return next(self._ids([text]))
        except BaseException as error:  # noqa: BLE001 - a panic in Rust is not an Exception
            return describe_error(error)

    def _ids(self, texts: Sequence[str]) -> Iterator[list[list[Any]]]:
        rows: Iterator[tuple[list[int], list[int], list[bool]]]
        if self._tokenizer.is_fast:
            encoding = self._tokenizer(list(texts), verbose=False)
            encodings = encoding.encodings
            segments = encoding.get("token_type_ids") or [[0] * len(own.ids) for own in encodings]
            rows = (
                (own.ids, types, [sentence is None for sentence in own.sequence_ids])
                for own, types in zip(encodings, segments, strict=True)
            )
        else:
            rows = (
                ([t.id for t in own], [t.segment for t in own], [t.sentence is None for t in own])
                for own in (self.tokens([text]) for text in texts)
            )
        special = self._special - {self._unknown}
        for ids, types, added in rows:
            are_special = [a or i in special for i, a in zip(ids, added, strict=True)]
            yield [ids, types, are_special, added]

    def _token(
        self, number: int, name: str, segment: int, word: int, *, sentence: int | None, written: str
    ) -> Token:
        # A typed "[UNK]" is not unknown; nor is GPT-2's end of text, which is its unknown token.
        is_text = sentence is not None
        is_unknown = is_text and number == self._unknown and written != name
        is_special = not is_text or (number in self._special and not is_unknown)
        return Token(number, name, segment, word, is_special, is_unknown, written, sentence)

    def _fast(self, texts: Sequence[str]) -> Iterator[Token]:
        """Read with a tokenizer in Rust, which has the offsets of tokens in the text."""
        encoding = self._tokenizer(*texts, verbose=False)
        own = encoding.encodings[0]
        names = self._tokenizer.convert_ids_to_tokens(own.ids)
        segments = encoding.get("token_type_ids") or [0] * len(own.ids)
        before: tuple[int | None, int | None] = (None, None)
        stop = words = 0
        for number, name, segment, sentence, word, (start, end) in zip(
            own.ids, names, segments, own.sequence_ids, own.word_ids, own.offsets, strict=True
        ):
            text = "" if sentence is None else texts[sentence]
            # A space ends a word, even where the tokenizer doesn't split the text into words.
            follows_space = any(map(str.isspace, text[stop:start] + text[start:end][:1]))
            words += (sentence, word) != before or follows_space
            yield self._token(
                number, name, segment, words, sentence=sentence, written=text[start:end]
            )
            before, stop = (sentence, word), end

    def _slow(self, texts: Sequence[str]) -> Iterator[Token]:
        """Read with a tokenizer in Python, which has no offsets."""
        tokenizer = self._tokenizer
        contents = [tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text)) for text in texts]
        encoding = tokenizer(*texts, verbose=False)
        ids = encoding["input_ids"]
        names = tokenizer.convert_ids_to_tokens(ids)
        segments = encoding.get("token_type_ids") or [0] * len(ids)
        starts = [iter(word_starts(tokenizer.convert_ids_to_tokens(own))) for own in contents]
        words = 0
        for number, name, segment, sentence in zip(
            ids, names, segments, _sentences(ids, contents), strict=True
        ):
            words += sentence is None or next(starts[sentence])
            # A token is written as in the vocabulary if the text has it.
            written = "" if sentence is None or name not in texts[sentence] else name
            yield self._token(number, name, segment, words, sentence=sentence, written=written)


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
