"""Maximum numbers of tokens of a model, as its configuration and its tables have them."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.families import POSITION_TABLES

_LENGTHS = (
    *("max_position_embeddings", "n_positions", "max_encoder_position_embeddings"),
    *("max_seq_len", "max_seq_length", "max_sequence_length", "seq_length", "n_ctx"),
)
_TARGET_LENGTHS = ("max_decoder_position_embeddings",)


class LengthLimits(Struct, frozen=True):
    """Maximum numbers of tokens of a model.

    Attributes:
        source: of the model, or of its encoder; ``None``: unlimited.
        target: of the decoder of an encoder-decoder; ``None``: unlimited.
        trained: maximum length in the configuration, ``None`` without one. A model without a
            table of positions can run on longer texts, but was not trained on them.
    """

    source: int | None = None
    target: int | None = None
    trained: int | None = None

    def of(self, texts: int) -> tuple[int | None, ...]:
        """Return the limit of each text.

        ``texts`` is 1 or 2: one for all parts of the model, or one for the encoder and one for
        the decoder.
        """
        return (self.shared,) if texts == 1 else (self.source, self.target)

    @property
    def shared(self) -> int | None:
        """Maximum length of a text that both encoder and decoder read."""
        limits = [limit for limit in (self.source, self.target) if limit is not None]
        return min(limits, default=None)


FindLimits = Callable[[], LengthLimits]
"""Measures the limits when they are first needed; see ``graph.length_measuring``."""


def stated_limits(config: Mapping[str, Any]) -> LengthLimits:
    """Return the limits in a configuration, for a model with a table of positions."""
    trained = trained_length(config)
    return LengthLimits(trained, trained, trained)


def position_table_length(architecture: Architecture) -> int | None:
    """Return how many tokens a model's table of positions has rows for; ``None`` without one.

    From the shape of the table, without torch; ``graph.length_measuring`` is exact.
    """
    return next(iter(position_table_lengths(architecture)), None)


def position_table_lengths(architecture: Architecture) -> tuple[int, ...]:
    """Return the same for each table: an encoder-decoder may have two."""
    lengths = []
    for node in architecture.modules:
        tensors = architecture.tensors_below(node.path) if node.name in POSITION_TABLES else ()
        for tensor in tensors[:1]:
            offset, padding = (node.attributes.get(key) for key in ("offset", "padding_idx"))
            rows = tensor.shape[0] - (offset if isinstance(offset, int) else 0)
            lengths.append(rows - (padding + 1 if isinstance(padding, int) else 0))
    return tuple(lengths)


def stated_lengths(config: Mapping[str, Any]) -> tuple[int, ...]:
    """Return all maximum lengths in a configuration; the model may not depend on them."""
    return tuple(
        value
        for key in (*_LENGTHS, *_TARGET_LENGTHS)
        if isinstance(value := config.get(key), int) and value > 0
    )


def safe_length(config: Mapping[str, Any]) -> int:
    """Return a number of tokens that any model with this configuration accepts; 0 if unknown.

    It is far below the maximum: tables may have rows for padding, and blocks may be padded.
    """
    padding = config.get("pad_token_id")
    kept = 2 + (padding if isinstance(padding, int) and padding > 0 else 0)
    return max(0, (min(stated_lengths(config), default=0) - kept) // 2)


def trained_length(config: Mapping[str, Any]) -> int | None:
    """Return the maximum length that a model was trained on, by its configuration."""
    return next((config[key] for key in _LENGTHS if isinstance(config.get(key), int)), None)
