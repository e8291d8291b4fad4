"""The program's log: where the details of our own bugs go."""

import os
import tempfile
from datetime import datetime
from pathlib import Path

from platformdirs import user_log_path

from bertviewer import __version__


def write_log(text: str) -> Path:
    """Append ``text`` to the log and return the log's path.

    Where the user's log folder cannot be written, the log goes to the folder for temporary files,
    and where that cannot either, nowhere: what is to be told is told all the same.
    """
    entry = f"--- {datetime.now():%Y-%m-%d %H:%M:%S} bertviewer {__version__}\n{text}\n"
    try:
        folder = user_log_path("bertviewer", appauthor=False)
        folder.mkdir(parents=True, exist_ok=True)
        return _append(folder / "bertviewer.log", entry)
    except OSError:
        try:
            return _append(Path(tempfile.gettempdir()) / "bertviewer.log", entry)
        except OSError:
            return Path(os.devnull)  # a full disk, or somebody else's file


def _append(path: Path, entry: str) -> Path:
    with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(entry)
    return path
