"""The two exceptions that cross every layer of the program."""


class UserError(Exception):
    """Something the user can mend; its text is one plain line with the thing and the cause."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class Cancelled(Exception):
    """The user asked for the work to stop; raised from ``progress`` and from forward hooks."""
