"""What is left of a program that died: a trace in a file, which the next start offers.

Python's ``faulthandler`` writes it when a library crashes the process, which no exception handler
sees. Each running program has a file of its own, locked for as long as it runs.
"""

import faulthandler
import platform
from datetime import datetime
from pathlib import Path
from typing import TextIO

from platformdirs import user_log_path
from PySide6.QtCore import QLockFile

from bertviewer import __version__

_MOST_AT_ONCE = 100
_LONGEST = 200_000  # characters; the traces of all threads of a crash take a few thousand


class CrashLog:
    """The file that a crash of this process would be written to.

    ``last_crash`` is what a program that stopped in the middle left in it, empty if nothing.
    """

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
        """The program ends as it should: nothing is left."""
        faulthandler.disable()
        self._file.close()
        self.path.unlink(missing_ok=True)
        self._lock.unlock()


def open_crash_log() -> CrashLog | None:
    """Start to write crashes down; ``None`` where the user's log folder cannot be written."""
    folder = user_log_path("bertviewer", appauthor=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(_MOST_AT_ONCE):
            path = folder / f"crash-{number}.log"
            lock = QLockFile(str(path.with_suffix(".lock")))
            # It is not a matter of time: a lock holds for as long as its process lives.
            lock.setStaleLockTime(0)
            if lock.tryLock(0):
                return CrashLog(path, lock, _last_crash(path))
            if lock.error() != QLockFile.LockError.LockFailedError:
                return None
    except OSError:
        return None
    return None


def _last_crash(path: Path) -> str:
    """Return what follows a file's first line, with that line; empty if nothing does."""
    if not path.is_file():
        return ""
    with path.open(encoding="utf-8", errors="backslashreplace") as file:
        text = file.read(_LONGEST)
    _, _, trace = text.partition("\n")
    return text if trace.strip() else ""
