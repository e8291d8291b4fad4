"""Options and folder of the last report, stored in the settings."""

import json
from pathlib import Path
from typing import Any

from msgspec.structs import asdict, replace
from PySide6.QtCore import QLocale, QSettings

from bertviewer.core.util.serialization import convert_valid
from bertviewer.report.catalogue import CHAPTERS
from bertviewer.report.formats.formats import FORMATS
from bertviewer.report.options import Options, Paper

SETTING, FOLDER = "report", "reportFolder"
NAMES = tuple(chapter.name for chapter in CHAPTERS)


def sections_without(omitted: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return all chapters but the omitted ones; ``None`` if there are none of these."""
    return tuple(name for name in NAMES if name not in omitted) if omitted else None


def omitted_sections(sections: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the chapters that are not chosen."""
    return () if sections is None else tuple(name for name in NAMES if name not in sections)


def load_options(model: str) -> Options:
    """Return the last options; title and corpus only for the same model."""
    stored = _stored()
    options = convert_valid({"paper": _default_paper(), **stored}, Options)
    # A chapter that is new in this version is not omitted.
    omitted = stored.get("left_out")
    names = tuple(map(str, omitted)) if isinstance(omitted, list) else ()
    options = replace(options, sections=sections_without(names))
    if stored.get("model") != model:
        options = replace(options, title="", corpus="")
    if options.format not in [each.name for each in FORMATS]:
        options = replace(options, format=FORMATS[0].name)
    return options


def store_options(options: Options, model: str) -> None:
    """Store the options of a report of this model; the statistic is the window's."""
    stored: dict[str, Any] = asdict(options) | {"model": model}
    del stored["sections"], stored["statistic"]
    stored["left_out"] = omitted_sections(options.sections)
    QSettings().setValue(SETTING, json.dumps(stored))


def last_folder() -> Path | None:
    """Return the folder of the last report, ``None`` if it does not exist."""
    folder = Path(str(QSettings().value(FOLDER, "")))
    try:
        return folder if folder.is_absolute() and folder.is_dir() else None
    except (OSError, ValueError):
        return None


def store_folder(folder: Path) -> None:
    """Store the folder of a report."""
    QSettings().setValue(FOLDER, str(folder))


def _stored() -> dict[str, Any]:
    """Return the stored options, which may be invalid."""
    try:
        stored = json.loads(str(QSettings().value(SETTING, "{}")))
    except (ValueError, RecursionError):
        return {}
    return stored if isinstance(stored, dict) else {}


def _default_paper() -> Paper:
    """Return the usual paper size of the system's region."""
    is_american = QLocale.system().measurementSystem() == QLocale.MeasurementSystem.ImperialUSSystem
    return "letter" if is_american else "a4"
