"""Figures for scripts, drawn in a helper process, so that Qt is not loaded into the script.

Plots are widgets, which need a ``QApplication`` and its thread. The script may run in any thread,
have an application already, or create one later, as notebooks do.
"""

import pickle
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from bertviewer.core.util.errors import UserError
from bertviewer.core.util.helper_process import Helper, HelperProcess
from bertviewer.core.util.sandbox import Functions

MEMORY = 16_000_000_000  # bytes
SECONDS = 3600
"""CPU time for all figures of a report."""

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def drawn(
    work: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """Return the result of one of this package's functions that need a ``QApplication``.

    Arguments and result are pickled, and so is an exception of the function, which is raised here.

    Raises:
        UserError: the helper process cannot be started, crashed or exceeded a limit.
    """
    if _Here.is_on:
        from bertviewer.plots.export import offscreen_application

        application = offscreen_application()
        try:
            return work(*args, **kwargs)
        finally:
            application.processEvents()
    call = b64encode(pickle.dumps((work, args, kwargs))).decode()
    try:
        with _helper.session() as process:
            answer = process.call("draw", {"call": call})
    except UserError as error:
        raise UserError(f"figures cannot be drawn: {error}") from error
    is_done, result = pickle.loads(b64decode(answer))
    if not is_done:
        raise result
    found: Result = result
    return found


@contextmanager
def drawing_here() -> Iterator[None]:
    """Draw in this process inside the ``with``; for programs without another ``QApplication``."""
    before, _Here.is_on = _Here.is_on, True
    try:
        yield
    finally:
        _Here.is_on = before


class _Here:
    is_on = False


_helper = Helper(
    lambda: HelperProcess(__name__, memory=MEMORY, seconds=SECONDS, access="trusted"), "Drawing"
)


def functions() -> Functions:
    """Return what the helper process can do."""
    from bertviewer.plots.export import offscreen_application

    application = offscreen_application()

    def draw(call: str) -> str:
        work, args, kwargs = pickle.loads(b64decode(call))
        answer: tuple[bool, Any]
        try:
            answer = True, work(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the caller raises it
            answer = False, error
        application.processEvents()
        return b64encode(pickle.dumps(answer)).decode()

    return {"draw": draw}
