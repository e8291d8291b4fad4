"""How the tensors of a batch lie: which axis is the sentence and which the token.

A size alone does not tell: a batch of 32 sentences has 32 features, too. So the model is run on two
small batches of other sizes first, and what moves with the number of sentences, or with that of
tokens, is that axis.
"""

from collections.abc import Sequence
from math import prod
from typing import Literal

from msgspec import Struct

Kind = Literal["tokens", "positions", "sentences"]
"""Rows for each token; rows for each place, that all sentences share; rows for each sentence."""

Shape = tuple[int, ...]


class Sizes(Struct, frozen=True):
    """How many sentences and tokens a batch has."""

    sentences: int
    tokens: int


FIRST, SECOND = Sizes(2, 9), Sizes(3, 11)
"""The sizes of the two batches: none of them, nor a product, is another."""


class Layout(Struct, frozen=True, array_like=True):
    """Where the rows of a tensor are.

    Attributes:
        kind: what a row belongs to.
        axes: the order of its axes in which rows come first, and what is in a row last.
        width: how many values a row has.
        sentence_axis: in the order of ``axes``, -1 where there is none.
        token_axis: likewise; of a tensor [B·S, …] both are in the first.
    """

    kind: Kind
    axes: tuple[int, ...]
    width: int
    sentence_axis: int
    token_axis: int

    @property
    def is_plain(self) -> bool:
        """Whether the rows lie in memory one after another as they are."""
        return self.axes == tuple(range(len(self.axes)))

    def fits(self, shape: Shape, sizes: Sizes) -> bool:
        """Whether a tensor of a batch of these sizes lies so."""
        ordered = [shape[axis] for axis in self.axes] if len(shape) == len(self.axes) else []
        if not ordered:
            return False
        wanted = {self.sentence_axis: sizes.sentences, self.token_axis: sizes.tokens}
        if self.sentence_axis == self.token_axis:
            wanted = {0: sizes.sentences * sizes.tokens}
        wanted.pop(-1, None)
        return all(ordered[axis] == size for axis, size in wanted.items())


def layout_of(first: Shape, second: Shape) -> Layout | str:
    """Return how a tensor lies that had these shapes in the two batches, or why it has no rows."""
    if len(first) != len(second):
        return "its shape depends on the sentences"
    meanings = [_meaning(*sizes) for sizes in zip(first, second, strict=True)]
    if "" in meanings:
        return "its shape depends on the sentences"
    tokens, sentences = _places(meanings, "tokens"), _places(meanings, "sentences")
    both = _places(meanings, "both")
    if len(tokens) + len(both) > 1 or len(sentences) + len(both) > 1:
        return "each value belongs to a pair of tokens"
    fixed = _places(meanings, "fixed")
    width = prod(first[axis] for axis in fixed)
    if not width:
        return "it is empty"
    if both:
        return Layout("tokens", (*both, *fixed), width, 0, 0)
    if tokens and sentences:
        return Layout("tokens", (*sentences, *tokens, *fixed), width, 0, 1)
    if tokens:
        return Layout("positions", (*tokens, *fixed), width, -1, 0)
    if sentences and len(fixed) > 1:
        # As Longformer's, whose sentences are made as long as its window.
        return "its values belong to neither a token nor a sentence"
    if sentences:
        return Layout("sentences", (*sentences, *fixed), width, 0, -1)
    return "none of its dimensions is the sentence or the token"


def _meaning(first: int, second: int) -> str:
    """Return what an axis is that has these sizes, "" where that is not known."""
    if first == second:
        return "fixed"
    known = {
        (FIRST.sentences, SECOND.sentences): "sentences",
        (FIRST.tokens, SECOND.tokens): "tokens",
        (FIRST.sentences * FIRST.tokens, SECOND.sentences * SECOND.tokens): "both",
    }
    return known.get((first, second), "")


def _places(meanings: Sequence[str], meaning: str) -> tuple[int, ...]:
    return tuple(place for place, found in enumerate(meanings) if found == meaning)
