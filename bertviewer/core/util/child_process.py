"""Processes of this program's own that read strangers' files: how they start, and what holds them.

A file that makes a library hang, crash or take all memory then costs that process and no more.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any
from weakref import WeakSet

REFUSED = 2
"""The exit status for what is told in one line on the standard output."""

# What a process needs to start, and none of what may be secret.
_ENVIRONMENT = (
    "PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR", "TEMP",
    "TMP", "SYSTEMROOT", "VIRTUAL_ENV", "PYTHONHOME", "PYTHONUTF8",
)  # fmt: skip
_FORBIDDEN = (
    "socket.", "subprocess.", "os.", "shutil.", "ctypes.", "pty.", "urllib.", "http.", "ftplib.",
    "smtplib.", "webbrowser.", "pickle.", "builtins.input", "sys.setprofile", "sys.settrace",
)  # fmt: skip
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Imports look about; an empty folder is all that goes with the last one.
_ALLOWED = ("os.listdir", "os.scandir", "os.rmdir")

_children: WeakSet[subprocess.Popen[bytes]] = WeakSet()


class ForbiddenError(RuntimeError):
    """Something was tried that reading a file has no need of; the text names it."""


def start(
    kind: str,
    arguments: Sequence[str],
    folder: Path,
    *,
    stdin: int = subprocess.DEVNULL,
    stdout: int | IO[bytes],
    stderr: int | IO[bytes],
) -> subprocess.Popen[bytes]:
    """Start the program as a child of that kind, its hidden first argument, in a folder.

    Raises:
        OSError: the system starts no more.
    """
    child = subprocess.Popen(
        command(kind, arguments),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=folder,
        env=environment(),
    )
    _children.add(child)
    return child


def end_children() -> None:
    """Kill the children that are still there; for a program that ends without waiting for them."""
    for child in tuple(_children):
        child.kill()


def command(kind: str, arguments: Sequence[str]) -> list[str]:
    """Return what a child is started with."""
    # Without -P, a module in the working folder could take the place of another.
    program = [] if getattr(sys, "frozen", False) else ["-P", "-m", "bertviewer"]
    return [sys.executable, *program, kind, *arguments]


def environment() -> dict[str, str]:
    """Return the variables that a child is given: what it needs, and no secrets."""
    kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    # The folder that holds this package: it may be a checkout, and not installed.
    paths = [str(Path(__file__).resolve().parents[3])]
    paths += [path for path in sys.path if path and not getattr(sys, "frozen", False)]
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
    return {
        **kept,
        **threads,
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def limit_memory(room: int) -> None:
    """Let this process take so many bytes more than it has now, where the system can."""
    if sys.platform == "linux":
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        memory = pages * resource.getpagesize() + room
        if most != resource.RLIM_INFINITY:
            memory = min(memory, most)
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_seconds(seconds: int) -> None:
    """End this process once it has worked so long from now, by the processor's clock."""
    if sys.platform == "linux":
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        soft = int(used.ru_utime + used.ru_stime) + 1 + seconds
        if most != resource.RLIM_INFINITY:
            soft = min(soft, most)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, most))


def forbid(event: str, arguments: tuple[Any, ...]) -> None:
    """Stop what would reach out of this process: a hook that Python calls before it happens."""
    is_writing = event == "open" and bool(arguments[2] & _WRITES)
    if is_writing or (event.startswith(_FORBIDDEN) and event not in _ALLOWED):
        raise ForbiddenError(event)


def forbid_reading(roots: Sequence[Path]) -> None:
    """Let Python's code read no file but those under ``roots`` and Python's own from now on."""
    named = [*sys.path, sys.prefix, sys.base_prefix, getattr(sys, "_MEIPASS", "")]
    # Of an installation the links are followed: some are made of nothing else.
    own = tuple(f"{_plain(path)}{os.sep}" for path in named if path)
    inside = tuple(f"{os.path.realpath(path)}{os.sep}" for path in (*own, *map(str, roots)))

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open":
            return
        if not isinstance(arguments[0], str | bytes):
            raise ForbiddenError(f"open {arguments[0]!r}")  # a file that is open already
        path = os.fsdecode(arguments[0])
        if not _plain(path).startswith(own) and not os.path.realpath(path).startswith(inside):
            raise ForbiddenError(f"open {path!r}")

    sys.addaudithook(hook)


def _plain(path: str) -> str:
    """Return a path from the root on, without a link followed."""
    return os.path.abspath(path)  # noqa: PTH100 - resolve() follows them
