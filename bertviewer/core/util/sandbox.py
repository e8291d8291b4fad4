"""The inside of a helper process: its limits, and the loop that answers calls.

``helper_process`` has the outside, and says what the protocol is.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from bertviewer.core.util.errors import UserError, describe_error

ARGUMENT = "--helper-process"
"""The hidden first argument that makes the program a helper process."""
Access = Literal["untrusted", "trusted", "network"]
"""What a helper may do: see ``HelperProcess``."""
LIMIT_EXCEEDED = "it needs far more memory or time than expected"
"""The error message of a call that exceeded a limit."""

Functions = Mapping[str, Callable[..., Any]]
"""What a worker module's ``functions()`` returns: arguments and results are JSON.

A function may be a generator: it yields steps, and returns the result.
"""

# Audit events (docs.python.org/3/library/audit_events.html) that are refused in every helper …
_NETWORK_AND_PROGRAMS = (
    "socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn",
    "os.startfile", "pty.", "urllib.", "http.", "ftplib.", "smtplib.", "webbrowser.",
)  # fmt: skip
# … and in those that work on untrusted data.
_SYSTEM = (
    "os.", "shutil.", "ctypes.", "pickle.", "builtins.input", "sys.setprofile", "sys.settrace",
)  # fmt: skip
# Imports list folders; the last one removes the helper's own empty folder.
_ALLOWED = ("os.listdir", "os.scandir", "os.rmdir")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class ForbiddenError(RuntimeError):
    """Code in a helper process tried something that is not allowed; the text is the audit event."""


def main(arguments: Sequence[str]) -> int:
    """Answer calls until the standard input ends, and return the exit status.

    Args:
        arguments: the worker module, the helper's own folder, bytes of memory, seconds of CPU time
            for each call, what it may do, and the folders that may be read.
    """
    worker, folder, memory, seconds, access, *reads = arguments
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process ends this one
    # Libraries print to the standard output: the answers get another file descriptor.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    functions: Functions = import_module(worker).functions()
    limit_memory(int(memory))
    if access != "network":
        forbid_network()
    if access == "untrusted":
        forbid_system([folder, *reads])

    def send(message: Mapping[str, Any]) -> None:
        text = json.dumps(message).encode()
        answers.write(text + b"\n")
        answers.flush()

    send({"result": None})  # the imports are done
    for line in requests:
        limit_seconds(int(seconds))
        _answer(functions, line, send)
    with suppress(OSError):
        Path(folder).rmdir()  # the main process may have been killed
    return 0


def _answer(functions: Functions, line: bytes, send: Callable[[Mapping[str, Any]], None]) -> None:
    """Send the steps of a call, then its result or error message."""
    try:
        name, arguments = json.loads(line)
        result = functions[name](**arguments)
        while isinstance(result, Generator):
            try:
                send({"step": next(result)})
            except StopIteration as stop:
                result = stop.value
        send({"result": result})
        return
    except UserError as error:
        message = str(error)
    except MemoryError:
        message = LIMIT_EXCEEDED
    except ForbiddenError as error:
        message = f"refused: it tried to do something that reading it never needs ({error})"
    except BaseException as error:  # noqa: BLE001 - a panic in Rust is not an Exception
        message = describe_error(error)
    send({"error": message})


def limit_memory(nbytes: int) -> None:
    """Limit this process to ``nbytes`` more than it has now (RLIMIT_AS; Linux only)."""
    if sys.platform == "linux":
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = pages * resource.getpagesize() + nbytes
        if most != resource.RLIM_INFINITY:
            limit = min(limit, most)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_seconds(seconds: int) -> None:
    """End this process after ``seconds`` of CPU time from now on (RLIMIT_CPU; Linux only)."""
    if sys.platform == "linux":
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        soft = int(used.ru_utime + used.ru_stime) + 1 + seconds
        if most != resource.RLIM_INFINITY:
            soft = min(soft, most)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, most))


def forbid_network() -> None:
    """Refuse connections and other programs from now on, with an audit hook."""

    def hook(event: str, _arguments: tuple[Any, ...]) -> None:
        if event.startswith(_NETWORK_AND_PROGRAMS):
            raise ForbiddenError(event)

    sys.addaudithook(hook)


def forbid_system(reads: Sequence[str]) -> None:
    """Refuse all else that untrusted data never needs: writing files, pickles, foreign functions.

    Only files in the folders ``reads`` and those of the Python installation can be read. A bundle
    of PyInstaller imports modules from its own executable.
    """
    named = [*sys.path, sys.prefix, sys.base_prefix, getattr(sys, "_MEIPASS", "")]
    # Links in an installation are followed: some consist of nothing else.
    own = tuple(f"{_absolute(path)}{os.sep}" for path in named if path)
    inside = tuple(f"{os.path.realpath(path)}{os.sep}" for path in (*own, *reads))
    program = _absolute(sys.executable)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(_SYSTEM) and event not in _ALLOWED:
            raise ForbiddenError(event)
        if event != "open":
            return
        if arguments[2] & _WRITES:
            raise ForbiddenError(event)
        if not isinstance(arguments[0], str | bytes):
            raise ForbiddenError(f"open {arguments[0]!r}")  # a file descriptor
        path = os.fsdecode(arguments[0])
        is_own = _absolute(path) == program or _absolute(path).startswith(own)
        if not is_own and not os.path.realpath(path).startswith(inside):
            raise ForbiddenError(f"open {path!r}")

    sys.addaudithook(hook)


def _absolute(path: str) -> str:
    """Return an absolute path without following links."""
    return os.path.abspath(path)  # noqa: PTH100 - Path.resolve() follows links
