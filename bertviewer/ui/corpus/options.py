"""What the corpus dialog runs: files, output folder and options, kept between sessions."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, ValidationError, convert
from msgspec.structs import fields
from PySide6.QtCore import QSettings

from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.report.command import corpus_command

SETTING = "corpus"
MAX_NUMBER = 2**31 - 1
"""The largest value of a QSpinBox."""


class CorpusTask(Struct, frozen=True):
    """A run over a corpus.

    Attributes:
        files: the data.
        folder: the output folder, "" while none is chosen.
        options: as on the command line.
    """

    files: tuple[str, ...] = ()
    folder: str = ""
    options: CorpusOptions = CorpusOptions()

    def command(self, source: ModelSource, *, is_portable: bool = False) -> str:
        """Return the equivalent command; a portable one has file names without their folders."""
        files, folder = [Path(file) for file in self.files], Path(self.folder)
        if is_portable:
            files, folder = [Path(file.name) for file in files], Path(folder.name)
        return corpus_command(source, files, folder, self.options)


def proposed_folder(files: tuple[str, ...]) -> str:
    """Return an output folder next to the first file, named after it."""
    if not files:
        return ""
    file = Path(files[0])
    return str(file.with_name(f"{file.name.partition('.')[0] or file.name}-corpus"))


def options_from(data: Any) -> CorpusOptions:
    """Return the options in decoded JSON; missing and invalid ones have their defaults."""
    found: dict[str, Any] = {}
    for field in fields(CorpusOptions):
        try:
            value = convert(data[field.name], field.type)
        except (KeyError, TypeError, ValidationError):
            continue  # settings and manifests may contain anything
        if not isinstance(value, int) or isinstance(value, bool) or 0 < value <= MAX_NUMBER:
            found[field.name] = value
    return CorpusOptions(**found)


def load_task() -> CorpusTask:
    """Return the stored task; what is invalid in it has its defaults."""
    try:
        stored = json.loads(str(QSettings().value(SETTING, "{}")))
    except (ValueError, RecursionError):
        return CorpusTask()
    if not isinstance(stored, Mapping):
        return CorpusTask()
    files, folder = stored.get("files"), stored.get("folder")
    return CorpusTask(
        tuple(map(str, files)) if isinstance(files, list) else (),
        folder if isinstance(folder, str) else "",
        options_from(stored.get("choices")),
    )


def store_task(task: CorpusTask) -> None:
    """Store a task for the next time."""
    stored = {"files": task.files, "folder": task.folder, "choices": task.options.to_json()}
    QSettings().setValue(SETTING, json.dumps(stored))
