"""The log file, for the tracebacks of internal errors."""

import os
import tempfile
from datetime import datetime
from functools import cache
from pathlib import Path

from platformdirs import user_log_path

from bertviewer import __version__

NAME = "bertviewer.log"
# Links are not followed: another user may have put one into a shared folder. Windows has no such
# flag and no shared folder.
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)


def write_log(text: str) -> Path:
    """Append ``text`` to the log and return its path.

    If the user's log folder is not writable, a temporary folder of this process is used; if that
    is not writable either, the text is dropped and the path is the null device.
    """
    entry = f"--- {datetime.now():%Y-%m-%d %H:%M:%S} bertviewer {__version__}\n{text}\n"
    for folder in (_user_folder, private_folder):
        try:
            return _append(folder() / NAME, entry)
        except OSError:
            continue
    return Path(os.devnull)


def _user_folder() -> Path:
    folder = user_log_path("bertviewer", appauthor=False)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@cache
def private_folder() -> Path:
    """Create a temporary folder with an unpredictable name that only this user can read."""
    return Path(tempfile.mkdtemp(prefix="bertviewer-"))


def _append(path: Path, entry: str) -> Path:
    # Messages quote the user's files, so other users must not read them.
    number = os.open(path, _APPEND, 0o600)
    with os.fdopen(number, "a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(entry)
    return path
