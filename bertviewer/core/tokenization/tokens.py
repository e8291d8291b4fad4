"""Tokens of a text: truncation, word numbers, and the short form for many texts."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import count, groupby

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.schema.activation_run import Token
from bertviewer.core.sources.length_limits import LengthLimits
from bertviewer.core.util.errors import UserError

# How vocabularies write a space, a line break and a tab, and the end of a word.
_SPACES = re.compile(r"[▁ĠĊĉ]|</w>")


class TokenIds(Struct, frozen=True):
    """The tokens of a text without their names, words and places.

    Attributes:
        ids: the token ids.
        segments: as the tokenizer gives them.
        are_special: which tokens are special.
        are_added: which tokens the tokenizer added; others may be special, if they were typed.
    """

    ids: tuple[int, ...]
    segments: tuple[int, ...]
    are_special: tuple[bool, ...]
    are_added: tuple[bool, ...]

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.ids)

    def cut(self, limit: int, *, keeps_end: bool = False) -> "TokenIds":
        """Return at most ``limit`` tokens; see ``truncated_places``."""
        if len(self) <= limit:
            return self
        sentences = [None if is_added else 0 for is_added in self.are_added]
        kept = truncated_places(sentences, limit, keeps_end=keeps_end)
        return TokenIds(
            tuple(self.ids[place] for place in kept),
            tuple(self.segments[place] for place in kept),
            tuple(self.are_special[place] for place in kept),
            tuple(self.are_added[place] for place in kept),
        )


EncodedText = TokenIds | str
"""The tokens of a text, or why the tokenizer cannot read it."""


def truncated_places(
    sentences: Sequence[int | None],
    limit: int,
    *,
    keeps_end: bool = False,
    favors_first: bool = False,
) -> list[int]:
    """Return the places of the at most ``limit`` tokens that truncation keeps.

    It is the strategy ``longest_first`` of transformers: the longer sentence loses its last tokens
    first, or with ``keeps_end`` its first ones. If both are too long they get half of the tokens
    each; an odd one goes to the longer, or the second, or with ``favors_first`` to the first.

    Args:
        sentences: 0 or 1 for each token, ``None`` for those that the tokenizer added and that are
            all kept.
        limit: the number of tokens.
        keeps_end: whether ``truncation_side`` is "left".
        favors_first: whether the tokenizer is one in Python, which rounds in another way.

    Raises:
        UserError: it leaves no room for a token of each sentence.
    """
    places = list(range(len(sentences)))
    if len(sentences) <= limit:
        return places
    lengths = Counter(sentences)
    room = limit - lengths.pop(None, 0)
    if room < max(len(lengths), 1):
        raise UserError(f"the model takes {limit:,} tokens, which leaves no room for the sentence")
    longer = int(lengths[1] >= lengths[0])
    half = (room + (favors_first and longer)) // 2
    shorter_length = min(lengths[1 - longer], half)
    left: dict[int | None, int] = {longer: room - shorter_length, 1 - longer: shorter_length}
    kept = []
    for place in reversed(places) if keeps_end else places:
        sentence = sentences[place]
        if sentence is None or left[sentence] > 0:
            kept.append(place)
        if sentence is not None:
            left[sentence] -= 1
    return sorted(kept)


def model_tokens(
    parts: Sequence[Sequence[Token]],
    limits: LengthLimits | None,
    *,
    keeps_end: bool = False,
    favors_first: bool = False,
) -> tuple[Token, ...]:
    """Return the tokens of all that a model reads, truncated, and with their words numbered.

    Args:
        parts: one that the whole model reads, or one for the encoder and one for the decoder.
            Within a part, tokens of a word have the same number.
        limits: the lengths of parts; ``None`` if nothing is truncated.
        keeps_end: whether ``truncation_side`` is "left".
        favors_first: see ``truncated_places``.

    Raises:
        UserError: the limit leaves no room for the sentence.
    """
    found = (None,) * len(parts) if limits is None else limits.of(len(parts))
    tokens: list[Token] = []
    for part, limit in zip(parts, found, strict=True):
        sentences = [token.sentence for token in part]
        most = len(part) if limit is None else limit
        kept = truncated_places(sentences, most, keeps_end=keeps_end, favors_first=favors_first)
        tokens += (part[place] for place in kept)
    return _with_word_numbers(tokens)


def _with_word_numbers(tokens: Iterable[Token]) -> tuple[Token, ...]:
    """Number words from 0, without those that consist of special tokens and spaces."""
    numbers = count()
    numbered: list[Token] = []
    for _, word in groupby(tokens, lambda token: (token.segment, token.word)):
        group = list(word)
        has_text = any(not token.is_special and not _is_space(token) for token in group)
        number = next(numbers) if has_text else None
        numbered += [replace(token, word=number) for token in group]
    return tuple(numbered)


def _is_space(token: Token) -> bool:
    return not (token.written or _SPACES.sub("", token.text)).strip()
