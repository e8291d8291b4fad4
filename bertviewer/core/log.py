"""The program's log: where the details of our own bugs go."""

from datetime import datetime
from pathlib import Path

from platformdirs import user_log_path

from bertviewer import __version__


def write_log(text: str) -> Path:
    """Append ``text`` to the log and return the log's path."""
    folder = user_log_path("bertviewer", appauthor=False)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "bertviewer.log"
    with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"--- {datetime.now():%Y-%m-%d %H:%M:%S} bertviewer {__version__}\n{text}\n")
    return path
