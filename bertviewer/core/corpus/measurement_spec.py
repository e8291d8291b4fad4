"""Specification of what is measured of a model: calls, axes of outputs, attentions, states.

The size of an axis does not identify it: a batch of 32 sentences may have 32 features. So the
model is run on two small batches of other sizes (``probe``), and the axis whose size changes with
the number of sentences, or of tokens, is that axis.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bertviewer.core.util.serialization import convert

TOKEN_CLASSES = ("content", "cls", "sep", "mask", "special")
"""Classes of tokens; ``special`` are all other special tokens."""
TARGET_PREFIX = "decoder_"
"""Prefix of the classes of a decoder's tokens in an encoder-decoder."""

Kind = Literal["tokens", "positions", "sentences"]
"""Rows for each token; for each position, shared by all sentences; for each sentence."""

Shape = tuple[int, ...]


class Sizes(Struct, frozen=True):
    """The sizes of a batch: [B, S]."""

    sentences: int
    tokens: int


FIRST, SECOND = Sizes(2, 9), Sizes(3, 11)
"""The sizes of the two batches; all of them, and their products, are distinct."""


class Layout(Struct, frozen=True, array_like=True):
    """Axes of an output tensor.

    Attributes:
        kind: what a row belongs to.
        axes: order of the axes in which those of rows are first and those within a row last.
        width: values of a row.
        sentence_axis: index in ``axes``, -1 without such an axis.
        token_axis: likewise; both are 0 for a tensor [B·S, …].
    """

    kind: Kind
    axes: tuple[int, ...]
    width: int
    sentence_axis: int
    token_axis: int

    @property
    def is_plain(self) -> bool:
        """Whether the axes are already in that order."""
        return self.axes == tuple(range(len(self.axes)))

    def fits(self, shape: Shape, sizes: Sizes) -> bool:
        """Whether a tensor of a batch of these sizes can have this layout."""
        ordered = [shape[axis] for axis in self.axes] if len(shape) == len(self.axes) else []
        if not ordered:
            return False
        expected = {self.sentence_axis: sizes.sentences, self.token_axis: sizes.tokens}
        if self.sentence_axis == self.token_axis:
            expected = {0: sizes.sentences * sizes.tokens}
        expected.pop(-1, None)
        return all(ordered[axis] == size for axis, size in expected.items())


def layout_of(first: Shape, second: Shape) -> Layout | str:
    """Return the layout of an output with these shapes in both batches, or why it has no rows."""
    sizes = {
        (FIRST.sentences, SECOND.sentences): "sentences",
        (FIRST.tokens, SECOND.tokens): "tokens",
        (FIRST.sentences * FIRST.tokens, SECOND.sentences * SECOND.tokens): "both",
    }
    pairs = [*zip(first, second, strict=False)]
    meanings = ["fixed" if one == other else sizes.get((one, other), "") for one, other in pairs]
    if len(first) != len(second) or "" in meanings:
        return "its shape depends on the sentences"
    tokens, sentences = _axes(meanings, "tokens"), _axes(meanings, "sentences")
    both, fixed = _axes(meanings, "both"), _axes(meanings, "fixed")
    if len(tokens) + len(both) > 1 or len(sentences) + len(both) > 1:
        return "each value belongs to a pair of tokens"
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
        # Longformer pads sentences to its window.
        return "its values belong to neither a token nor a sentence"
    if sentences:
        return Layout("sentences", (*sentences, *fixed), width, 0, -1)
    return "none of its dimensions is the sentence or the token"


def _axes(meanings: Sequence[str], meaning: str) -> tuple[int, ...]:
    return tuple(axis for axis, found in enumerate(meanings) if found == meaning)


class Call(Struct, frozen=True, array_like=True):
    """A call of a module whose output is measured.

    Attributes:
        path: path of the module.
        number: number of the call in a forward pass.
        layout: axes of its output.
        is_target: whether its tokens are those of the decoder in an encoder-decoder.
    """

    path: str
    number: int
    layout: Layout
    is_target: bool = False

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of its rows."""
        if self.layout.kind == "sentences":
            return ("sentence",)
        prefix = TARGET_PREFIX if self.is_target else ""
        return tuple(f"{prefix}{name}" for name in TOKEN_CLASSES)


class Attention(Struct, frozen=True, array_like=True):
    """A call of an attention whose weights are measured.

    Attributes:
        path: path of the module.
        number: number of the call.
        place: index of the attention weights among the tensors of its output.
        heads: number of heads.
        is_target: whether the queries are the decoder's in an encoder-decoder.
        is_cross: whether the keys are the encoder's.
        axes: axes of the weights in the order sentences, heads, queries, keys.
        is_requested: whether it returns weights only with ``output_attentions=True``.
    """

    path: str
    number: int
    place: int
    heads: int
    is_target: bool = False
    is_cross: bool = False
    axes: tuple[int, ...] = (0, 1, 2, 3)
    is_requested: bool = False


class SeenCall(Struct, frozen=True, array_like=True):
    """A call of a module, measured or not.

    Attributes:
        path: path of the module.
        class_name: class of the module.
        number: number of the call.
        measured: index in the measured calls, which several calls share if they return the same
            tensor; ``None`` if it is not measured.
        left_out: why it is not measured.
    """

    path: str
    class_name: str
    number: int
    measured: int | None
    left_out: str = ""


class MeasurementSpec(Struct, frozen=True):
    """The calls, attentions and hidden states of a model that are measured.

    Attributes:
        calls: calls with distinct output tensors.
        seen: all calls of all modules, in the order of the architecture.
        attentions: attentions whose heads are measured.
        stacks: number of hidden states of the model, or of its encoder and of its decoder.
        width: features of a hidden state.
        state_calls: for each hidden state the index in ``calls`` of its module, or ``None``.
        hides_padding: whether padding changes no token; otherwise a batch has sentences of equal
            length only.
        is_eager: whether the model is run with eager attention, which returns its weights.
        no_heads: attentions whose heads are not measured: path, class and reason.
    """

    calls: tuple[Call, ...]
    seen: tuple[SeenCall, ...]
    attentions: tuple[Attention, ...]
    stacks: tuple[int, ...]
    width: int
    state_calls: tuple[int | None, ...]
    hides_padding: bool
    is_eager: bool = True
    no_heads: tuple[tuple[str, str, str], ...] = ()

    @property
    def states(self) -> int:
        """The number of hidden states."""
        return sum(self.stacks)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON, with calls and attentions as lists of their values."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "MeasurementSpec":
        """Read ``to_json``.

        Raises:
            ValueError: it is invalid.
        """
        return convert(data, MeasurementSpec)
