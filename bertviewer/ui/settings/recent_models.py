"""The models that were opened last, remembered from one session to the next."""

import json
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QSettings

from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.ui.settings.settings import store

SETTING = "recentModels"
TIMES_SETTING = "recentTimes"
REMEMBERED = 9
MOST_SECONDS = 2**40
"""A time that is farther from 1970 is none."""


def recent_names() -> list[str]:
    """Return what was opened last as it can be opened again, the latest first."""
    stored = QSettings().value(SETTING)
    # A list of one comes back as its one text, and settings may hold anything.
    names = stored if isinstance(stored, list) else [stored]
    return [name for name in names if isinstance(name, str) and name][:REMEMBERED]


def remember(source: ModelSource) -> None:
    """Put a model at the head of the list. What has a place of its own in the menu is left out."""
    if source.kind in ("preset", "demo"):
        return
    name = opened_name(source)
    try:
        name.encode()
    except UnicodeEncodeError:
        return  # a path that is not UTF-8: the settings' file could not hold it
    times = {**_times(), name: datetime.now().timestamp()}
    _store([name, *(other for other in recent_names() if other != name)])
    kept = {other: times[other] for other in recent_names() if other in times}
    store(TIMES_SETTING, json.dumps(kept))


def opened_name(source: ModelSource | SourceInfo) -> str:
    """Return the name by which a model is opened again from any folder."""
    if source.kind in ("preset", "demo", "hub"):
        return source.name
    return str(Path(source.name).expanduser().absolute())


def opened_at(name: str) -> datetime | None:
    """Return when a model was opened last, ``None`` if that is not known."""
    try:
        return datetime.fromtimestamp(_times()[name])
    except (LookupError, OverflowError, OSError, ValueError):
        return None


def forget(name: str) -> None:
    """Take a name off the list."""
    _store([other for other in recent_names() if other != name])


def is_there(name: str) -> bool:
    """Tell whether there is still something of that name; the hub is not asked."""
    try:
        return "://" in name or Path(name).exists()
    except OSError:
        return False


def _times() -> dict[str, float]:
    """Return the times that are stored, by name; settings may hold anything."""
    try:
        stored = json.loads(str(QSettings().value(TIMES_SETTING, "{}")))
    except (ValueError, RecursionError):
        return {}
    if not isinstance(stored, dict):
        return {}
    times = {name: when for name, when in stored.items() if type(when) in (int, float)}
    return {name: float(when) for name, when in times.items() if abs(when) < MOST_SECONDS}


def _store(names: list[str]) -> None:
    store(SETTING, names[:REMEMBERED])
