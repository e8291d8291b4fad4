"""The process that draws for a script: calls of this package's functions in, results out."""

import os
import pickle
import sys
from typing import Any, BinaryIO

from bertviewer.plots.paper import windowless_application


def main() -> int:
    """Answer until nothing more is asked for; return the exit status."""
    # Results have their own way out: what libraries print goes nowhere.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    application = windowless_application()
    while (request := _next(sys.stdin.buffer)) is not None:
        answer = _answer(request)
        application.processEvents()
        try:
            pickle.dump(answer, answers)
            answers.flush()
        except BrokenPipeError:
            break
    return 0


def _next(asked: BinaryIO) -> Any:
    """Return the next request of the process that started this one; ``None`` at their end."""
    try:
        return pickle.load(asked)
    except EOFError:
        return None


def _answer(request: Any) -> tuple[bool, Any]:
    work, args, kwargs = request
    try:
        return True, work(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - whoever asked raises it
        return False, error
