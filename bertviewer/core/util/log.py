"""The program's log: where the details of our own bugs go."""

import os
import tempfile
from datetime import datetime
from functools import cache
from pathlib import Path

from platformdirs import user_log_path

from bertviewer import __version__

NAME = "bertviewer.log"
# A link that somebody else left is not followed; Windows has no such flag, and no shared folder.
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)


def write_log(text: str) -> Path:
    """Append ``text`` to the log and return the log's path.

    Where the user's log folder cannot be written, the log goes to a folder of this process' own
    among the temporary files, and where that cannot either, nowhere: what is to be told is told
    all the same.
    """
    entry = f"--- {datetime.now():%Y-%m-%d %H:%M:%S} bertviewer {__version__}\n{text}\n"
    for folder in (_users_folder, own_folder):
        try:
            return _append(folder() / NAME, entry)
        except OSError:
            continue
    return Path(os.devnull)  # a full disk, or somebody else's file


def _users_folder() -> Path:
    folder = user_log_path("bertviewer", appauthor=False)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@cache
def own_folder() -> Path:
    """Make a folder that only this user can look into, under a name that nobody could foresee."""
    return Path(tempfile.mkdtemp(prefix="bertviewer-"))


def _append(path: Path, entry: str) -> Path:
    # What is told quotes files of the user's: nobody else has to read it.
    number = os.open(path, _APPEND, 0o600)
    with os.fdopen(number, "a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(entry)
    return path
