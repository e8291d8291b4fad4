"""Sentences before they are tokenized, and their token counts: plain data without torch."""

from msgspec import Struct

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.util.errors import UserError

MAX_CHARACTERS = 200_000
EMPTY = "the {} is empty"


class TokenCount(Struct, frozen=True):
    """The number of tokens of a sentence, and how many the model takes.

    Attributes:
        tokens: with special ones; if encoder and decoder read a text each, those of the longer, or
            of the one that is too long.
        limit: how many the model takes, ``None`` for any number.
        unknown: what was written for each unknown token, in order.
        is_one_of_two: whether ``tokens`` are those of one of two texts.
        trained: without a limit, the length that the configuration names, if any.
    """

    tokens: int
    limit: int | None
    unknown: tuple[str, ...] = ()
    is_one_of_two: bool = False
    trained: int | None = None

    @property
    def excess(self) -> int:
        """How many tokens are too many."""
        return 0 if self.limit is None else max(0, self.tokens - self.limit)

    @property
    def is_untrained(self) -> bool:
        """Whether the model takes the text, but was not trained on texts of this length."""
        return self.trained is not None and self.tokens > self.trained


def check_text(sentence: Sentence) -> None:
    """Check that a tokenizer can read a sentence.

    Raises:
        UserError: a text is empty, far too long, or not valid Unicode.
    """
    for what, text in (("sentence", sentence.text), ("second sentence", sentence.pair)):
        if text is None:
            continue
        if not text.strip():
            raise UserError(EMPTY.format(what))
        if len(text) > MAX_CHARACTERS:
            raise UserError(
                f"the {what} has {len(text):,} characters, above the limit of {MAX_CHARACTERS:,}"
            )
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UserError(f"the {what} is not valid Unicode: {error.reason}") from error


def optional_sentence(text: str | None, pair: str | None) -> Sentence | None:
    """Return the sentence of a command line, if it has one.

    Raises:
        UserError: as ``check_text``, or there is a second sentence without a first.
    """
    if text is None:
        if pair is not None:
            raise UserError("--pair needs --sentence")
        return None
    sentence = Sentence(text, pair)
    check_text(sentence)
    return sentence
