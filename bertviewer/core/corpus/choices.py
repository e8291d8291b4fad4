"""What can be chosen of a run over a corpus."""

from typing import Any

from msgspec import Struct

from bertviewer.core.util.errors import UserError

BATCH_TOKENS = 2048
"""So many tokens, padding included, are run together where nothing else is asked for."""
MOST_TOKENS = 4096
"""So many tokens of a sentence where nothing else is asked for: attention shows its shares of every
two, and a line of a text may be a book."""
MOST_SHARDS = 10_000


class Choices(Struct, frozen=True):
    """What figures and shards hang on.

    Attributes:
        column: of the data, ``None`` for the usual one.
        batch_size: so many sentences at most are run together, ``None`` for no such limit.
        batch_tokens: so many tokens at most, padding included; a longer sentence is run alone.
        max_tokens: longer sentences are cut to so many, and to what the model takes; ``None`` for
            ``MOST_TOKENS``.
        limit: so many sentences of the data at most.
        shards: how many; ``None`` for as many as the data suggest.
        modules: a pattern of the paths that are measured, as "encoder.layer.*".
        random_weights: whether a model without weights is run.
        device: what it is run on: "cpu", "cuda" or "mps", without a number.
    """

    column: str | None = None
    batch_size: int | None = None
    batch_tokens: int = BATCH_TOKENS
    max_tokens: int | None = None
    limit: int | None = None
    shards: int | None = None
    modules: str = "*"
    random_weights: bool = False
    device: str = "cpu"

    def check(self) -> None:
        """Return if all numbers are in bounds.

        Raises:
            UserError: one is not.
        """
        for name in ("batch_size", "batch_tokens", "max_tokens", "limit", "shards"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"--{name.replace('_', '-')} is {value}; it must be 1 or more")
        if self.shards is not None and self.shards > MOST_SHARDS:
            raise UserError(f"--shards is {self.shards:,}, above the limit of {MOST_SHARDS:,}")

    def to_json(self) -> dict[str, Any]:
        """Return the choices by name."""
        return {name: getattr(self, name) for name in self.__struct_fields__}
