"""The file of settings, mended where it was damaged, and what has no other place in it."""

import re
from pathlib import Path

from PySide6.QtCore import QSettings

BACKUP = ".damaged"
OPENS_LAST = "openLastModel"

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


def unwritable_settings() -> Path | None:
    """Return the settings file if nothing can be written to it, ``None`` if all is well."""
    settings = QSettings()
    return None if settings.isWritable() else Path(settings.fileName())


def opens_last() -> bool:
    """Whether a start without a model's name opens the one that was open last."""
    return str(QSettings().value(OPENS_LAST, "true")).lower() != "false"


def set_opens_last(is_wanted: bool) -> None:
    """Have the model that was open last opened at the next start, or the page of what there is."""
    QSettings().setValue(OPENS_LAST, is_wanted)


def _is_sound(content: bytes) -> bool:
    try:
        # Not splitlines(): it also splits at characters that a value may hold.
        lines = content.decode("utf-8").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError:
        return False
    return all(_LINE.fullmatch(line) for line in lines)
