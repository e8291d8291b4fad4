"""Pieces of a text on their way out of a tokenizer: their words, and what is cut off."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.schema.activation_run import Token
from bertviewer.core.sources.length_limits import LengthLimits
from bertviewer.core.util.errors import UserError

# How vocabularies write a space, a line's end and a tab, and the end of a word.
_SPACES = re.compile(r"[▁ĠĊĉ]|</w>")


class Piece(Struct, frozen=True):
    """A token whose word is still to be numbered.

    Attributes:
        token: the token.
        sentence: 0 or 1, ``None`` for what a tokenizer puts around them. Segments do not tell the
            same: RoBERTa's are 0 in both.
        starts_word: whether it belongs to another word than the piece before.
    """

    token: Token
    sentence: int | None
    starts_word: bool = True


def with_words(pieces: Iterable[Piece]) -> tuple[Token, ...]:
    """Return the tokens with their words numbered from 0, without those that hold no text."""
    groups: list[list[Token]] = []
    for piece in pieces:
        if piece.starts_word or not groups:
            groups.append([])
        groups[-1].append(piece.token)
    numbers = count()
    tokens: list[Token] = []
    for group in groups:
        if any(not token.is_special and not _is_space(token) for token in group):
            number = next(numbers)
            tokens += [replace(token, word=number) for token in group]
        else:
            tokens += group
    return tuple(tokens)


def _is_space(token: Token) -> bool:
    return not (token.written or _SPACES.sub("", token.text)).strip()


def word_starts(names: Sequence[str]) -> list[bool]:
    """Return for pieces of one text whether each starts a word, by the way vocabularies write.

    This is for tokenizers that do not tell where a piece stands. WordPiece marks what continues a
    word with "##", subword-nmt what is continued with "@@"; SentencePiece and byte-level BPE mark
    what follows a space, OpenAI's GPT what ends a word with "</w>". Where all pieces are single
    characters or bytes, words stand between the spaces. Without any of these marks each piece is a
    word.
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


def cut(pieces: Sequence[Piece], limit: int, *, keeps_end: bool = False) -> tuple[Piece, ...]:
    """Return at most ``limit`` pieces, those that a tokenizer puts around among them.

    The last pieces of the longer sentence go first, or with ``keeps_end`` the first ones. Where
    both are too long they share the room evenly; the odd place is for the longer one, or for the
    second. transformers calls this ``longest_first``.

    Raises:
        UserError: there is no room for a piece of each sentence.
    """
    if len(pieces) <= limit:
        return tuple(pieces)
    lengths = Counter(piece.sentence for piece in pieces)
    room = limit - lengths.pop(None, 0)
    if room < len(lengths):
        raise UserError(f"the model takes {limit:,} tokens, which leaves no room for the sentence")
    longer = int(lengths[1] >= lengths[0])
    shorter_length = min(lengths[1 - longer], room // 2)
    left = {longer: room - shorter_length, 1 - longer: shorter_length}
    kept: list[Piece] = []
    for piece in reversed(pieces) if keeps_end else pieces:
        if piece.sentence is not None:
            left[piece.sentence] -= 1
        if piece.sentence is None or left[piece.sentence] >= 0:
            kept.append(piece)
    if not keeps_end:
        return tuple(kept)
    kept.reverse()
    return tuple(
        # What is left of a word that lost its beginning is a word.
        replace(piece, starts_word=True) if before.sentence != piece.sentence else piece
        for before, piece in zip((Piece(kept[0].token, None), *kept), kept, strict=False)
    )


def joined(
    parts: Sequence[Sequence[Piece]], limits: LengthLimits | None, *, keeps_end: bool = False
) -> tuple[Token, ...]:
    """Return the tokens of all that a model reads, each part of it cut to its limit if any.

    Args:
        parts: one that the whole model reads, or one for the encoder and one for the decoder.
        limits: of the model; ``None`` if nothing is cut.
        keeps_end: as of ``cut``.
    """
    found = (None,) * len(parts) if limits is None else limits.of(len(parts))
    return with_words(
        piece
        for part, limit in zip(parts, found, strict=True)
        for piece in (part if limit is None else cut(part, limit, keeps_end=keeps_end))
    )
