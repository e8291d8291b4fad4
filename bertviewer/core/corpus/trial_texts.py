"""The texts that a model is tried with: ids in a few small batches."""

import numpy as np
from msgspec.structs import replace

from bertviewer.core.corpus.layouts import SECOND, Sizes
from bertviewer.core.corpus.sums import Ints
from bertviewer.core.corpus.texts import Texts
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.tokenization.tokenization import reads_target

_RESERVED = (
    *("pad_token_id", "bos_token_id", "eos_token_id", "sep_token_id", "cls_token_id"),
    "decoder_start_token_id",
)
_ROWS = ("vocab_size", "src_vocab_size", "tgt_vocab_size")
_LETTERS = 128
"""What a model without a vocabulary reads, as CANINE."""
ALONE = 1
"""The sentence that is run by itself, too."""
LENGTHS = (SECOND.tokens, SECOND.tokens - 3, 2)


class TextMaker:
    """Makes texts of ids of which a tokenizer makes no use of its own."""

    def __init__(self, architecture: Architecture) -> None:
        config = architecture.config
        self.has_target = reads_target(architecture)
        ids = [n for key in _RESERVED if isinstance(n := config.get(key), int)]
        sizes = [n for key in _ROWS if isinstance(n := config.get(key), int)]
        rows = np.arange(min(sizes, default=_LETTERS), dtype=np.int64)
        words = rows[~np.isin(rows, ids)]
        self._words = words if len(words) else rows
        end = config.get("eos_token_id")
        # A classifier beside a decoder looks for the end of the text.
        self._end = end if self.has_target and isinstance(end, int) and end in rows else None

    def full(self, sizes: Sizes, shift: int = 0) -> Texts:
        """Return sentences without padding; with a ``shift`` the decoder reads others."""
        shape = sizes.sentences, sizes.tokens
        return self._texts(self._some(shape, 7, 3), np.ones(shape, np.int64), shift)

    def padded(self) -> Texts:
        """Return sentences of several lengths."""
        shape = SECOND.sentences, SECOND.tokens
        mask = (np.arange(shape[1]) < np.array(LENGTHS)[:, None]).astype(np.int64)
        return self._texts(self._some(shape, 5, 1), mask)

    def repadded(self, texts: Texts) -> Texts:
        """Return the same with other words in the padding."""
        other, is_token = self._some(texts.mask.shape, 3, 0), texts.mask == 1
        target = None if texts.target is None else np.where(is_token, texts.target, other)
        source = np.where(is_token, texts.source, other)
        return replace(texts, source=source, target=target)

    def _texts(self, ids: Ints, mask: Ints, shift: int = 0) -> Texts:
        target = np.roll(ids, 1 + shift, axis=1) if self.has_target else None
        if self._end is not None:
            ids[np.arange(len(ids)), mask.sum(axis=1) - 1] = self._end
        return Texts(ids, mask, np.zeros_like(ids), target)

    def _some(self, shape: tuple[int, int], step: int, start: int) -> Ints:
        places = np.arange(shape[0] * shape[1]).reshape(shape)
        ids: Ints = self._words[(places * step + start) % len(self._words)]
        return ids


def alone(texts: Texts) -> Texts:
    """Return the sentence of ``ALONE`` by itself, without padding."""
    sides = (texts.source, texts.mask, texts.segments, texts.target)
    one = np.s_[ALONE : ALONE + 1, : LENGTHS[ALONE]]
    source, mask, segments, target = (None if side is None else side[one] for side in sides)
    assert source is not None
    assert mask is not None
    assert segments is not None
    return Texts(source, mask, segments, target)
