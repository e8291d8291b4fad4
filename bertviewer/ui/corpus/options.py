"""What a person wishes to have run, kept from one time to the next, and the command for it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from PySide6.QtCore import QSettings

from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.report.recipe import corpus_command

SETTING = "corpus"
MOST = 2**31 - 1
"""The largest number that Qt's fields take."""
_TEXTS, _NUMBERS = (
    ("column", "modules"),
    ("batch_size", "batch_tokens", "max_tokens", "limit", "shards"),
)


class Wishes(Struct, frozen=True):
    """What is run, how, and where the corpus goes.

    Attributes:
        files: the data.
        folder: "" while none is chosen.
        choices: all that can be chosen beside.
    """

    files: tuple[str, ...] = ()
    folder: str = ""
    choices: CorpusOptions = CorpusOptions()

    def command(self, source: ModelSource, *, are_names: bool = False) -> str:
        """Return the command that does the same; with names alone it is the same anywhere."""
        files, folder = [Path(file) for file in self.files], Path(self.folder)
        if are_names:
            files, folder = [Path(file.name) for file in files], Path(folder.name)
        return corpus_command(source, files, folder, self.choices)


def proposed_folder(files: tuple[str, ...]) -> str:
    """Return a folder beside the first file, called after it."""
    if not files:
        return ""
    file = Path(files[0])
    return str(file.with_name(f"{file.name.partition('.')[0] or file.name}-corpus"))


def choices_of(data: Any) -> CorpusOptions:
    """Return the choices that JSON has, which may hold anything."""
    if not isinstance(data, Mapping):
        return CorpusOptions()
    found: dict[str, Any] = {}
    for name in CorpusOptions.__struct_fields__:
        value = data.get(name)
        is_number = type(value) is int and 0 < value <= MOST
        if (
            (name in _NUMBERS and is_number)
            or (name in (*_TEXTS, "device") and isinstance(value, str))
            or (name == "random_weights" and isinstance(value, bool))
        ):
            found[name] = value
    return CorpusOptions(**found)


def remembered() -> Wishes:
    """Return what was wished for last; settings may hold anything."""
    try:
        stored = json.loads(str(QSettings().value(SETTING, "{}")))
    except (ValueError, RecursionError):
        return Wishes()
    if not isinstance(stored, dict):
        return Wishes()
    files, folder = stored.get("files"), stored.get("folder")
    return Wishes(
        tuple(map(str, files)) if isinstance(files, list) else (),
        folder if isinstance(folder, str) else "",
        choices_of(stored.get("choices")),
    )


def remember(wishes: Wishes) -> None:
    """Keep what is wished for."""
    stored = {
        "files": wishes.files,
        "folder": wishes.folder,
        "choices": wishes.choices.to_json(),
    }
    QSettings().setValue(SETTING, json.dumps(stored))
