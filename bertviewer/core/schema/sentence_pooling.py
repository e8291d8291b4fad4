"""How a model turns the vectors of a sentence's tokens into one vector."""

from typing import Literal, get_args

from msgspec import Struct

PoolingMode = Literal["cls", "max", "mean", "mean_sqrt_len", "weightedmean", "lasttoken"]
POOLING_MODES: tuple[PoolingMode, ...] = get_args(PoolingMode)
"""In the order in which sentence-transformers concatenates several."""


class SentencePooling(Struct, frozen=True):
    """The pooling that a folder of sentence-transformers specifies.

    Attributes:
        modes: the vectors that are concatenated: of the first token; the maximum, the mean, the sum
            divided by the square root of the length, the mean weighted by position, counted from 1;
            of the last token.
        is_normalized: whether the result is scaled to length 1.
    """

    modes: tuple[PoolingMode, ...]
    is_normalized: bool = False
