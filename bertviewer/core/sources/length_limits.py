"""How many tokens a model takes: plain data."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.family_names import POSITION_TABLES

_LENGTHS = (
    *("max_position_embeddings", "n_positions", "max_encoder_position_embeddings"),
    *("max_seq_len", "max_seq_length", "max_sequence_length", "seq_length", "n_ctx"),
)
_TARGET_LENGTHS = ("max_decoder_position_embeddings",)


class LengthLimits(Struct, frozen=True):
    """The longest texts that a model can be run on.

    Attributes:
        source: tokens that the model takes, or its encoder; ``None`` for any number.
        target: tokens that the decoder of an encoder-decoder takes; ``None`` for any number.
        trained: the length that the configuration names, ``None`` if it names none. A model
            without a table of positions runs on longer texts, but was not trained on them.
    """

    source: int | None = None
    target: int | None = None
    trained: int | None = None

    def of(self, texts: int) -> tuple[int | None, ...]:
        """Return the limits of the texts that are read, each by a part of the model.

        ``texts`` is 1 or 2: one that all parts read, or one for the encoder and one for the
        decoder.
        """
        return (self.shared,) if texts == 1 else (self.source, self.target)

    @property
    def shared(self) -> int | None:
        """Tokens of a text that encoder and decoder read both."""
        limits = [limit for limit in (self.source, self.target) if limit is not None]
        return min(limits, default=None)


FindLimits = Callable[[], LengthLimits]
"""Finds out how many tokens a model takes when that is first needed; see ``measuring``."""


def stated_limits(config: Mapping[str, Any]) -> LengthLimits:
    """Return the limits of a model that has a table for what its configuration names."""
    trained = trained_length(config)
    return LengthLimits(trained, trained, trained)


def table_room(architecture: Architecture) -> int | None:
    """Return how many tokens get a row of a model's table of positions; ``None`` without one.

    It is read off the table's shape, without torch; ``measuring`` is exact.
    """
    tables = (node for node in architecture.modules if node.name in POSITION_TABLES)
    for node in tables:
        for tensor in architecture.tensors_below(node.path):
            offset, padding = (node.attributes.get(key) for key in ("offset", "padding_idx"))
            rows = tensor.shape[0] - (offset if isinstance(offset, int) else 0)
            return rows - (padding + 1 if isinstance(padding, int) else 0)
    return None


def stated_lengths(config: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the lengths that a configuration names, which the built model may or may not have."""
    return tuple(
        value
        for key in (*_LENGTHS, *_TARGET_LENGTHS)
        if isinstance(value := config.get(key), int) and value > 0
    )


def certain_length(config: Mapping[str, Any]) -> int:
    """Return a number of tokens that every model with these lengths takes; 0 if it names none.

    It is far below the lengths: tables may keep rows for padding, and blocks may be filled up.
    """
    padding = config.get("pad_token_id")
    kept = 2 + (padding if isinstance(padding, int) and padding > 0 else 0)
    return max(0, (min(stated_lengths(config), default=0) - kept) // 2)


def trained_length(config: Mapping[str, Any]) -> int | None:
    """Return how many tokens a model was trained on at most, as its configuration has it."""
    return next((config[key] for key in _LENGTHS if isinstance(config.get(key), int)), None)
