"""The interface of tokenizers: the model's own, and the placeholder."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bertviewer.core.schema.activation_run import Sentence, Token, TokenizerKind
from bertviewer.core.sources.length_limits import FindLimits, stated_limits
from bertviewer.core.tokenization.tokens import EncodedText, model_tokens
from bertviewer.core.util.progress import Progress, no_progress


class Tokenizer(ABC):
    """Turns sentences into tokens. One thread may use it.

    Attributes:
        kind: whether it is the model's own.
        keeps_end: whether a text that is too long loses its beginning (``truncation_side`` is
            "left").
        favors_first: whether the first of two texts that are too long keeps an odd token.
    """

    kind: TokenizerKind
    keeps_end: bool = False
    favors_first: bool = False

    def __init__(
        self, config: Mapping[str, Any], limits: FindLimits | None, *, pair_is_target: bool
    ) -> None:
        """Take the model's configuration.

        Args:
            config: the configuration.
            limits: returns the lengths for truncation; ``None`` for those in the configuration.
            pair_is_target: whether a second sentence is for the decoder; it is segment 1 then.
        """
        self._limits = limits or partial(stated_limits, config)
        self._pair_is_target = pair_is_target

    def tokenize(self, sentence: Sentence, progress: Progress = no_progress) -> tuple[Token, ...]:
        """Return the tokens, special ones included, truncated if ``sentence.cut``.

        Raises:
            UserError: the text cannot be read, or the limit leaves no room for it.
            Cancelled: by ``progress``.
        """
        texts = [text for text in (sentence.text, sentence.pair) if text is not None]
        if self._pair_is_target:
            parts = [self._encode([text], stack, progress) for stack, text in enumerate(texts)]
        else:
            parts = [self._encode(texts, None, progress)]
        limits = self._limits() if sentence.cut else None
        return model_tokens(parts, limits, keeps_end=self.keeps_end, favors_first=self.favors_first)

    @abstractmethod
    def _encode(
        self, texts: Sequence[str], stack: int | None, progress: Progress
    ) -> Sequence[Token]:
        """Return the tokens of texts that are read together.

        ``stack`` is 0 for the encoder's only text, 1 for the decoder's, else ``None``.
        """

    @abstractmethod
    def encode_each(
        self, texts: Sequence[str], progress: Progress = no_progress
    ) -> list[EncodedText]:
        """Return the tokens of each text alone, or why it cannot be read.

        Raises:
            UserError: none of them can be read.
            Cancelled: by ``progress``.
        """

    @abstractmethod
    def text_of(self, number: int) -> str:
        """Return how the vocabulary writes the token with that id, "#id" if it has none."""
