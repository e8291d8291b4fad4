"""The words of a run: which tokens are pieces of one word, and what it says."""

import unicodedata
from collections.abc import Sequence

from msgspec import Struct

from bertviewer.core.analysis.token_classes import segments_of
from bertviewer.core.schema.activation_run import ActivationRun


class Word(Struct, frozen=True):
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

    Special tokens are in no word, nor is what holds only space or only punctuation (as BERT's
    tokenizer cuts it off: any ASCII that is neither letter nor digit, and Unicode's categories P).
    Any other token is in exactly one: where the tokenizer told of no word, it is a word of its own.
    """
    segments = segments_of(run)
    pieces: dict[tuple[str, int, int], list[int]] = {}
    for place, token in enumerate(run.tokens):
        if token.is_special:
            continue
        # A decoder that reads the encoder's text again numbers its words alike.
        key = ("token", 0, place) if token.word is None else ("word", token.segment, token.word)
        pieces.setdefault(key, []).append(place)
    words = (tuple(places) for places in pieces.values() if _is_word(run, places))
    return tuple(
        Word(
            number,
            segments[places[0]] or 0,
            word_text([run.tokens[place].text for place in places]),
            places,
            any(run.tokens[place].is_unknown for place in places),
        )
        for number, places in enumerate(words)
    )


def _is_word(run: ActivationRun, places: Sequence[int]) -> bool:
    tokens = [run.tokens[place] for place in places]
    text = _joined([token.text for token in tokens])
    return any(token.is_unknown for token in tokens) or not all(map(_is_punctuation, text))


def _is_punctuation(letter: str) -> bool:
    if letter.isascii():
        return not letter.isalnum()
    return letter.isspace() or unicodedata.category(letter).startswith("P")


def word_text(pieces: Sequence[str]) -> str:
    """Join the pieces of one word as vocabularies write them.

    WordPiece marks what continues a word with "##", subword-nmt what is continued with "@@", and
    OpenAI's GPT the end of a word with "</w>". "▁" of SentencePiece and "Ġ" of byte-level BPE
    stand for the space before a word; of the latter all letters stand for bytes. Where nothing but
    space would be left, the pieces are returned as they are.
    """
    return _joined(pieces) or "".join(pieces)


def _joined(pieces: Sequence[str]) -> str:
    bare = [piece.removesuffix("</w>") for piece in pieces]
    bare[1:] = [piece.removeprefix("##") for piece in bare[1:]]
    bare[:-1] = [piece.removesuffix("@@") for piece in bare[:-1]]
    return _from_bytes("".join(bare).replace("▁", " ")).strip()


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
