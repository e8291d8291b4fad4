"""Crash log: the trace of a crashed process, which the next start shows.

Python's ``faulthandler`` writes it when a library crashes the process. Each process has its own
file, which is locked while it runs.
"""

import faulthandler
import platform
from datetime import datetime
from pathlib import Path
from typing import TextIO

from platformdirs import user_log_path
from PySide6.QtCore import QLockFile

from bertviewer import __version__

_MAX_PROCESSES = 100
_MAX_CHARACTERS = 200_000  # characters; the traces of all threads of a crash take a few thousand


class CrashLog:
    """The log of this process; ``last_crash`` is what a crashed process wrote, or empty."""

    def __init__(self, path: Path, lock: QLockFile, last_crash: str) -> None:
        self.path = path
        self.last_crash = last_crash
        self._lock = lock
        self._file: TextIO = path.open("w", encoding="utf-8")
        self._file.write(
            f"bertviewer {__version__}, Python {platform.python_version()}, {platform.platform()}, "
            f"started {datetime.now():%Y-%m-%d %H:%M:%S}\n"
        )
        self._file.flush()
        faulthandler.enable(self._file)

    def close(self) -> None:
        """Delete the file: the process ends normally."""
        faulthandler.disable()
        self._file.close()
        self.path.unlink(missing_ok=True)
        self._lock.unlock()


def open_crash_log() -> CrashLog | None:
    """Open a log; return ``None`` if the log folder cannot be written."""
    folder = user_log_path("bertviewer", appauthor=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(_MAX_PROCESSES):
            path = folder / f"crash-{number}.log"
            lock = QLockFile(str(path.with_suffix(".lock")))
            # A lock is valid as long as its process lives, however old it is.
            lock.setStaleLockTime(0)
            if lock.tryLock(0):
                return CrashLog(path, lock, _last_crash(path))
            if lock.error() != QLockFile.LockError.LockFailedError:
                return None
    except OSError:
        return None
    return None


def _last_crash(path: Path) -> str:
    """Return the text of a file; empty if it has only the first line."""
    if not path.is_file():
        return ""
    with path.open(encoding="utf-8", errors="backslashreplace") as file:
        text = file.read(_MAX_CHARACTERS)
    _, _, trace = text.partition("\n")
    return text if trace.strip() else ""
