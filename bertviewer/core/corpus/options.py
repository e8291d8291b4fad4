"""Options of a run over a corpus."""

from typing import Any

from msgspec import Struct

from bertviewer.core.util.errors import UserError

BATCH_TOKENS = 2048
"""Default number of tokens in a batch, padding included."""
MAX_TOKENS = 4096
"""Default limit of a sentence's tokens: attention is quadratic, and a line may be a book."""
MAX_SHARDS = 10_000


class CorpusOptions(Struct, frozen=True):
    """The options that determine the figures and the shards of a corpus.

    Attributes:
        column: column of the data, ``None`` for the default.
        batch_size: maximum number of sentences in a batch, ``None`` for no limit.
        batch_tokens: maximum number of tokens in a batch, padding included; a longer sentence is
            run alone.
        max_tokens: longer sentences are truncated to this, and to the model's limit; ``None`` for
            ``MAX_TOKENS``.
        limit: maximum number of sentences.
        shards: number of shards, ``None`` to choose it from the data.
        modules: glob pattern of the measured modules' paths, such as "encoder.layer.*".
        random_weights: whether a model without weights is run with random ones.
        device: device without a number: "cpu", "cuda" or "mps".
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
        """Check the bounds of all numbers.

        Raises:
            UserError: a number is out of bounds.
        """
        for name in ("batch_size", "batch_tokens", "max_tokens", "limit", "shards"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"--{name.replace('_', '-')} is {value}; it must be 1 or more")
        if self.shards is not None and self.shards > MAX_SHARDS:
            raise UserError(f"--shards is {self.shards:,}, above the limit of {MAX_SHARDS:,}")

    def to_json(self) -> dict[str, Any]:
        """Return the options by name."""
        return {name: getattr(self, name) for name in self.__struct_fields__}
