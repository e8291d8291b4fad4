"""Text to tokens: the model's own tokenizer, or a stand-in that says what it is."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from tokenizers import pre_tokenizers

from bertviewer.core.backend import transformers
from bertviewer.core.configuration import position_limit
from bertviewer.core.errors import UserError
from bertviewer.core.run.activation_run import Sentence, Token, TokenizerKind

TOKENIZER_FILES = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "spiece.model",
    "sentencepiece.bpe.model",
)


class Tokenizer(Protocol):
    """Turns a sentence into tokens; ``kind`` says whether they are the model's own."""

    kind: TokenizerKind

    def tokenize(self, sentence: Sentence) -> tuple[Token, ...]:
        """Return the tokens, special ones included."""


class ModelTokenizer:
    """The tokenizer in a model's folder, through transformers."""

    kind: TokenizerKind = "model"

    def __init__(self, folder: Path) -> None:
        """Load it.

        Raises:
            UserError: its files are broken.
        """
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False
            )
        except BaseException as error:
            # The Rust tokenizers panic on broken files, and their panic is not an Exception.
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            raise UserError(f"{folder}: the tokenizer cannot be read: {error}") from error

    def tokenize(self, sentence: Sentence) -> tuple[Token, ...]:
        """Return the tokens, special ones included."""
        encoding = self._tokenizer(sentence.text, sentence.pair)
        ids: list[int] = encoding["input_ids"]
        segments = encoding.get("token_type_ids") or [0] * len(ids)
        texts = self._tokenizer.convert_ids_to_tokens(ids)
        return tuple(
            Token(number, text, segment)
            for number, text, segment in zip(ids, texts, segments, strict=True)
        )


class StandInTokenizer:
    """For configurations that come without a vocabulary, on which only random weights can run.

    Words, punctuation marks and Chinese characters become one token each. An id is a hash of the
    text, so equal words get equal ids; with random weights it means as much as the real one.
    """

    kind: TokenizerKind = "stand-in"

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._rows = int(config["vocab_size"])
        self._split = pre_tokenizers.BertPreTokenizer()
        # A second segment is one for the model only if it tells segments apart, or reads the
        # second text in its decoder.
        types = config.get("type_vocab_size")
        self._has_segments = config.get("is_encoder_decoder") or (types or 0) > 1
        self._open, self._close = _frame(config, self._rows)
        # The first rows of these vocabularies are special and unused tokens.
        self._first = 1000 if self._rows > 2000 else min(5, self._rows - 1)

    def tokenize(self, sentence: Sentence) -> tuple[Token, ...]:
        """Return the tokens, special ones included."""
        tokens = list(self._open)
        for place, text in enumerate(t for t in (sentence.text, sentence.pair) if t is not None):
            segment = place if self._has_segments else 0
            for piece, _ in self._split.pre_tokenize_str(_spaced(text)):
                tokens.append(Token(self._id(piece), piece, segment))
            tokens += [Token(t.id, t.text, segment) for t in self._close]
        return tuple(tokens)

    def _id(self, piece: str) -> int:
        digest = hashlib.blake2b(piece.encode(), digest_size=8).digest()
        return self._first + int.from_bytes(digest, "big") % (self._rows - self._first)


def _spaced(text: str) -> str:
    """Put spaces around Chinese characters, as BERT's tokenizer does before it splits."""
    return "".join(f" {c} " if "一" <= c <= "鿿" or "㐀" <= c <= "䶿" else c for c in text)


def _frame(config: Mapping[str, Any], rows: int) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """Return the special tokens before the text and after each of its segments."""
    family = config.get("model_type")
    names: tuple[tuple[str, int | None], ...]
    if family in ("bert", "distilbert", "electra") and rows > 102:
        names = (("[CLS]", 101), ("[SEP]", 102))
    elif family == "albert":
        names = (("[CLS]", config.get("bos_token_id")), ("[SEP]", config.get("eos_token_id")))
    elif family == "roberta":
        names = (("<s>", config.get("bos_token_id")), ("</s>", config.get("eos_token_id")))
    elif family == "transformer-base":
        names = (("", None), ("</s>", config.get("eos_token_id")))
    else:
        return (), ()
    first, last = (
        (Token(number, text, 0),) if isinstance(number, int) and number < rows else ()
        for text, number in names
    )
    return first, last


def check_tokens(tokens: tuple[Token, ...], config: Mapping[str, Any]) -> None:
    """Refuse tokens that the model's tables have no rows for, before any of them is looked up.

    Raises:
        UserError: too many tokens, or an id at or past the embedding's rows.
    """
    if not tokens:
        raise UserError("the sentence holds no tokens")
    limit = position_limit(config)
    length = len(tokens)
    if config.get("is_encoder_decoder"):
        # Encoder and decoder read a segment each.
        length = max(Counter(token.segment for token in tokens).values())
    if limit is not None and length > limit:
        raise UserError(
            f"the sentence is too long: it has {length:,} tokens, and the model takes "
            f"at most {limit:,}"
        )
    rows = config.get("vocab_size")
    for token in tokens:
        if isinstance(rows, int) and not 0 <= token.id < rows:
            raise UserError(
                f"the token {token.text!r} has the id {token.id}, but the embedding has only "
                f"{rows:,} rows; the tokenizer belongs to another model"
            )
