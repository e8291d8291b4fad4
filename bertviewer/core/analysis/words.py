"""The words of a run: which tokens are pieces of one word, and what it says."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from bertviewer.core.analysis.special_tokens import SEPARATORS
from bertviewer.core.run.activation_run import ActivationRun


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the sentence.

    Attributes:
        number: its place among the words of the run, from 0.
        segment: 0 in the first sentence of a pair, 1 in the second, as ``segments_of`` says.
        text: its pieces joined.
        tokens: the places of its pieces among the run's tokens.
        is_unknown: whether the vocabulary lacks a piece, so that the text says less than the word.
    """

    number: int
    segment: int
    text: str
    tokens: tuple[int, ...]
    is_unknown: bool = False


def words_of(run: ActivationRun) -> tuple[Word, ...]:
    """Return the words in the order of their first pieces.

    Special tokens are in no word. Any other token is in exactly one: where the tokenizer told of
    no word, it is a word of its own.
    """
    segments = segments_of(run)
    pieces: dict[tuple[str, int, int], list[int]] = {}
    for place, token in enumerate(run.tokens):
        if token.is_special:
            continue
        # A decoder that reads the encoder's text again numbers its words alike.
        key = ("token", 0, place) if token.word is None else ("word", token.segment, token.word)
        pieces.setdefault(key, []).append(place)
    return tuple(
        Word(
            number,
            segments[places[0]] or 0,
            word_text([run.tokens[place].text for place in places]),
            tuple(places),
            any(run.tokens[place].is_unknown for place in places),
        )
        for number, places in enumerate(pieces.values())
    )


def segments_of(run: ActivationRun) -> tuple[int | None, ...]:
    """Return for each token whether it is of the first text, 0, or of the second, 1.

    Special tokens are of neither: ``None``. The tokens' own segments tell; where a family has none
    (RoBERTa's and DistilBERT's are all 0), the first separator behind the first text does. A pair
    that nothing separates, as GPT-2's, is one text.
    """
    own = {token.segment for token in run.tokens if not token.is_special}
    is_split_by_separator = run.sentence.pair is not None and own == {0}
    segments: list[int | None] = []
    text = 0
    for token in run.tokens:
        if not token.is_special:
            segments.append(text if is_split_by_separator else token.segment)
            continue
        if token.text in SEPARATORS and 0 in segments:
            text = 1
        segments.append(None)
    return tuple(segments)


def word_text(pieces: Sequence[str]) -> str:
    """Join the pieces of one word as vocabularies write them.

    WordPiece marks what continues a word with "##", subword-nmt what is continued with "@@", and
    OpenAI's GPT the end of a word with "</w>". "▁" of SentencePiece and "Ġ" of byte-level BPE
    stand for the space before a word; of the latter all letters stand for bytes. Where nothing but
    space would be left, the pieces are returned as they are.
    """
    bare = [piece.removesuffix("</w>") for piece in pieces]
    bare[1:] = [piece.removeprefix("##") for piece in bare[1:]]
    bare[:-1] = [piece.removesuffix("@@") for piece in bare[:-1]]
    text = _from_bytes("".join(bare).replace("▁", " ")).strip()
    return text or "".join(pieces)


def _from_bytes(text: str) -> str:
    """Read byte-level BPE's letters as the bytes that they stand for, if that is what they are."""
    if text.isascii() or not all(letter in _BYTES for letter in text):
        return text.removeprefix("Ġ")
    try:
        decoded = bytes(_BYTES[letter] for letter in text).decode()
    except UnicodeDecodeError:
        return text.removeprefix("Ġ")  # plain letters after all, as "é" in another vocabulary
    # "ā" would be a control character: of a vocabulary that writes Latvian, it is just a letter.
    is_text = not any(unicodedata.category(letter) == "Cc" for letter in decoded.strip())
    return decoded if is_text else text.removeprefix("Ġ")


def _byte_letters() -> dict[str, int]:
    """Return GPT-2's table: a printable byte is its own letter, the others follow from U+0100."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(256 + number): byte for number, byte in enumerate(others)
    }


_BYTES = _byte_letters()
