"""Effect of padding on a sentence, with and without the attention mask, as plain data."""

from msgspec import Struct

from bertviewer.core.schema.activation_run import Token

MAX_TOKENS = 512
"""Maximum padded length of a model without a limit."""
_ULPS = 100
"""Epsilons by which rounding may change a value: longer rows are summed in another order."""


class PaddedState(Struct, frozen=True):
    """One hidden state of the padded sentence compared with the unpadded one.

    Attributes:
        masked: the largest difference in the sentence's rows with the mask.
        unmasked: the same without the mask.
        rounding: the difference that rounding alone can cause.
        norm: the mean norm of the sentence's rows.
        padded_norm: the mean norm of the padding's rows, with the mask.
    """

    masked: float
    unmasked: float
    rounding: float
    norm: float
    padded_norm: float

    @property
    def is_same(self) -> bool:
        """Whether the rows with the mask equal the unpadded ones, up to rounding."""
        return self.masked <= self.rounding

    @property
    def changes(self) -> bool:
        """Whether the rows without the mask differ."""
        return self.unmasked > self.rounding


class PaddedAttention(Struct, frozen=True):
    """The share of a layer's attention that goes to padding: mean over heads and tokens.

    Attributes:
        masked: with the mask.
        unmasked: without the mask.
    """

    masked: float
    unmasked: float


class Padding(Struct, frozen=True):
    """A sentence that was padded, and run with and without the mask.

    Attributes:
        tokens: all tokens, the padding last.
        count: the number of the sentence's own tokens.
        states: each hidden state.
        attentions: each layer's attention; empty if the model does not return it.
        is_causal: whether no token sees a later one, so that the padding has no effect anyway.
    """

    tokens: tuple[Token, ...]
    count: int
    states: tuple[PaddedState, ...]
    attentions: tuple[PaddedAttention, ...] = ()
    is_causal: bool = False

    @property
    def mask(self) -> tuple[int, ...]:
        """The ``attention_mask``: 1 for a token, 0 for padding."""
        return tuple(int(position < self.count) for position in range(len(self.tokens)))

    @property
    def is_same(self) -> bool:
        """Whether all rows with the mask equal the unpadded ones."""
        return all(state.is_same for state in self.states)


def rounding_of(largest: float, epsilon: float) -> float:
    """Return the largest rounding error of numbers up to a size in a dtype of that epsilon."""
    return _ULPS * epsilon * largest


def usual_length(count: int, limit: int | None) -> int | None:
    """Return the default padded length of ``count`` tokens, ``None`` if there is no room.

    It is the next power of two with room for three more tokens, up to the model's limit.
    """
    most = MAX_TOKENS if limit is None else limit
    length = 1 << (count + 2).bit_length()
    return min(length, most) if count < most else None
