"""The file of settings, mended where it was damaged, and what has no other place in it."""

import re
import time
from pathlib import Path

from PySide6.QtCore import QObject, QSettings, Signal

BACKUP = ".damaged"
OPENS_LAST = "openLastModel"
STARTED = "started"

# All that Qt writes: sections, and a key and a value on each line. It skips whatever else it finds
# without a word, and writes the rest back over it.
_LINE = re.compile(r"\[[^\]]+\]|[^=\0]+=[^\0]*|;.*|")


def mend_settings() -> Path | None:
    """Put a damaged settings file aside; return where it is now, ``None`` if it stays.

    Where the settings are not a file, as in Windows' registry, there is nothing to mend, and what
    may not be read or moved is left: Qt goes on with its defaults then.
    """
    settings = QSettings()
    path = Path(settings.fileName())
    backup = path.with_name(path.name + BACKUP)
    try:
        if not path.is_file() or _is_sound(path.read_bytes()):
            return None
        path.replace(backup)
    except OSError:
        return None
    settings.sync()  # Qt remembers what it has read, and has to see that the file is gone
    return backup


class Refusals(QObject):
    """``told`` carries the path of a file of settings that takes nothing, "" once it does again."""

    told = Signal(str)
    is_told = False


refusals = Refusals()


def store(key: str, value: object) -> bool:
    """Write a setting at once; return whether that could be. A change of that is told."""
    settings = QSettings()
    settings.setValue(key, value)
    settings.sync()
    is_stored = settings.isWritable() and settings.status() == QSettings.Status.NoError
    if is_stored == refusals.is_told:
        refusals.is_told = not is_stored
        refusals.told.emit("" if is_stored else settings.fileName())
    return is_stored


def note_start() -> None:
    """Write down that the program was started: what cannot be written is told from the start."""
    store(STARTED, round(time.time()))


def opens_last() -> bool:
    """Whether a start without a model's name opens the one that was open last."""
    return str(QSettings().value(OPENS_LAST, "true")).lower() != "false"


def set_opens_last(is_wanted: bool) -> None:
    """Have the model that was open last opened at the next start, or the page of what there is."""
    store(OPENS_LAST, is_wanted)


def _is_sound(content: bytes) -> bool:
    try:
        # Not splitlines(): it also splits at characters that a value may hold.
        lines = content.decode("utf-8").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError:
        return False
    return all(_LINE.fullmatch(line) for line in lines)
