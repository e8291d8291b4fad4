"""Draws figures of scripts in a helper process, so that the script does not load Qt.

Plots are widgets, which need a ``QApplication`` and its thread. A script may run in any thread, and
may have its own application, or create one later, as notebooks do.
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
    """Call a function of this package that needs a ``QApplication``, and return its result.

    Arguments, result and exceptions are pickled.

    Raises:
        UserError: the helper process cannot be started, crashed or exceeded a limit.
    """
    if _state.is_here:
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
    """Draw in this process within the context; for programs without another ``QApplication``."""
    before, _state.is_here = _state.is_here, True
    try:
        yield
    finally:
        _state.is_here = before


class _State:
    is_here = False


_state = _State()


_helper = Helper(
    lambda: HelperProcess(__name__, memory=MEMORY, seconds=SECONDS, access="trusted"), "Drawing"
)


def functions() -> Functions:
    """Return the functions of the helper process."""
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
