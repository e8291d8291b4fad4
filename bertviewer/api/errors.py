"""The one exception that a script has to know."""

import errno
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from bertviewer.api.arguments import check_arguments
from bertviewer.core.util.errors import Cancelled, UserError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# What the system says of a file, a disk or a quota that is full, and of a closed stdout.
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EBADF)


class Error(UserError):
    """Something that can be mended; its text is one line with the thing and the cause.

    It is the line that the command prints behind ``bertviewer: error:``.
    """

    def __init__(self, line: str) -> None:
        Exception.__init__(self, line)


Error.__module__ = "bertviewer"


def line_of(error: BaseException) -> str | None:
    """Return the one line for an error that can be mended; ``None`` for a bug."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, ImportError) and "shared object" in str(error):
        from bertviewer.core.util.installation import INSTALL_HINT

        return f"a system library is missing: {error}; {INSTALL_HINT}"
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return f"cannot write the result: {error.strerror}"
    return None


def in_one_line(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Have a function raise ``Error`` for all that can be mended, from its cause.

    Arguments of another kind than their annotations say are a ``TypeError``.
    """

    @wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            check_arguments(function, args, kwargs)
            return function(*args, **kwargs)
        except Error:
            raise
        except Cancelled as stopped:
            # What the script's own progress raised comes back to it as it was.
            raise stopped.__cause__ or stopped from None
        except Exception as error:
            if (line := line_of(error)) is None:
                raise
            raise Error(line) from error

    return call
