"""How many tokens a sentence has: plain data for the count that is shown while typing."""

from bertviewer.core.frozen import frozen


@frozen
class TokenCount:
    """The tokens of a sentence against what the model takes.

    Attributes:
        tokens: how many there are, special ones included; where encoder and decoder read a text
            each, those of the longer one.
        limit: how many the model takes, ``None`` if there is no limit.
        unknown: what was written for each unknown token, in order.
        is_longer: whether ``tokens`` are those of the longer of two texts.
    """

    tokens: int
    limit: int | None
    unknown: tuple[str, ...]
    is_longer: bool = False

    @property
    def excess(self) -> int:
        """How many tokens are too many."""
        return 0 if self.limit is None else max(0, self.tokens - self.limit)
