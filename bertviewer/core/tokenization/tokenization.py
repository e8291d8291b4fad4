"""Tokenizing for a model: which tokenizer it has, what its decoder reads, and length checks."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

from msgspec.structs import replace

from bertviewer.core.schema.activation_run import Sentence, Token
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.configuration import segment_rows
from bertviewer.core.sources.families import DECODER_STARTS, LAST_TOKEN_STARTS
from bertviewer.core.sources.length_limits import (
    FindLimits,
    safe_length,
    stated_limits,
    trained_length,
)
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.presets import demo_folder
from bertviewer.core.tokenization.files import has_tokenizer, lacks_tokenizer, shares_vocabulary
from bertviewer.core.tokenization.model_tokenizer import ModelTokenizer
from bertviewer.core.tokenization.placeholder import PlaceholderTokenizer
from bertviewer.core.tokenization.sentence import TokenCount, check_text
from bertviewer.core.tokenization.tokenizer import Tokenizer
from bertviewer.core.tokenization.tokens import TokenIds
from bertviewer.core.util.errors import TooLongError, UserError
from bertviewer.core.util.memory import fits, shortage
from bertviewer.core.util.progress import Progress, no_progress


def find_tokenizer(
    source: ModelSource,
    config: Mapping[str, Any],
    progress: Progress = no_progress,
    limits: FindLimits | None = None,
) -> Tokenizer:
    """Return a new tokenizer for a model; a placeholder for a configuration without vocabulary.

    Without a head, an encoder-decoder's second sentence is for the decoder. With one, the encoder
    reads both, as in training. ``limits`` returns the lengths for truncation; without it they are
    those in the configuration.

    Raises:
        UserError: the folder has weights without a tokenizer or with a broken one, or the
            configuration has no ``vocab_size``.
        Cancelled: by ``progress``.
    """
    folder = source.folder
    is_target = source.task.name == "base" and bool(config.get("is_encoder_decoder"))
    if has_tokenizer(source):
        return ModelTokenizer(folder, config, progress, limits, pair_is_target=is_target)
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
            return PlaceholderTokenizer(config, limits)
    return PlaceholderTokenizer(config, limits, pair_is_target=is_target)


def reads_text(architecture: Architecture) -> bool:
    """Return whether the model takes token ids: models of images and speech do not."""
    return _takes("input_ids", architecture)


def reads_target(architecture: Architecture) -> bool:
    """Return whether the model has a decoder with its own input."""
    has_both = architecture.is_encoder_decoder
    # A classifier of T5's tokens has the encoder alone.
    return has_both and _takes("decoder_input_ids", architecture)


def _takes(name: str, architecture: Architecture) -> bool:
    """Return whether ``forward`` has an argument of that name; true if the class is unknown."""
    root = architecture.root
    # A cached model is opened without its class.
    is_known = root.class_module.startswith(("transformers.models.", "bertviewer.core."))
    module = import_module(root.class_module) if is_known else None
    forward = getattr(getattr(module, root.class_name, None), "forward", None)
    return forward is None or name in inspect.signature(forward).parameters


def with_decoder(
    tokenizer: Tokenizer, tokens: Sequence[Token], architecture: Architecture
) -> tuple[Token, ...]:
    """Return the tokens that a model reads: with the decoder's, if it has one.

    Raises:
        UserError: the configuration has no start token for the decoder.
    """
    if not reads_target(architecture) or any(token.segment == 1 for token in tokens):
        return tuple(tokens)
    return (*tokens, *shift_right(tokens, architecture.config, tokenizer.text_of))


def shift_right(
    source: Sequence[Token], config: Mapping[str, Any], text_of: Callable[[int], str]
) -> tuple[Token, ...]:
    """Return the decoder's tokens for the encoder's: a start token, then all but the last.

    transformers' models do so with ``input_ids`` if they get no ``decoder_input_ids``
    (``shift_tokens_right`` of BART, ``_shift_right`` of T5). The tokens have segment 1 and new word
    numbers. ``text_of`` returns the text of the start token.

    Raises:
        UserError: the configuration has no start token for the decoder.
    """
    if not source:
        return ()
    words = 1 + max((token.word for token in source if token.word is not None), default=-1)
    start, place = _decoder_start([token.id for token in source], config)
    if place is None:
        first = Token(start, text_of(start), 1, is_special=True)
    else:
        first = replace(source[place], segment=1, word=None, sentence=None)
    return (
        first,
        *(
            replace(token, segment=1, word=None if token.word is None else token.word + words)
            for token in source[:-1]
        ),
    )


def shift_ids_right(source: TokenIds, config: Mapping[str, Any]) -> TokenIds:
    """Shift token ids as ``shift_right`` shifts tokens.

    Raises:
        UserError: the configuration has no start token for the decoder.
    """
    start, place = _decoder_start(source.ids, config)
    return TokenIds(
        (start, *source.ids[:-1]),
        (1,) * len(source),
        (place is None or source.are_special[place], *source.are_special[:-1]),
        (True, *source.are_added[:-1]),
    )


def _decoder_start(ids: Sequence[int], config: Mapping[str, Any]) -> tuple[int, int | None]:
    """Return the id of a decoder's start token, and its place if it is one of the encoder's."""
    if config.get("model_type") in LAST_TOKEN_STARTS:
        # These models find the last token by counting those that are not padding.
        last = sum(number != config.get("pad_token_id") for number in ids) - 1
        return ids[last], last
    start = next((n for key in DECODER_STARTS if isinstance(n := config.get(key), int)), None)
    if start is None:
        raise UserError(
            "the configuration has no decoder_start_token_id, so the decoder has no start token"
        )
    return start, None


def count_tokens(
    tokenizer: Tokenizer,
    sentence: Sentence,
    config: Mapping[str, Any],
    progress: Progress = no_progress,
    limits: FindLimits | None = None,
) -> TokenCount:
    """Return the number of tokens of a sentence, and the unknown ones.

    Raises:
        UserError: the tokenizer cannot read the text.
        Cancelled: by ``progress``.
    """
    check_text(sentence)
    tokens = tokenizer.tokenize(sentence, progress)
    parts = _split_source_target(tokens, config)
    found = limits() if limits else stated_limits(config)
    counts = [
        TokenCount(
            len(part),
            limit,
            is_one_of_two=len(parts) > 1,
            trained=found.trained if limit is None else None,
        )
        for part, limit in zip(parts, found.of(len(parts)), strict=True)
    ]
    unknown = tuple(token.written or token.text for token in tokens if token.is_unknown)
    most = max(counts, key=lambda count: (count.excess, count.tokens))
    return replace(most, unknown=unknown)


def check_tokens(
    tokens: Sequence[Token], config: Mapping[str, Any], limits: FindLimits | None = None
) -> None:
    """Check that the model's embeddings have a row for each token, position and segment.

    ``limits`` is as in ``find_tokenizer``.

    Raises:
        UserError: there are no tokens, or too many, or an id or a segment has no row.
    """
    parts = _split_source_target(tokens, config)
    if not all(parts):
        raise UserError("the sentence has no tokens")
    if max(map(len, parts)) > safe_length(config):
        found = limits() if limits else stated_limits(config)
        takers = ("encoder", "decoder") if len(parts) > 1 else ("model",)
        for taker, part, limit in zip(takers, parts, found.of(len(parts)), strict=True):
            if limit is not None and len(part) > limit:
                raise TooLongError(
                    f"the sentence is too long: it has {len(part):,} tokens, and the {taker} "
                    f"takes at most {limit:,}"
                )
    if not config.get("is_encoder_decoder"):  # segments are encoder and decoder
        check_segments((token.segment for token in tokens), config)
    rows = config.get("vocab_size")
    for token in tokens:
        if isinstance(rows, int) and not 0 <= token.id < rows:
            raise UserError(
                f"the token {token.text!r} has the id {token.id}, but the embedding has only "
                f"{rows:,} rows; the tokenizer belongs to another model"
            )


def length_notices(tokens: Sequence[Token], config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a notice if a text is longer than the length in the configuration.

    The model runs with it, since it has no table of positions.
    """
    longest, trained = max(map(len, _split_source_target(tokens, config))), trained_length(config)
    if trained is None or longest <= trained:
        return ()
    return (
        f"The text has {longest:,} tokens, but the configuration allows {trained:,}: the model "
        "can run longer texts, but was not trained on them.",
    )


def check_segments(segments: Iterable[int], config: Mapping[str, Any]) -> None:
    """Check that the model's embedding has a row for each segment.

    Raises:
        UserError: a segment has none.
    """
    kinds, last = segment_rows(config), max(segments, default=0)
    if 0 < kinds <= last:
        raise UserError(
            f"a token has the segment {last}, but the model tells only {kinds:,} segments apart "
            "(type_vocab_size); the tokenizer belongs to another model"
        )


def check_score_memory(tokens: Sequence[Token], config: Mapping[str, Any], name: str) -> None:
    """Check that the attention scores of texts of any length, as in T5, fit into memory.

    ``name`` is the model's, for the message.

    Raises:
        UserError: they do not fit.
    """
    # Without a position bias, attention is fused and stores no scores; LongT5's is local.
    has_bias = "relative_attention_num_buckets" in config and "local_radius" not in config
    heads = config.get("num_heads")
    if has_bias and isinstance(heads, int):
        for part in _split_source_target(tokens, config):
            # Scores and a bias of their size, [heads, tokens, tokens] each, in float32.
            needed = 2 * 4 * heads * len(part) ** 2
            if not fits(needed):
                cause = shortage(f"the attention of {len(part):,} tokens needs", needed)
                raise UserError(f"{name}: {cause}; use a shorter text")


def _split_source_target(tokens: Sequence[Token], config: Mapping[str, Any]) -> list[list[Token]]:
    """Return the tokens that are read together: an encoder-decoder reads each segment alone."""
    segments = {token.segment for token in tokens}
    if not config.get("is_encoder_decoder") or len(segments) < 2:
        return [list(tokens)]
    return [[token for token in tokens if token.segment == segment] for segment in (0, 1)]
