"""Small batches of ordinary tokens, with which ``probe`` runs a model."""

import numpy as np
from msgspec.structs import replace

from bertviewer.core.corpus.batches import BatchIds
from bertviewer.core.corpus.measurement_spec import SECOND, Sizes
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.statistics.accumulators import Ints
from bertviewer.core.tokenization.tokenization import reads_target

_RESERVED = (
    *("pad_token_id", "bos_token_id", "eos_token_id", "sep_token_id", "cls_token_id"),
    "decoder_start_token_id",
)
_VOCABULARY_SIZES = ("vocab_size", "src_vocab_size", "tgt_vocab_size")
_CHARACTERS = 128
"""Number of ids used for a model without a vocabulary, such as CANINE."""
ALONE = 1
"""Index of the sentence that is also run alone."""
LENGTHS = (SECOND.tokens, SECOND.tokens - 3, 2)
"""Tokens of the sentences in a padded batch."""


class ProbeInputs:
    """Inputs of the probe: ids of ordinary tokens."""

    def __init__(self, architecture: Architecture) -> None:
        config = architecture.config
        self.has_target = reads_target(architecture)
        ids = [n for key in _RESERVED if isinstance(n := config.get(key), int)]
        sizes = [n for key in _VOCABULARY_SIZES if isinstance(n := config.get(key), int)]
        rows = np.arange(min(sizes, default=_CHARACTERS), dtype=np.int64)
        words = rows[~np.isin(rows, ids)]
        self._words = words if len(words) else rows
        end = config.get("eos_token_id")
        # A classifier on a decoder looks for the end of the text.
        self._end = end if self.has_target and isinstance(end, int) and end in rows else None

    def full(self, sizes: Sizes, shift: int = 0) -> BatchIds:
        """Return sentences without padding; a ``shift`` changes the decoder's tokens only."""
        shape = sizes.sentences, sizes.tokens
        return self._texts(self._ids(shape, 7, 3), np.ones(shape, np.int64), shift)

    def padded(self) -> BatchIds:
        """Return sentences of different lengths."""
        shape = SECOND.sentences, SECOND.tokens
        mask = (np.arange(shape[1]) < np.array(LENGTHS)[:, None]).astype(np.int64)
        return self._texts(self._ids(shape, 5, 1), mask)

    def with_other_padding(self, texts: BatchIds) -> BatchIds:
        """Return the same sentences with other ids in the padding."""
        other, is_token = self._ids(texts.mask.shape, 3, 0), texts.mask == 1
        target = None if texts.target is None else np.where(is_token, texts.target, other)
        source = np.where(is_token, texts.source, other)
        return replace(texts, source=source, target=target)

    def _texts(self, ids: Ints, mask: Ints, shift: int = 0) -> BatchIds:
        target = np.roll(ids, 1 + shift, axis=1) if self.has_target else None
        if self._end is not None:
            ids[np.arange(len(ids)), mask.sum(axis=1) - 1] = self._end
        return BatchIds(ids, mask, np.zeros_like(ids), target)

    def _ids(self, shape: tuple[int, int], step: int, start: int) -> Ints:
        places = np.arange(shape[0] * shape[1]).reshape(shape)
        ids: Ints = self._words[(places * step + start) % len(self._words)]
        return ids


def alone(texts: BatchIds) -> BatchIds:
    """Return the sentence of ``ALONE`` without padding."""
    one = np.s_[ALONE : ALONE + 1, : LENGTHS[ALONE]]
    target = None if texts.target is None else texts.target[one]
    return BatchIds(texts.source[one], texts.mask[one], texts.segments[one], target)
