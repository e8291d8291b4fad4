"""Text to tokens: which tokenizer a model has, how many it takes, and what a decoder reads."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

from msgspec.structs import replace

from bertviewer.core.schema.activation_run import Sentence, Token, TokenizerKind
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.configuration import segment_kinds
from bertviewer.core.sources.demo import demo_folder
from bertviewer.core.sources.length_limits import (
    FindLimits,
    certain_length,
    stated_limits,
    trained_length,
)
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.special_tokens import DECODER_STARTS, LAST_TOKEN_FIRST
from bertviewer.core.tokenization.files import has_tokenizer, lacks_tokenizer, shares_vocabulary
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.core.tokenization.placeholder import StandInTokenizer
from bertviewer.core.tokenization.sentence import check_text
from bertviewer.core.tokenization.token_count import TokenCount
from bertviewer.core.tokenization.token_ids import Read, TokenIds
from bertviewer.core.util.errors import TooLongError, UserError
from bertviewer.core.util.memory import check_attention_memory
from bertviewer.core.util.progress import Progress, no_progress

_PARTS = ("encoder", "decoder")


def shifted(
    source: Sequence[Token], config: Mapping[str, Any], text_of: Callable[[int], str]
) -> tuple[Token, ...]:
    """Return the decoder's tokens for the encoder's: each one place later, the last one left out.

    It is what transformers' models make of ``input_ids`` where they get no ``decoder_input_ids``
    (``shift_tokens_right`` of BART and its kin, ``_shift_right`` of T5). The tokens are of segment
    1, and their words are words of their own. ``text_of`` writes the first one out.

    Raises:
        UserError: the configuration does not say what a decoder begins with.
    """
    if not source:
        return ()
    words = 1 + max((token.word for token in source if token.word is not None), default=-1)
    return (
        _first(source, config, text_of),
        *(
            replace(token, segment=1, word=None if token.word is None else token.word + words)
            for token in source[:-1]
        ),
    )


def shifted_ids(source: TokenIds, config: Mapping[str, Any]) -> TokenIds:
    """Return the same of a text of which no more than its tokens' ids are known.

    Raises:
        UserError: likewise.
    """
    last = _last_token_first(source.ids, config)
    first = _start(config) if last is None else source.ids[last]
    return TokenIds(
        (first, *source.ids[:-1]),
        (1,) * len(source),
        (last is None or source.are_special[last], *source.are_special[:-1]),
        (True, *source.are_added[:-1]),
    )


def _first(
    source: Sequence[Token], config: Mapping[str, Any], text_of: Callable[[int], str]
) -> Token:
    last = _last_token_first([token.id for token in source], config)
    if last is not None:
        return replace(source[last], segment=1, word=None, sentence=None)
    start = _start(config)
    return Token(start, text_of(start), 1, is_special=True)


def _last_token_first(ids: Sequence[int], config: Mapping[str, Any]) -> int | None:
    """Return the place of the token that a decoder begins with, if that is one of the encoder's."""
    if config.get("model_type") not in LAST_TOKEN_FIRST:
        return None
    # They find the last token by counting those that are no padding.
    return sum(number != config.get("pad_token_id") for number in ids) - 1


def _start(config: Mapping[str, Any]) -> int:
    start = next((n for key in DECODER_STARTS if isinstance(n := config.get(key), int)), None)
    if start is None:
        raise UserError(
            "the configuration has no decoder_start_token_id, so the decoder has no start token"
        )
    return start


class Tokenizer(Protocol):
    """Turns a sentence into tokens; ``kind`` says whether they are the model's own."""

    kind: TokenizerKind

    def tokenize(self, sentence: Sentence, progress: Progress = no_progress) -> tuple[Token, ...]:
        """Return the tokens, special ones included, cut to the limit if the sentence asks for it.

        Raises:
            UserError: the text cannot be read, or the limit leaves no room for it.
            Cancelled: by ``progress``.
        """

    def ids_of(self, texts: Sequence[str], progress: Progress = no_progress) -> list[Read]:
        """Return the tokens of each text alone, or why it cannot be read.

        Raises:
            Cancelled: by ``progress``.
        """

    def text_of(self, number: int) -> str:
        """Return the token of that id as the vocabulary writes it, "#id" if it has none."""

    @property
    def keeps_end(self) -> bool:
        """Whether a text that is cut loses its beginning: ``truncation_side`` is "left"."""


def find_tokenizer(
    source: ModelSource,
    config: Mapping[str, Any],
    progress: Progress = no_progress,
    limits: FindLimits | None = None,
) -> Tokenizer:
    """Return a tokenizer for a model, or a stand-in for a configuration without vocabulary.

    Each call gives one of its own: only one thread may use it. Of an encoder-decoder without a
    head a second sentence is for the decoder; under a head the encoder reads both, as it was
    trained. ``limits`` finds the lengths that texts are cut to; without it they are those that the
    configuration names.

    Raises:
        UserError: the folder has weights and no tokenizer, or a broken one, or there is no
            vocabulary.
        Cancelled: by ``progress``.
    """
    folder = source.folder
    apart = source.task.name == "base" and bool(config.get("is_encoder_decoder"))
    if has_tokenizer(source):
        return ModelTokenizer(folder, config, progress, limits, reads_apart=apart)
    if lacks_tokenizer(source):
        place = "hub's cache" if source.kind == "hub" else "folder"
        raise UserError(f"{source.name}: the {place} has no tokenizer, so no sentence can be run")
    if not isinstance(config.get("vocab_size"), int):
        raise UserError(
            f"{source.name}: vocab_size is not in the configuration, so no placeholder tokenizer "
            "can be made and no sentence can be run"
        )
    if shares_vocabulary(source):
        try:
            return ModelTokenizer(demo_folder(), config, progress, limits)
        except UserError:
            return StandInTokenizer(config, limits)
    return StandInTokenizer(config, limits, reads_apart=apart)


def reads_text(architecture: Architecture) -> bool:
    """Tell whether the model takes token ids: those of pictures and of speech do not."""
    return _takes("input_ids", architecture)


def with_decoder(
    tokenizer: Tokenizer, tokens: Sequence[Token], architecture: Architecture
) -> tuple[Token, ...]:
    """Return the tokens that a model sees: where it has a decoder, what that one reads as well.

    Raises:
        UserError: the configuration does not say what a decoder begins with.
    """
    if not reads_target(architecture) or any(token.segment == 1 for token in tokens):
        return tuple(tokens)
    return (*tokens, *shifted(tokens, architecture.config, tokenizer.text_of))


def reads_target(architecture: Architecture) -> bool:
    """Tell whether a decoder reads something beside what an encoder reads."""
    has_both = bool(architecture.config.get("is_encoder_decoder"))
    # A classifier of T5's tokens is of the encoder alone.
    return has_both and _takes("decoder_input_ids", architecture)


def _takes(name: str, architecture: Architecture) -> bool:
    """Tell whether the model's forward has an argument of that name; if unknown, it has."""
    root = architecture.root
    # A model that was seen before is opened without its class.
    is_known = root.class_module.startswith(("transformers.models.", "bertviewer.core."))
    module = import_module(root.class_module) if is_known else None
    kind = getattr(module, root.class_name, None)
    forward = getattr(kind, "forward", None)
    return forward is None or name in inspect.signature(forward).parameters


def count_tokens(
    tokenizer: Tokenizer,
    sentence: Sentence,
    config: Mapping[str, Any],
    progress: Progress = no_progress,
    limits: FindLimits | None = None,
) -> TokenCount:
    """Return how many tokens a sentence has, and what the vocabulary lacks of it.

    Raises:
        UserError: the text is bad.
        Cancelled: by ``progress``.
    """
    check_text(sentence)
    tokens = tokenizer.tokenize(sentence, progress)
    readings = _readings(tokens, config)
    found = limits() if limits else stated_limits(config)
    counts = [
        TokenCount(
            len(reading),
            limit,
            is_longer=len(readings) > 1,
            trained=found.trained if limit is None else None,
        )
        for reading, limit in zip(readings, found.of(len(readings)), strict=True)
    ]
    unknown = tuple(token.written or token.text for token in tokens if token.is_unknown)
    most = max(counts, key=lambda count: (count.excess, count.tokens))
    return replace(most, unknown=unknown)


def check_tokens(
    tokens: Sequence[Token], config: Mapping[str, Any], limits: FindLimits | None = None
) -> None:
    """Refuse tokens that the model's tables have no rows for, before any of them is looked up.

    ``limits`` is as of ``find_tokenizer``.

    Raises:
        UserError: no tokens, too many of them, or an id or a segment that has no row.
    """
    readings = _readings(tokens, config)
    if not all(readings):
        raise UserError("the sentence has no tokens")
    if max(map(len, readings)) > certain_length(config):
        found = limits() if limits else stated_limits(config)
        each = zip(_PARTS, readings, found.of(len(readings)), strict=False)
        for part, reading, limit in each:
            if limit is not None and len(reading) > limit:
                taker = part if len(readings) > 1 else "model"
                raise TooLongError(
                    f"the sentence is too long: it has {len(reading):,} tokens, and the {taker} "
                    f"takes at most {limit:,}"
                )
    if not config.get("is_encoder_decoder"):  # its segments are encoder and decoder
        check_segments((token.segment for token in tokens), config)
    rows = config.get("vocab_size")
    for token in tokens:
        if isinstance(rows, int) and not 0 <= token.id < rows:
            raise UserError(
                f"the token {token.text!r} has the id {token.id}, but the embedding has only "
                f"{rows:,} rows; the tokenizer belongs to another model"
            )


def length_notices(tokens: Sequence[Token], config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a sentence that says so if a text is longer than the configuration's length.

    The model runs on it, since it has no table that ends there.
    """
    longest, trained = max(map(len, _readings(tokens, config))), trained_length(config)
    if trained is None or longest <= trained:
        return ()
    return (
        f"The text has {longest:,} tokens, but the configuration allows {trained:,}: the model "
        "can run longer texts, but was not trained on them.",
    )


def check_segments(segments: Iterable[int], config: Mapping[str, Any]) -> None:
    """Refuse segments that a model's table has no rows for.

    Raises:
        UserError: there is such a segment.
    """
    kinds, last = segment_kinds(config), max(segments, default=0)
    if 0 < kinds <= last:
        raise UserError(
            f"a token has the segment {last}, but the model tells only {kinds:,} segments apart "
            "(type_vocab_size); the tokenizer belongs to another model"
        )


def check_score_memory(tokens: Sequence[Token], config: Mapping[str, Any], name: str) -> None:
    """Refuse tokens that no table limits, as in T5, if their attention does not fit into memory.

    ``name`` is the model's, for the message.

    Raises:
        UserError: it does not.
    """
    if isinstance(heads := _heads(config), int):
        for reading in _readings(tokens, config):
            check_attention_memory(len(reading), heads, name)


def _heads(config: Mapping[str, Any]) -> Any:
    """Return how many heads add a bias to the scores of every two tokens; ``None`` if none do.

    T5 and its kin do. Without one, attention is fused and keeps no scores; LongT5's is local.
    """
    has_bias = "relative_attention_num_buckets" in config and "local_radius" not in config
    return config.get("num_heads") if has_bias else None


def _readings(tokens: Sequence[Token], config: Mapping[str, Any]) -> list[list[Token]]:
    """Return the tokens that are read together: encoder and decoder read a segment each."""
    segments = {token.segment for token in tokens}
    if not config.get("is_encoder_decoder") or len(segments) < 2:
        return [list(tokens)]
    return [[token for token in tokens if token.segment == segment] for segment in (0, 1)]
