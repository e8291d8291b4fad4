"""The exceptions that cross every layer of the program."""

from bertviewer.core.util.plain_text import printable

LONGEST = 600
"""Characters of a message; libraries quote whole files in theirs."""


NOT_REGULAR = "not a regular file"
"""What is said of a pipe, a device or a folder in a file's place."""


class UserError(Exception):
    """Something the user can mend; its text is one plain line with the thing and the cause.

    Texts of strangers' files come along in it: what would move a terminal's cursor or turn the
    direction of writing is written as an escape, and of a very long text the middle is left out.
    """

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


class TooLongError(UserError):
    """A text has more tokens than the model takes; it can be cut."""


class UnknownTypeError(UserError):
    """A configuration is of a model type that transformers does not have."""


class Stopped(Exception):
    """Work was stopped from outside: code that catches any error of a library lets it through."""


class Cancelled(Stopped):
    """The user asked for the work to stop; raised from ``progress`` and from forward hooks."""


def one_line(message: str) -> str:
    """Return a message that any terminal shows on one line, without the middle if it is long."""
    return _shortened(printable(" ".join(_shortened(message).split())))


def _shortened(text: str) -> str:
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]} … {text[-half:]}"
