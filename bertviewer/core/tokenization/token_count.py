"""How many tokens a sentence has: plain data for the count that is shown while typing."""

from msgspec import Struct


class TokenCount(Struct, frozen=True):
    """The tokens of a sentence against what the model takes.

    Attributes:
        tokens: how many there are, special ones included; where encoder and decoder read a text
            each, those of the longer one.
        limit: how many the model takes, ``None`` if there is no limit.
        unknown: what was written for each unknown token, in order.
        is_longer: whether ``tokens`` are those of the longer of two texts, or of the one that is
            too long.
        trained: without a limit, the length that the configuration names if it names one.
    """

    tokens: int
    limit: int | None
    unknown: tuple[str, ...] = ()
    is_longer: bool = False
    trained: int | None = None

    @property
    def excess(self) -> int:
        """How many tokens are too many."""
        return 0 if self.limit is None else max(0, self.tokens - self.limit)

    @property
    def is_untrained(self) -> bool:
        """Whether the model takes so many tokens without having been trained on them."""
        return self.trained is not None and self.tokens > self.trained
