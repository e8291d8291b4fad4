"""The messages of invalid inputs, as a text for a golden file."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from bertviewer.core.util.errors import UserError

T = TypeVar("T")


def refusals(refuse: Callable[[T], object], cases: Mapping[str, T], *paths: object) -> str:
    """Return a line for each case: its name, and the message of the error that it raises.

    Args:
        refuse: raises a ``UserError`` for each case.
        cases: the invalid inputs by name.
        paths: temporary paths, which become "…" in the messages.

    Raises:
        AssertionError: a case is accepted.
    """
    lines = []
    for name, case in cases.items():
        try:
            found = refuse(case)
        except UserError as error:
            message = str(error)
            for path in paths:
                message = message.replace(str(path), "…")
            lines.append(f"{name}: {message}")
        else:
            raise AssertionError(f"{name} is accepted: {found!r}")
    return "\n".join((*lines, ""))
