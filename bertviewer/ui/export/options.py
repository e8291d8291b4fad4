"""What a person wishes of a report, kept from one report to the next."""

import json
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace
from PySide6.QtCore import QLocale, QSettings

from bertviewer.core.util.serialization import convert_valid
from bertviewer.report.choices import Choices, Paper, today
from bertviewer.report.formats.formats import FORMATS

SETTING, FOLDER = "report", "reportFolder"


class Wishes(Struct, frozen=True):
    """How the report is to be.

    Attributes:
        left_out: the chapters that are not wanted. One that is new to the program is.
        layers: the layers whose heads are shown, as they were written down.
        paper: the size of its pages.
        title: ``""`` for the model's name.
        author: ``""`` for none.
        is_grey: whether it is for a printer without colours.
        form: the name of its format.
        corpus: the folder of a corpus of the model, ``""`` for none.
    """

    left_out: tuple[str, ...] = ()
    layers: str = ""
    paper: Paper = "a4"
    title: str = ""
    author: str = ""
    is_grey: bool = False
    form: str = FORMATS[0].name
    corpus: str = ""

    def choices(self, chapters: tuple[str, ...], command: str) -> Choices:
        """Return what a report is built by; ``chapters`` are the names of all that there are."""
        sections = tuple(name for name in chapters if name not in self.left_out)
        return Choices(
            sections=sections if self.left_out else None,
            paper=self.paper,
            title=self.title.strip(),
            author=self.author.strip(),
            is_grey=self.is_grey,
            date=today(),
            command=command,
        )


def remembered(model: str) -> Wishes:
    """Return what was wished for last; title and corpus only if it was the model of that name."""
    stored = _stored()
    found = convert_valid({"paper": _usual_paper(), **stored}, Wishes)
    if stored.get("model") != model:
        found = replace(found, title="", corpus="")
    if found.form not in [each.name for each in FORMATS]:
        found = replace(found, form=FORMATS[0].name)
    return found


def remember(wishes: Wishes, model: str) -> None:
    """Keep what is wished for, from a report of the model of that name."""
    QSettings().setValue(SETTING, json.dumps({**asdict(wishes), "model": model}))


def last_folder() -> Path | None:
    """Return where a report was written last, ``None`` if that folder is not there."""
    folder = Path(str(QSettings().value(FOLDER, "")))
    try:
        return folder if folder.is_absolute() and folder.is_dir() else None
    except (OSError, ValueError):
        return None


def remember_folder(folder: Path) -> None:
    """Keep where a report was written."""
    QSettings().setValue(FOLDER, str(folder))


def _stored() -> dict[str, Any]:
    """Return what is stored; settings may hold anything."""
    try:
        stored = json.loads(str(QSettings().value(SETTING, "{}")))
    except (ValueError, RecursionError):
        return {}
    return stored if isinstance(stored, dict) else {}


def _usual_paper() -> Paper:
    """Return the paper that printers have where the person lives."""
    is_american = QLocale.system().measurementSystem() == QLocale.MeasurementSystem.ImperialUSSystem
    return "letter" if is_american else "a4"
