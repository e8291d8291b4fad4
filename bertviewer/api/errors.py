"""The exception that scripts catch, and the decorator that raises it."""

import errno
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from bertviewer.api.arguments import check_arguments
from bertviewer.core.util.errors import Cancelled, UserError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# Errors of a full disk, quota or file, and of a closed stdout.
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EBADF)


class Error(UserError):
    """An error that the user can fix; its text is one line with the thing and the cause.

    The command prints this line after ``bertviewer: error:``.
    """

    def __init__(self, line: str) -> None:
        Exception.__init__(self, line)


Error.__module__ = "bertviewer"


def line_of(error: BaseException) -> str | None:
    """Return the line for an error that the user can fix; ``None`` for a bug."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, ImportError) and "shared object" in str(error):
        from bertviewer.core.util.installation import INSTALL_HINT

        return f"a system library is missing: {error}; {INSTALL_HINT}"
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return f"cannot write the result: {error.strerror}"
    return None


def with_error_lines(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Make a function raise ``Error`` for all errors that the user can fix.

    An argument that does not match its annotation raises a ``TypeError``.
    """

    @wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            check_arguments(function, args, kwargs)
            return function(*args, **kwargs)
        except Error:
            raise
        except Cancelled as stopped:
            # An exception of the script's own progress callback.
            raise stopped.__cause__ or stopped from None
        except Exception as error:
            if (line := line_of(error)) is None:
                raise
            raise Error(line) from error

    return call
