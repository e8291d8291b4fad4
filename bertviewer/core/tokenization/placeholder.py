"""A stand-in for the vocabulary that a configuration comes without."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace
from tokenizers import pre_tokenizers

from bertviewer.core.schema.activation_run import Sentence, Token, TokenizerKind
from bertviewer.core.sources.configuration import segment_kinds
from bertviewer.core.sources.length_limits import FindLimits, stated_limits
from bertviewer.core.sources.special_tokens import (
    FRAME_OF_PAIRS,
    FRAMES,
    FRAMES_OF_PAIRS,
    LAST_ROW,
)
from bertviewer.core.tokenization.pieces import Piece, joined
from bertviewer.core.tokenization.token_ids import Read, TokenIds
from bertviewer.core.util.progress import Progress, no_progress


class StandInTokenizer:
    """For configurations that come without a vocabulary, on which only random weights can run.

    Words, punctuation marks and Chinese characters become one token each. An id is a hash of the
    text, so equal words get equal ids; with random weights it means as much as the real one.
    """

    kind: TokenizerKind = "stand-in"
    keeps_end = False

    def __init__(
        self,
        config: Mapping[str, Any],
        limits: FindLimits | None = None,
        *,
        reads_apart: bool = False,
    ) -> None:
        """Take what the configuration says; the arguments are those of ``ModelTokenizer``."""
        self._rows = int(config["vocab_size"])
        self._limits = limits or partial(stated_limits, config)
        self._split = pre_tokenizers.BertPreTokenizer()
        self._reads_apart = reads_apart
        # A second segment is one for the model only if it tells segments apart, or reads the
        # second text in its decoder.
        kinds = 0 if config.get("is_encoder_decoder") else segment_kinds(config)
        self._has_segments = self._reads_apart or kinds > 1
        self._open, self._close, self._mask = _special_tokens(config, self._rows)
        mask = () if self._mask is None else (self._mask,)
        self._names: dict[int, str] = _first_names(config) | {
            token.id: token.text for token in (*mask, *self._close, *self._open)
        }
        # The first rows of these vocabularies are special and unused tokens.
        self._first = 1000 if self._rows > 2000 else min(5, self._rows - 1)

    def tokenize(self, sentence: Sentence, progress: Progress = no_progress) -> tuple[Token, ...]:
        """Return the tokens, special ones included, cut to the limit if the sentence asks for it.

        Raises:
            UserError: it is to be cut, and the limit leaves no room for it.
        """
        parts: list[list[Piece]] = []
        for place, text in enumerate(t for t in (sentence.text, sentence.pair) if t is not None):
            segment = place if self._has_segments else 0
            if not place or self._reads_apart:
                parts.append([Piece(replace(t, segment=segment), None) for t in self._open])
            content = (replace(t, sentence=place) for t in self._content(text, segment))
            parts[-1] += [Piece(token, place) for token in content]
            parts[-1] += [Piece(replace(t, segment=segment), None) for t in self._close]
        return joined(parts, self._limits() if sentence.cut else None)

    def ids_of(self, texts: Sequence[str], progress: Progress = no_progress) -> list[Read]:
        """Return the tokens of each text alone."""
        read = (self.tokenize(Sentence(text)) for text in texts)
        return [
            TokenIds(
                tuple(token.id for token in tokens),
                tuple(token.segment for token in tokens),
                tuple(token.is_special for token in tokens),
                tuple(token.sentence is None for token in tokens),
            )
            for tokens in read
        ]

    def text_of(self, number: int) -> str:
        """Return "#id", but for the special tokens: no id of a stand-in says which word it is."""
        return self._names.get(number, f"#{number}")

    def _content(self, text: str, segment: int) -> Iterator[Token]:
        mask = self._mask
        for number, part in enumerate([text] if mask is None else text.split(mask.text)):
            if number and mask is not None:
                yield _special(mask.id, mask.text, segment)
            for piece, _ in self._split.pre_tokenize_str(_spaced(part)):
                yield Token(self._id(piece), piece, segment, written=piece)

    def _id(self, piece: str) -> int:
        digest = hashlib.blake2b(piece.encode(), digest_size=8).digest()
        return self._first + int.from_bytes(digest, "big") % (self._rows - self._first)


def _spaced(text: str) -> str:
    """Put spaces around Chinese characters, as BERT's tokenizer does before it splits."""
    return "".join(f" {c} " if "一" <= c <= "鿿" or "㐀" <= c <= "䶿" else c for c in text)


def _special(number: int, text: str, segment: int = 0) -> Token:
    return Token(number, text, segment, is_special=True)


def _first_names(config: Mapping[str, Any]) -> dict[int, str]:
    """Return the names of the tokens that a decoder may begin with, by their ids."""
    if not config.get("is_encoder_decoder"):
        return {}
    ids = {"<pad>": config.get("pad_token_id"), "<s>": config.get("bos_token_id")}
    return {number: text for text, number in ids.items() if isinstance(number, int)}


def _special_tokens(
    config: Mapping[str, Any], rows: int
) -> tuple[tuple[Token, ...], tuple[Token, ...], Token | None]:
    """Return the tokens before the text, those after each of its segments, and the mask."""
    family = str(config.get("model_type"))
    frame = FRAMES.get(family)
    if frame is not None and rows < frame.rows:
        frame = None
    if frame is None and config.get("is_encoder_decoder"):
        frame = FRAMES_OF_PAIRS.get(family, FRAME_OF_PAIRS)
    if frame is None:
        return (), (), None
    first, last, mask = (
        _written(token, config, rows) for token in (frame.first, frame.last, frame.mask)
    )
    return first, last, next(iter(mask), None)


def _written(
    token: tuple[str, int | str] | None, config: Mapping[str, Any], rows: int
) -> tuple[Token, ...]:
    if token is None:
        return ()
    text, told = token
    number = config.get(told) if isinstance(told, str) else told
    if told == LAST_ROW:
        number = rows - 1
    return (_special(number, text),) if isinstance(number, int) and number < rows else ()
