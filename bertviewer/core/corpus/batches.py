"""Batches of sentences of similar length: ids, padding, token classes, and the model's inputs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from msgspec import Struct
from torch import nn

from bertviewer.core.corpus.measurement_spec import TOKEN_CLASSES
from bertviewer.core.corpus.options import MAX_TOKENS, CorpusOptions
from bertviewer.core.graph.length_measuring import length_limits
from bertviewer.core.runs.inputs import model_inputs, text_inputs
from bertviewer.core.sources.families import END_TOKENS, MASK_TOKENS, START_TOKENS
from bertviewer.core.statistics.accumulators import Ints, Singles
from bertviewer.core.tokenization.tokens import TokenIds

if TYPE_CHECKING:
    from bertviewer.core.tokenization.tokenizer import Tokenizer

_CONTENT, _CLS, _SEP, _MASK, _SPECIAL = range(len(TOKEN_CLASSES))
_PADDING = ("pad_token_id", "eos_token_id")


class BatchIds(Struct, frozen=True, eq=False):
    """Token ids of a batch, [B, S] each.

    Attributes:
        source: ids of the model's, or its encoder's, tokens.
        mask: 1 for tokens, 0 for padding; of both stacks.
        segments: segment ids of the source.
        target: ids of the decoder's tokens in an encoder-decoder, otherwise ``None``.
    """

    source: Ints
    mask: Ints
    segments: Ints
    target: Ints | None = None


class RowsByClass(Struct, frozen=True, eq=False):
    """Row indices of a tensor, grouped by token class, for ``FeatureSums.add``.

    Attributes:
        indices: positions of the rows, sorted by class.
        starts: start of each class in ``indices``, and its length.
    """

    indices: Ints
    starts: Ints


class StackTokens(Struct, frozen=True, eq=False):
    """The tokens of one stack.

    Attributes:
        ids: [B, S].
        tokens: rows of a tensor [B·S, …] that are tokens.
        positions: the same rows of a tensor [S, …] that all sentences share.
        is_cls: 1 at tokens of the class "cls", else 0, [B, S].
        is_sep: the same for the class "sep".
    """

    ids: Ints
    tokens: RowsByClass
    positions: RowsByClass
    is_cls: Singles
    is_sep: Singles


class Batch(Struct, frozen=True, eq=False):
    """Sentences that are run together, padded at their ends.

    Attributes:
        source: tokens of the model, or of its encoder.
        target: tokens of the decoder in an encoder-decoder, of the same lengths.
        mask: 1 for tokens, [B, S].
        segments: segment ids, [B, S].
        lengths: number of tokens of each sentence, [B].
        sentences: rows of a tensor [B, …].
    """

    source: StackTokens
    target: StackTokens | None
    mask: Ints
    segments: Ints
    lengths: Ints
    sentences: RowsByClass

    def tokens_of(self, *, is_target: bool) -> StackTokens:
        """Return the decoder's tokens, or those of the encoder or of the only stack."""
        return self.target if is_target and self.target is not None else self.source

    @property
    def ids(self) -> BatchIds:
        """The arrays that the model gets."""
        target = None if self.target is None else self.target.ids
        return BatchIds(self.source.ids, self.mask, self.segments, target)


class TokenClassifier:
    """Classifies tokens; special ones by their text in the vocabulary, memoized."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self._tokenizer = tokenizer
        self._special: dict[int, int] = {}

    def classes_of(self, tokens: TokenIds) -> list[int]:
        """Return the index in ``TOKEN_CLASSES`` of each token."""
        pairs = zip(tokens.ids, tokens.are_special, strict=True)
        return [self._class_of(token) if special else _CONTENT for token, special in pairs]

    def _class_of(self, token: int) -> int:
        if token not in self._special:
            text = self._tokenizer.text_of(token)
            kinds = ((START_TOKENS, _CLS), (END_TOKENS, _SEP), (MASK_TOKENS, _MASK))
            self._special[token] = next((kind for names, kind in kinds if text in names), _SPECIAL)
        return self._special[token]


def batched(
    sentences: Sequence[TokenIds], options: CorpusOptions, *, equal_lengths: bool = False
) -> Iterator[list[int]]:
    """Yield the indices of the sentences of each batch, shortest sentences first.

    With ``equal_lengths`` a batch has no padding.
    """
    order = sorted(range(len(sentences)), key=lambda place: len(sentences[place]))
    chosen: list[int] = []
    for place in order:
        length = len(sentences[place])
        count = len(chosen) + 1
        is_full = count * length > options.batch_tokens or (
            options.batch_size is not None and count > options.batch_size
        )
        is_other = equal_lengths and chosen and len(sentences[chosen[0]]) != length
        if chosen and (is_full or is_other):
            yield chosen
            chosen = []
        chosen.append(place)
    if chosen:
        yield chosen


def batch_of(
    sentences: Sequence[TokenIds],
    classifier: TokenClassifier,
    padding: int,
    targets: Sequence[TokenIds] | None = None,
) -> Batch:
    """Return a batch of sentences, padded with the token ``padding``.

    ``targets`` are the decoder's tokens of each sentence, of the same lengths.
    """
    lengths = np.array([len(sentence) for sentence in sentences], np.int64)
    shape = len(sentences), int(lengths.max())
    segments = np.zeros(shape, np.int64)
    for row, sentence in enumerate(sentences):
        segments[row, : len(sentence)] = sentence.segments
    return Batch(
        _stack(sentences, classifier, padding, shape),
        None if targets is None else _stack(targets, classifier, padding, shape),
        (np.arange(shape[1]) < lengths[:, None]).astype(np.int64),
        segments,
        lengths,
        RowsByClass(np.arange(shape[0], dtype=np.int64), np.array([0, shape[0]], np.int64)),
    )


def _stack(
    texts: Sequence[TokenIds], classifier: TokenClassifier, padding: int, shape: tuple[int, int]
) -> StackTokens:
    ids, classes = np.full(shape, padding, np.int64), np.full(shape, -1, np.int64)
    for row, text in enumerate(texts):
        ids[row, : len(text)], classes[row, : len(text)] = text.ids, classifier.classes_of(text)
    flat = classes.reshape(-1)
    order = np.argsort(flat, kind="stable")
    starts = np.searchsorted(flat[order], np.arange(len(TOKEN_CLASSES) + 1)).astype(np.int64)
    is_cls, is_sep = ((classes == kind).astype(np.float32) for kind in (_CLS, _SEP))
    return StackTokens(
        ids, RowsByClass(order, starts), RowsByClass(order % shape[1], starts), is_cls, is_sep
    )


def run_batch(
    module: nn.Module, texts: BatchIds, config: Mapping[str, Any], *, with_states: bool
) -> Any:
    """Return the model's output, ``with_states`` including all hidden states."""
    device = next(module.parameters()).device
    ids, mask, segments = (
        torch.from_numpy(array).to(device) for array in (texts.source, texts.mask, texts.segments)
    )
    if texts.target is None:
        inputs = text_inputs(module, ids, mask, segments, config)
    else:
        given = {"input_ids": ids, "attention_mask": mask, "decoder_attention_mask": mask}
        target = torch.from_numpy(texts.target).to(device)
        inputs = model_inputs(module, {**given, "decoder_input_ids": target})
    return module(**{**inputs, "output_hidden_states": with_states})


def token_limit(config: Mapping[str, Any], max_tokens: int | None) -> int:
    """Return the length to which sentences are truncated."""
    limits = length_limits(config)
    if max_tokens is None:
        # By default no text is longer than those in training.
        max_tokens = min(MAX_TOKENS, limits.trained or MAX_TOKENS)
    return max_tokens if limits.shared is None else min(limits.shared, max_tokens)


def padding_of(config: Mapping[str, Any]) -> int:
    """Return the id of the padding token, one that the embedding has."""
    rows = config.get("vocab_size")
    for key in _PADDING:
        number = config.get(key)
        if isinstance(number, int) and number >= 0 and (not isinstance(rows, int) or number < rows):
            return number
    return 0
