"""The tokenizer of configurations that come without a vocabulary."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace
from tokenizers import pre_tokenizers

from bertviewer.core.schema.activation_run import Sentence, Token, TokenizerKind
from bertviewer.core.sources.configuration import segment_rows
from bertviewer.core.sources.families import (
    ENCODER_DECODER_FRAME,
    ENCODER_DECODER_FRAMES,
    FRAMES,
    LAST_ROW,
)
from bertviewer.core.sources.length_limits import FindLimits
from bertviewer.core.tokenization.tokenizer import Tokenizer
from bertviewer.core.tokenization.tokens import EncodedText, TokenIds
from bertviewer.core.util.progress import Progress, no_progress


class PlaceholderTokenizer(Tokenizer):
    """Words, punctuation marks and Chinese characters become one token each.

    An id is a hash of the text, so equal words have equal ids. With random weights, which are all
    that such a model can run with, these ids mean as much as the real ones.
    """

    kind: TokenizerKind = "stand-in"

    def __init__(
        self,
        config: Mapping[str, Any],
        limits: FindLimits | None = None,
        *,
        pair_is_target: bool = False,
    ) -> None:
        """Take the model's configuration; see ``Tokenizer`` for the arguments."""
        super().__init__(config, limits, pair_is_target=pair_is_target)
        self._rows = int(config["vocab_size"])
        self._split = pre_tokenizers.BertPreTokenizer()
        self._has_segments = not config.get("is_encoder_decoder") and segment_rows(config) > 1
        self._first, self._last, self._mask = _special_tokens(config, self._rows)
        special = [*self._last, *self._first, *([self._mask] if self._mask else [])]
        self._names = _named_ids(config, special) | {token.id: token.text for token in special}
        # The first rows of these vocabularies are special and unused tokens.
        self._first_row = 1000 if self._rows > 2000 else min(5, self._rows - 1)

    def _encode(
        self, texts: Sequence[str], stack: int | None, progress: Progress
    ) -> Sequence[Token]:
        tokens: list[Token] = []
        for sentence, text in enumerate(texts, stack or 0):
            segment = sentence if self._has_segments or stack is not None else 0
            first = [] if tokens else self._first
            found = (*first, *self._content(text, sentence), *self._last)
            tokens += [replace(token, segment=segment) for token in found]
        return [replace(token, word=number) for number, token in enumerate(tokens)]

    def encode_each(
        self, texts: Sequence[str], progress: Progress = no_progress
    ) -> list[EncodedText]:
        """Return the tokens of each text alone."""
        found = (self.tokenize(Sentence(text)) for text in texts)
        return [
            TokenIds(
                tuple(token.id for token in tokens),
                tuple(token.segment for token in tokens),
                tuple(token.is_special for token in tokens),
                tuple(token.sentence is None for token in tokens),
            )
            for tokens in found
        ]

    def text_of(self, number: int) -> str:
        """Return "#id" for all but special tokens: an id does not say which word it is."""
        return self._names.get(number, f"#{number}")

    def _content(self, text: str, sentence: int) -> Iterator[Token]:
        mask = self._mask
        for number, part in enumerate([text] if mask is None else text.split(mask.text)):
            if number and mask is not None:
                yield replace(mask, sentence=sentence)
            for piece, _ in self._split.pre_tokenize_str(_spaced(part)):
                yield Token(self._id(piece), piece, 0, written=piece, sentence=sentence)

    def _id(self, piece: str) -> int:
        digest = hashlib.blake2b(piece.encode(), digest_size=8).digest()
        rows = self._rows - self._first_row
        return self._first_row + int.from_bytes(digest, "big") % rows


def _spaced(text: str) -> str:
    """Put spaces around Chinese characters, as BERT's tokenizer does before it splits."""
    return "".join(f" {c} " if "一" <= c <= "鿿" or "㐀" <= c <= "䶿" else c for c in text)


def _named_ids(config: Mapping[str, Any], special: Sequence[Token]) -> dict[int, str]:
    """Return the names of padding and of a text's first and last token, by their ids."""
    has_brackets = any(token.text.startswith("[") for token in special)
    names = {
        "pad_token_id": "[PAD]" if has_brackets else "<pad>",
        "bos_token_id": "<s>",
        "eos_token_id": "</s>",
    }
    found = ((config.get(key), name) for key, name in names.items())
    return {number: name for number, name in found if isinstance(number, int)}


def _special_tokens(
    config: Mapping[str, Any], rows: int
) -> tuple[list[Token], list[Token], Token | None]:
    """Return the tokens before the texts, those after each text, and the mask."""
    family = str(config.get("model_type"))
    frame = FRAMES.get(family)
    if frame is not None and rows < frame.rows:
        frame = None
    if frame is None and config.get("is_encoder_decoder"):
        frame = ENCODER_DECODER_FRAMES.get(family, ENCODER_DECODER_FRAME)
    if frame is None:
        return [], [], None
    found: list[list[Token]] = []
    for text, key in (token or ("", "") for token in (frame.first, frame.last, frame.mask)):
        number = config.get(key) if isinstance(key, str) else key
        number = rows - 1 if key == LAST_ROW else number
        if isinstance(number, int) and number < rows:
            found.append([Token(number, text, 0, is_special=True)])
        else:
            found.append([])
    first, last, mask = found
    return first, last, next(iter(mask), None)
