"""What padding a sentence does to it, with the mask and without: plain data."""

from msgspec import Struct

from bertviewer.core.schema.activation_run import Token

MOST_TOKENS = 512
"""So long a sentence is padded at the most, where the model has no limit of its own."""
_ROUNDING = 100
"""So many units of the last place are rounding: the order of sums is another in a longer row."""


class PaddedState(Struct, frozen=True):
    """One hidden state of a padded sentence, beside the one of the sentence alone.

    Attributes:
        masked: the largest difference in the sentence's own rows, with the mask.
        unmasked: the same, without it.
        rounding: what rounding alone may do to numbers of this size.
        norm: the mean norm of the sentence's own rows.
        padded_norm: the mean norm of the padded rows, with the mask.
    """

    masked: float
    unmasked: float
    rounding: float
    norm: float
    padded_norm: float

    @property
    def is_same(self) -> bool:
        """Whether the mask leaves the sentence's rows as they are alone, up to rounding."""
        return self.masked <= self.rounding

    @property
    def changes(self) -> bool:
        """Whether they are others without the mask."""
        return self.unmasked > self.rounding


class PaddedAttention(Struct, frozen=True):
    """What part of the sentence's attention goes to padding in a layer: mean over heads and tokens.

    Attributes:
        masked: with the mask.
        unmasked: without it.
    """

    masked: float
    unmasked: float


class Padding(Struct, frozen=True):
    """A sentence that was padded, and run with the mask and without.

    Attributes:
        tokens: all tokens, those of the padding last.
        count: how many are the sentence's own.
        states: each hidden state.
        attentions: each layer's attention; empty where the model does not show it.
        is_causal: whether no token sees a later one, and so none the padding, mask or not.
    """

    tokens: tuple[Token, ...]
    count: int
    states: tuple[PaddedState, ...]
    attentions: tuple[PaddedAttention, ...] = ()
    is_causal: bool = False

    @property
    def mask(self) -> tuple[int, ...]:
        """What the model is given as ``attention_mask``: 1 for a token, 0 for padding."""
        return tuple(int(place < self.count) for place in range(len(self.tokens)))

    @property
    def is_same(self) -> bool:
        """Whether the mask leaves all of the sentence's rows as they are alone."""
        return all(state.is_same for state in self.states)


def rounding_of(largest: float, epsilon: float) -> float:
    """Return what rounding may do to numbers up to a size, in a dtype of that epsilon."""
    return _ROUNDING * epsilon * largest


def usual_length(count: int, limit: int | None) -> int | None:
    """Return to how many tokens so many are padded unless somebody says; ``None`` for no room.

    It is the next power of two that leaves room for three, as far as the model goes.
    """
    most = MOST_TOKENS if limit is None else limit
    length = 1 << (count + 2).bit_length()
    return min(length, most) if count < most else None
