"""Settings file: writing, repairing it, and the models that were opened last."""

import json
import re
import time
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QObject, QSettings, Signal

from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.model_source import ModelSource

BACKUP = ".damaged"
OPENS_LAST = "openLastModel"
STARTED = "started"
RECENT, RECENT_TIMES = "recentModels", "recentTimes"
MAX_RECENT = 9
MAX_SECONDS = 2**40  # of a time stamp; a larger one is invalid

# Lines that Qt writes: sections, keys with values, comments. It silently skips anything else, and
# then writes the rest back over it.
_LINE = re.compile(r"\[[^\]]+\]|[^=\0]+=[^\0]*|;.*|")


class SettingsWriteStatus(QObject):
    """``changed`` carries the path of a file that cannot be written, "" when it can again."""

    changed = Signal(str)
    has_failed = False


write_status = SettingsWriteStatus()


def store(key: str, value: object) -> bool:
    """Write a setting at once; return whether that worked."""
    settings = QSettings()
    settings.setValue(key, value)
    settings.sync()
    is_stored = settings.isWritable() and settings.status() == QSettings.Status.NoError
    if is_stored == write_status.has_failed:
        write_status.has_failed = not is_stored
        write_status.changed.emit("" if is_stored else settings.fileName())
    return is_stored


def note_start() -> None:
    """Write the time of the start, so that a file that cannot be written is noticed at once."""
    store(STARTED, round(time.time()))


def opens_last() -> bool:
    """Return whether the last model is opened at a start without a model's name."""
    return str(QSettings().value(OPENS_LAST, "true")).lower() != "false"


def set_opens_last(is_wanted: bool) -> None:
    """Set whether the last model is opened at the start."""
    store(OPENS_LAST, is_wanted)


def quarantine_bad_settings() -> Path | None:
    """Rename a damaged settings file; return its new path, ``None`` if it is sound.

    Settings that are not a file, as in Windows' registry, or that may not be read or renamed are
    left alone: Qt uses its defaults.
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
    settings.sync()  # Qt has cached the file, and must notice that it is gone
    return backup


def _is_sound(content: bytes) -> bool:
    try:
        # Not splitlines(), which also splits at characters that a value may contain.
        lines = content.decode("utf-8").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError:
        return False
    return all(_LINE.fullmatch(line) for line in lines)


def recent_names() -> list[str]:
    """Return the names of the models that were opened last, the latest first."""
    stored = QSettings().value(RECENT)
    # A list of one is read as a string, and the file may contain anything.
    names = stored if isinstance(stored, list) else [stored]
    return [name for name in names if isinstance(name, str) and name][:MAX_RECENT]


def remember(source: ModelSource) -> None:
    """Put a model first in the list of recent ones; presets and the demo have their own menu."""
    if source.kind in ("preset", "demo"):
        return
    name = opened_name(source)
    try:
        name.encode()
    except UnicodeEncodeError:
        return  # a path that is not UTF-8, which the file cannot hold
    times = {**_times(), name: datetime.now().timestamp()}
    store(RECENT, [name, *(other for other in recent_names() if other != name)][:MAX_RECENT])
    kept = {other: times[other] for other in recent_names() if other in times}
    store(RECENT_TIMES, json.dumps(kept))


def forget(name: str) -> None:
    """Remove a name from the list."""
    store(RECENT, [other for other in recent_names() if other != name])


def opened_name(source: ModelSource | SourceInfo) -> str:
    """Return the name by which a model can be opened from any working directory."""
    if source.kind in ("preset", "demo", "hub"):
        return source.name
    return str(Path(source.name).expanduser().absolute())


def opened_at(name: str) -> datetime | None:
    """Return when a model was last opened, ``None`` if that is unknown."""
    try:
        return datetime.fromtimestamp(_times()[name])
    except (LookupError, OverflowError, OSError, ValueError):
        return None


def exists(name: str) -> bool:
    """Return whether a model of that name still exists; nothing is downloaded."""
    try:
        return "://" in name or Path(name).exists()
    except OSError:
        return False


def _times() -> dict[str, float]:
    """Return the stored times by name; the file may contain anything."""
    try:
        stored = json.loads(str(QSettings().value(RECENT_TIMES, "{}")))
    except (ValueError, RecursionError):
        return {}
    if not isinstance(stored, dict):
        return {}
    times = {name: when for name, when in stored.items() if type(when) in (int, float)}
    return {name: float(when) for name, when in times.items() if abs(when) < MAX_SECONDS}
