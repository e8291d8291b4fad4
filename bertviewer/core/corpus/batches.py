"""Sentences of like length side by side, and which of their rows are tokens, of which class."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.core.corpus.choices import Choices
from bertviewer.core.corpus.layouts import Kind
from bertviewer.core.corpus.sums import Ints, Singles
from bertviewer.core.sources.special_tokens import MASKS, SEPARATORS, STARTS
from bertviewer.core.tokenization.tokens import TokenIds

if TYPE_CHECKING:
    from bertviewer.core.tokenization.tokenizer import Tokenizer

TOKEN_CLASSES = ("content", "cls", "sep", "mask", "special")
"""Each token is of one of these, as ``token_classes`` has them; other special ones are special."""
SENTENCE = "sentence"
"""The class of what a module gives once for a sentence, as a pooler does."""
_CONTENT, _CLS, _SEP, _MASK, _SPECIAL = range(len(TOKEN_CLASSES))


OF_TARGET = "decoder_"
"""What the classes of a decoder's tokens begin with, where an encoder has its own."""


def classes_of(kind: Kind, *, is_target: bool = False) -> tuple[str, ...]:
    """Return the classes that the rows of a tensor are sorted into."""
    if kind == "sentences":
        return (SENTENCE,)
    return tuple(f"{OF_TARGET}{name}" for name in TOKEN_CLASSES) if is_target else TOKEN_CLASSES


class Rows(Struct, frozen=True, eq=False):
    """Which rows of a tensor are of which class, for ``RowSums.add``.

    Attributes:
        places: of the rows, class by class.
        starts: of each class among these, and the end.
    """

    places: Ints
    starts: Ints


class Side(Struct, frozen=True, eq=False):
    """What one stack of a model reads.

    Attributes:
        ids: [B, S].
        tokens: the rows of [B·S, …] that are tokens.
        positions: the same for a tensor [S, …] that all sentences share.
        is_cls: 1 at such tokens, [B, S].
        is_sep: 1 at such tokens.
    """

    ids: Ints
    tokens: Rows
    positions: Rows
    is_cls: Singles
    is_sep: Singles


class Batch(Struct, frozen=True, eq=False):
    """Sentences that are run together; what stands behind a shorter one is padding.

    Attributes:
        source: what the model reads, or its encoder.
        target: what its decoder reads, ``None`` if it has none beside an encoder: as many tokens.
        mask: 1 where there is a token, [B, S].
        segments: [B, S].
        lengths: how many tokens each sentence has.
        sentences: the rows of [B, …], all of one class.
    """

    source: Side
    target: Side | None
    mask: Ints
    segments: Ints
    lengths: Ints
    sentences: Rows

    def side(self, *, is_target: bool) -> Side:
        """Return what the decoder reads, or the only stack or the encoder."""
        return self.target if is_target and self.target is not None else self.source


class ClassNames:
    """Tells the class of a special token by how the vocabulary writes it, each looked up once."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self._tokenizer = tokenizer
        self._known: dict[int, int] = {}

    def of(self, tokens: TokenIds) -> list[int]:
        """Return the place in ``TOKEN_CLASSES`` of each token."""
        pairs = zip(tokens.ids, tokens.are_special, strict=True)
        return [self._special(number) if special else _CONTENT for number, special in pairs]

    def _special(self, number: int) -> int:
        if number not in self._known:
            text = self._tokenizer.text_of(number)
            kinds = ((STARTS, _CLS), (SEPARATORS, _SEP), (MASKS, _MASK))
            self._known[number] = next((kind for names, kind in kinds if text in names), _SPECIAL)
        return self._known[number]


def together(
    sentences: Sequence[TokenIds], choices: Choices, *, equal_lengths: bool = False
) -> Iterator[list[int]]:
    """Yield which sentences are run together: of the shortest, first, and of equal ones in order.

    With ``equal_lengths`` there is no padding.
    """
    order = sorted(range(len(sentences)), key=lambda place: len(sentences[place]))
    chosen: list[int] = []
    for place in order:
        length = len(sentences[place])
        count = len(chosen) + 1
        is_full = count * length > choices.batch_tokens or (
            choices.batch_size is not None and count > choices.batch_size
        )
        is_other = equal_lengths and chosen and len(sentences[chosen[0]]) != length
        if chosen and (is_full or is_other):
            yield chosen
            chosen = []
        chosen.append(place)
    if chosen:
        yield chosen


def batch_of(
    sentences: Sequence[TokenIds],
    names: ClassNames,
    padding: int,
    targets: Sequence[TokenIds] | None = None,
) -> Batch:
    """Return the sentences side by side; ``padding`` is the token behind the shorter ones.

    ``targets`` are what a decoder reads with each of them, as many tokens.
    """
    lengths = np.array([len(sentence) for sentence in sentences], np.int64)
    shape = len(sentences), int(lengths.max())
    segments = np.zeros(shape, np.int64)
    for row, sentence in enumerate(sentences):
        segments[row, : len(sentence)] = sentence.segments
    return Batch(
        _side(sentences, names, padding, shape),
        None if targets is None else _side(targets, names, padding, shape),
        (np.arange(shape[1]) < lengths[:, None]).astype(np.int64),
        segments,
        lengths,
        Rows(np.arange(shape[0], dtype=np.int64), np.array([0, shape[0]], np.int64)),
    )


def _side(
    texts: Sequence[TokenIds], names: ClassNames, padding: int, shape: tuple[int, int]
) -> Side:
    ids, classes = np.full(shape, padding, np.int64), np.full(shape, -1, np.int64)
    for row, text in enumerate(texts):
        ids[row, : len(text)], classes[row, : len(text)] = text.ids, names.of(text)
    flat = classes.reshape(-1)
    # Those of one class stay in order.
    order = np.argsort(flat, kind="stable")
    starts = np.searchsorted(flat[order], np.arange(len(TOKEN_CLASSES) + 1)).astype(np.int64)
    return Side(
        ids,
        Rows(order, starts),
        Rows(order % shape[1], starts),
        _marks(classes, _CLS),
        _marks(classes, _SEP),
    )


def _marks(classes: Ints, kind: int) -> NDArray[np.float32]:
    marks: NDArray[np.float32] = (classes == kind).astype(np.float32)
    return marks
