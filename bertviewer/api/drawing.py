"""Where pictures are drawn: in a process of their own, so that a script's own stays without Qt.

Plots are widgets. They want a ``QApplication`` and its thread; the script may run in any thread,
have an application of its own, or want one later on, as notebooks do.
"""

import atexit
import os
import pickle
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar

from bertviewer.api import DRAWING_CHILD
from bertviewer.core.util import child_process
from bertviewer.core.util.errors import UserError

_END_SECONDS = 5.0

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def drawn(
    work: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """Return what a function of this package gives that needs an application.

    Raises:
        UserError: it raised one, or the process that draws could not be started.
    """
    if _Here.is_on:
        from bertviewer.plots.paper import windowless_application

        application = windowless_application()
        try:
            return work(*args, **kwargs)
        finally:
            application.processEvents()
    return _child.call(work, *args, **kwargs)


@contextmanager
def drawing_here() -> Iterator[None]:
    """Draw in this process meanwhile: for a program that is nobody else's."""
    before, _Here.is_on = _Here.is_on, True
    try:
        yield
    finally:
        _Here.is_on = before


class _Here:
    is_on = False


class _Child:
    """The process that draws, started when there is something to draw and kept for the next."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def call(
        self,
        work: Callable[Parameters, Result],
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Result:
        """Have it call a function; one after the other, whichever thread asks."""
        with self._lock:
            is_done, result = self._answer((work, args, kwargs))
        if is_done:
            found: Result = result
            return found
        raise result

    def end(self) -> None:
        """Let it end, if there is one."""
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return  # that of the process that this one was forked from goes on
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _answer(self, request: Any) -> tuple[bool, Any]:
        try:
            asked, answers = self._streams()
            pickle.dump(request, asked)
            asked.flush()
            answer: tuple[bool, Any] = pickle.load(answers)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self.end()
            raise UserError(f"the process that draws figures stopped: {error}") from error
        except BaseException:
            # What comes now would be the answer to this request.
            self.end()
            raise
        return answer

    def _streams(self) -> tuple[IO[bytes], IO[bytes]]:
        is_own = self._owner == os.getpid()
        if self._process is None or not is_own or self._process.poll() is not None:
            self.end()
            self._owner = os.getpid()
            self._process = child_process.start(
                DRAWING_CHILD,
                (),
                Path(tempfile.gettempdir()),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        assert self._process.stdin is not None  # they were asked for
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout


_child = _Child()
atexit.register(_child.end)
