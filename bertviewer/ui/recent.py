"""The models that were opened last, remembered from one session to the next."""

from pathlib import Path

from PySide6.QtCore import QSettings

from bertviewer.core.source.model_source import ModelSource

SETTING = "recentModels"
REMEMBERED = 8


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
    name = source.name
    if source.kind != "hub":
        name = str(Path(name).expanduser().absolute())
    try:
        name.encode()
    except UnicodeEncodeError:
        return  # a path that is not UTF-8: the settings' file could not hold it
    _store([name, *(other for other in recent_names() if other != name)])


def forget(name: str) -> None:
    """Take a name off the list."""
    _store([other for other in recent_names() if other != name])


def is_there(name: str) -> bool:
    """Tell whether there is still something of that name; the hub is not asked."""
    try:
        return "://" in name or Path(name).exists()
    except OSError:
        return False


def _store(names: list[str]) -> None:
    QSettings().setValue(SETTING, names[:REMEMBERED])
