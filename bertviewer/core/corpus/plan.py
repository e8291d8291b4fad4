"""What the shards of a run hang on: they can go on in the folder of one that had the same."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from os.path import lexists
from pathlib import Path
from stat import S_ISREG
from typing import Any

from msgspec import Struct

from bertviewer.core.checkpoints.finding import check_inside
from bertviewer.core.corpus.choices import Choices
from bertviewer.core.corpus.folder_files import read_json
from bertviewer.core.corpus.measured import Measured
from bertviewer.core.corpus.survey import DataFile
from bertviewer.core.saving.atomic_files import PREFIX, error_reason, write_atomically
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.serialization import dumps

FOLDER, NAME = "shards", "plan.json"
STDIN_FILE = "standard-input"
"""What came from the standard input, in the same folder."""

_OWN = re.compile(rf"{re.escape(NAME)}|{STDIN_FILE}|process-\d+|\d+\.shard|{re.escape(PREFIX)}.*")
_SENTENCES = 128
_MOST_SHARDS = 64


class Plan(Struct, frozen=True):
    """What is run, and in which shards.

    Attributes:
        model: the digests of its files, its configuration and head, as JSON.
        versions: of the libraries.
        choices: what was chosen.
        data: the files.
        shards: how many.
        source: what the program says of the model everywhere.
        measured: what of the model is measured.
    """

    model: Mapping[str, Any]
    versions: Mapping[str, str]
    choices: Choices
    data: tuple[DataFile, ...]
    shards: int
    source: Mapping[str, Any]
    measured: Measured

    @property
    def sentences(self) -> int:
        """How many there are."""
        return sum(file.sentences for file in self.data)

    def range_of(self, shard: int) -> tuple[int, int]:
        """Return the first sentence of a shard, and the one behind its last."""
        count = self.sentences
        return count * shard // self.shards, count * (shard + 1) // self.shards

    def to_json(self) -> dict[str, Any]:
        """Return what is compared."""
        return {
            "source": dict(self.source),
            "model": dict(self.model),
            "versions": dict(self.versions),
            "choices": self.choices.to_json(),
            "data": [file.to_json() for file in self.data],
            "shards": self.shards,
            "measured": self.measured.to_json(),
        }


def shard_count(sentences: int, choices: Choices) -> int:
    """Return how many shards the data have: it does not hang on who runs them."""
    usual = min(_MOST_SHARDS, -(-sentences // _SENTENCES))
    return max(1, min(sentences, choices.shards or usual))


def check_plan(folder: Path, plan: Plan) -> None:
    """Write the plan into the folder of a run's shards, or return if it is there.

    Raises:
        UserError: there are shards of something else, or it cannot be written.
    """
    file = made(folder) / NAME
    wanted = dumps(plan.to_json(), indent=1)
    if file.exists():
        difference = _difference(read_plan(file), json.loads(wanted))
        if difference:
            raise UserError(
                f"{folder}: it holds the shards of another run ({difference} differ); "
                "choose another folder, or delete this one"
            )
        return
    write_atomically(file, wanted + b"\n")


def made(folder: Path) -> Path:
    """Return the folder of a run's shards, which is made if it is not there.

    Raises:
        UserError: it cannot be.
    """
    shards = folder / FOLDER
    try:
        shards.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot write {shards}: {error_reason(error)}") from error
    return shards


def strangers_in(folder: Path) -> list[str]:
    """Return what lies in the folder of a run's shards, or what is called so, and is none of it.

    Links and what else is no regular file are none of it, whatever they are called.

    Raises:
        UserError: it cannot be read, or is a link to another folder.
    """
    shards = folder / FOLDER
    if lexists(shards):
        check_inside(shards)
    try:
        return sorted(
            file.name
            for file in shards.iterdir()
            if not _OWN.fullmatch(file.name) or not S_ISREG(file.lstat().st_mode)
        )
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UserError(f"cannot write {shards}: {error_reason(error)}") from error


def take_away(folder: Path) -> None:
    """Take the folder of a run's shards away, but for what is not of the run."""
    with suppress(OSError):
        for file in (folder / FOLDER).iterdir():
            if _OWN.fullmatch(file.name):
                with suppress(OSError):
                    file.unlink()
        (folder / FOLDER).rmdir()


def read_plan(file: Path) -> dict[str, Any]:
    """Return a plan as JSON.

    Raises:
        UserError: it cannot be read.
    """
    check_inside(file.parent)
    found = read_json(file, "corpus plan")
    if not isinstance(found, dict):
        raise UserError(f"{file}: not a corpus plan")
    return found


def _difference(left: Mapping[str, Any], right: Mapping[str, Any]) -> str:
    names = {"source": "the model", "model": "the model", "versions": "versions",
             "choices": "options", "data": "the data", "shards": "shards",
             "measured": "versions"}  # fmt: skip
    different = dict.fromkeys(
        title for key, title in names.items() if left.get(key) != right.get(key)
    )
    return ", ".join(different)
