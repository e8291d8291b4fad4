"""A model in a few numbers, as a small picture of its stack shows it: plain data."""

from msgspec import Struct

from bertviewer.core.util.serialization import Document


class StackOutline(Struct, frozen=True):
    """Equal layers one after the other.

    Attributes:
        layers: how many there are, or how often the one that is shared is called.
        stored: how many have parameters of their own.
        attention: the parameters of the first one's attention, projections included.
        feed_forward: those of all else in it.
    """

    layers: int
    stored: int
    attention: int
    feed_forward: int


class Outline(Document, frozen=True):
    """Where a model has its parameters, and how large it is.

    Attributes:
        class_name: the model's class.
        parameters: all of them.
        before: those of what comes before the layers: embeddings.
        after: those of what comes behind them: poolers, heads.
        width: elements of a token's vector between the layers.
        heads: of each attention.
        stacks: one, or those of encoder and decoder.
    """

    class_name: str
    parameters: int
    before: int
    after: int
    width: int
    heads: int
    stacks: tuple[StackOutline, ...]
