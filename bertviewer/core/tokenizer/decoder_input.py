"""What a decoder reads where nobody gave it a text of its own: the encoder's, shifted right."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bertviewer.core.activations.activation_run import Token
from bertviewer.core.errors import UserError
from bertviewer.core.families.special_tokens import DECODER_STARTS, LAST_TOKEN_FIRST


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


def _first(
    source: Sequence[Token], config: Mapping[str, Any], text_of: Callable[[int], str]
) -> Token:
    if config.get("model_type") in LAST_TOKEN_FIRST:
        # They find the last token by counting those that are no padding.
        real = sum(token.id != config.get("pad_token_id") for token in source)
        return replace(source[real - 1], segment=1, word=None, sentence=None)
    start = next((n for key in DECODER_STARTS if isinstance(n := config.get(key), int)), None)
    if start is None:
        raise UserError(
            "the configuration has no decoder_start_token_id, so the decoder has nothing to begin "
            "with"
        )
    return Token(start, text_of(start), 1, is_special=True)
