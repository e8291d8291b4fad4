"""Tokens of a run: classes, the two texts, words, and the alignment of two runs."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from bertviewer.core.schema.activation_run import ActivationRun, Token
from bertviewer.core.sources.families import END_TOKENS, MASK_TOKENS, START_TOKENS

if TYPE_CHECKING:  # the window's start imports this module, and must not import numpy
    import numpy as np
    from numpy.typing import NDArray

# Flags of a cell of the alignment table.
_MATCHES = 1  # the best alignment pairs these two tokens
_ABOVE = 2  # the best alignment does not need the last token of the first sequence
_CONTINUES = 4  # the best alignment that pairs these two pairs the two before them, too


class TokenClass(Struct, frozen=True):
    """Tokens of a run that belong together.

    Attributes:
        name: "all", "content", "cls", "sep", "mask", "special", "first", "second", "unknown" or
            "last": the same for every family.
        label: the text of the token itself, as the family writes it, or English.
        tokens: their positions, in order.
    """

    name: str
    label: str
    tokens: tuple[int, ...]


class Word(Struct, frozen=True):
    """A word of the sentence.

    Attributes:
        number: its index among the words of the run.
        segment: 0 in the first sentence of a pair, 1 in the second; see ``segments_of``.
        text: its pieces joined.
        tokens: the positions of its pieces.
        is_unknown: whether the vocabulary lacks a piece, so that the text is incomplete.
    """

    number: int
    segment: int
    text: str
    tokens: tuple[int, ...]
    is_unknown: bool = False


def token_classes(run: ActivationRun) -> tuple[TokenClass, ...]:
    """Return the classes that have a token in this run, the widest first.

    ``cls`` are the tokens that represent the whole text, ``sep`` those that end a sentence,
    ``special`` all other special tokens except masks. ``first`` and ``second`` are the content of
    the two texts of a pair. ``last`` is the last token if it is content: decoders such as GPT-2
    collect the text there. A token can be in several classes.
    """
    every = tuple(enumerate(run.tokens))
    special = {n: token.text for n, token in every if token.is_special}
    known = START_TOKENS | END_TOKENS | MASK_TOKENS
    segments = segments_of(run)
    texts = [[n for n, _ in every if segments[n] == number] for number in (0, 1)]
    first, second = texts if all(texts) else ([], [])
    classes: tuple[tuple[str, str, list[int]], ...] = (
        ("all", "all tokens", [n for n, _ in every]),
        ("content", "content", [n for n, _ in every if n not in special]),
        ("cls", "", [n for n, text in special.items() if text in START_TOKENS]),
        ("sep", "", [n for n, text in special.items() if text in END_TOKENS]),
        # A typed mask is a mask, whether or not the tokenizer calls it special.
        ("mask", "", [n for n, token in every if token.text in MASK_TOKENS]),
        ("special", "other special", [n for n, text in special.items() if text not in known]),
        ("first", "first sentence", first),
        ("second", "second sentence", second),
        ("unknown", "unknown", [n for n, token in every if token.is_unknown]),
        ("last", "last token", [n for n, _ in every[-1:] if n not in special]),
    )
    return tuple(
        TokenClass(
            name,
            # Without a label, the tokens' own texts, each once.
            label or " ".join(dict.fromkeys(run.tokens[n].text for n in found)),
            tuple(found),
        )
        for name, label, found in classes
        if found
    )


def segments_of(run: ActivationRun) -> tuple[int | None, ...]:
    """Return for each token whether it belongs to the first text, 0, or to the second, 1.

    Special tokens belong to neither: ``None``. Segment ids decide; in families where all are 0
    (RoBERTa, GPT-2), the text that the tokenizer read the token from. Separators would not do:
    mBART and GPT-2 put none between the texts.
    """
    own = {token.segment for token in run.tokens if not token.is_special}
    return tuple(
        None if token.is_special else (token.sentence or 0) if own == {0} else token.segment
        for token in run.tokens
    )


def positions_of(run: ActivationRun, segment: int) -> tuple[int, ...]:
    """Return the positions of a segment: of an encoder-decoder's source, 0, or target, 1."""
    return tuple(n for n, token in enumerate(run.tokens) if token.segment == segment)


def text_starts(tokens: Sequence[Token]) -> tuple[int, ...]:
    """Return the positions at which a further text begins: a second sentence, a decoder's input.

    A pair that a decoder reads again has three. Segment ids decide, or, in families with one
    segment for both sentences, the text that a token was read from.
    """
    starts, segment, sentence = [], 0, 0
    for position, token in enumerate(tokens):
        if token.segment == 1 != segment:
            starts.append(position)
            # The special tokens around a text belong to it.
            read = (one.sentence for one in tokens[position:] if one.sentence is not None)
            sentence = next(read, 0)
        elif token.sentence == 1 != sentence:
            starts.append(position)
        segment = token.segment
        sentence = sentence if token.sentence is None else token.sentence
    return tuple(starts)


def second_start(tokens: Sequence[Token]) -> int | None:
    """Return the position of the first token of the second text, ``None`` without one."""
    return next(iter(text_starts(tokens)), None)


def words_of(run: ActivationRun) -> tuple[Word, ...]:
    """Return the words in the order of their first pieces.

    Special tokens are in no word, nor are pieces that hold only space or punctuation (as BERT's
    tokenizer splits it: ASCII that is neither letter nor digit, and Unicode's categories P). Any
    other token is in exactly one: without the tokenizer's word index, it is a word itself.
    """
    segments = segments_of(run)
    pieces: dict[tuple[str, int, int], list[int]] = {}
    for position, token in enumerate(run.tokens):
        if token.is_special:
            continue
        # A decoder that reads the encoder's text again repeats the word indices.
        key = ("token", 0, position) if token.word is None else ("word", token.segment, token.word)
        pieces.setdefault(key, []).append(position)
    words = (tuple(positions) for positions in pieces.values() if _is_word(run, positions))
    return tuple(
        Word(
            number,
            segments[positions[0]] or 0,
            word_text([run.tokens[n].text for n in positions]),
            positions,
            any(run.tokens[n].is_unknown for n in positions),
        )
        for number, positions in enumerate(words)
    )


def word_text(pieces: Sequence[str]) -> str:
    """Join the pieces of one word and remove the vocabulary's markers.

    WordPiece marks a continuation with "##", subword-nmt a piece to be continued with "@@", and
    OpenAI's GPT the end of a word with "</w>". SentencePiece writes a space as "▁", byte-level BPE
    as "Ġ" and all bytes as letters. Pieces of nothing but space are returned unchanged.
    """
    return _joined(pieces) or "".join(pieces)


def align(first: Sequence[Token], second: Sequence[Token]) -> tuple[tuple[int, int], ...]:
    """Pair tokens of equal id by a longest common subsequence: positions in first and second.

    Of the longest ones (Wagner and Fischer 1974) it has the fewest gaps, so that "the bank" is
    paired with "the bank" and not with the "the" of another phrase. Time and memory are
    O(len(first) * len(second)); ``difflib`` takes a second where ids repeat.
    """
    return _aligned(tuple(token.id for token in first), tuple(token.id for token in second))


# Views of the same two runs ask again for every layer.
@lru_cache(maxsize=4)
def _aligned(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    import numpy as np

    table = _alignment_table(np.array(first, dtype=np.int64), np.array(second, dtype=np.int64))
    pairs: list[tuple[int, int]] = []
    i, j = len(first) - 1, len(second) - 1
    is_pair = False
    while i >= 0 and j >= 0:
        cell = table[i, j]
        if is_pair or cell & _MATCHES:
            pairs.append((i, j))
            is_pair = bool(cell & _CONTINUES)
            i, j = i - 1, j - 1
        elif cell & _ABOVE:
            i -= 1
        else:
            j -= 1
    return tuple(reversed(pairs))


def _alignment_table(
    first: "NDArray[np.int64]", second: "NDArray[np.int64]"
) -> "NDArray[np.uint8]":
    """Return the flags of how the best alignment of each two prefixes ends.

    A pair scores ``match``, and one more if it directly follows another; all of these bonuses
    together are less than a pair.
    """
    import numpy as np

    match = min(len(first), len(second)) + 1
    table = np.zeros((len(first), len(second)), dtype=np.uint8)
    # The row above: the best score of each prefix, and the best that ends in a pair.
    best = np.zeros(len(second) + 1, dtype=np.int64)
    paired = np.full(len(second) + 1, -1, dtype=np.int64)
    for row, token in enumerate(first):
        alone, continued = best[:-1] + match, paired[:-1] + match + 1
        continues = (paired[:-1] >= 0) & (continued >= alone)
        here = np.where(second == token, np.where(continues, continued, alone), -1)
        above = best[1:]
        new = np.maximum.accumulate(np.maximum(above, here))
        table[row] = _MATCHES * (here == new) + _ABOVE * (above == new) + _CONTINUES * continues
        best = np.concatenate(([0], new))
        paired = np.concatenate(([-1], here))
    return table


def _is_word(run: ActivationRun, positions: Sequence[int]) -> bool:
    tokens = [run.tokens[n] for n in positions]
    text = _joined([token.text for token in tokens])
    return any(token.is_unknown for token in tokens) or not all(map(_is_punctuation, text))


def _is_punctuation(letter: str) -> bool:
    if letter.isascii():
        return not letter.isalnum()
    return letter.isspace() or unicodedata.category(letter).startswith("P")


def _joined(pieces: Sequence[str]) -> str:
    bare = [piece.removesuffix("</w>") for piece in pieces]
    bare[1:] = [piece.removeprefix("##") for piece in bare[1:]]
    bare[:-1] = [piece.removesuffix("@@") for piece in bare[:-1]]
    return _from_bytes("".join(bare).replace("▁", " ")).strip()


def _from_bytes(text: str) -> str:
    """Decode byte-level BPE, if the text is valid in it."""
    plain = text.removeprefix("Ġ")
    if text.isascii() or not all(letter in _BYTES for letter in text):
        return plain
    try:
        decoded = bytes(_BYTES[letter] for letter in text).decode()
    except UnicodeDecodeError:
        return plain  # another vocabulary's "é"
    # "ā" would be a control character: it is a letter in a Latvian vocabulary.
    is_text = not any(unicodedata.category(letter) == "Cc" for letter in decoded.strip())
    return decoded if is_text else plain


def _byte_letters() -> dict[str, int]:
    """Return GPT-2's table: printable bytes are themselves, the others follow from U+0100.

    ``tokenizers`` has it too, but importing it would slow down the start.
    """
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(256 + number): byte for number, byte in enumerate(others)
    }


_BYTES = _byte_letters()
