"""What can be said of a sentence before any tokenizer sees it, and before torch is imported."""

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.util.errors import UserError

MAX_CHARACTERS = 200_000
EMPTY = "the {} is empty"


def check_text(sentence: Sentence) -> None:
    """Refuse what no tokenizer can take.

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
    """Return the sentence of a command line that need not have one, checked.

    Raises:
        UserError: it is a bad one, or there is a second sentence without a first.
    """
    if text is None:
        if pair is not None:
            raise UserError("--pair needs --sentence")
        return None
    sentence = Sentence(text, pair)
    check_text(sentence)
    return sentence
