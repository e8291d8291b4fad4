"""The plan of a run: model, data, options and shards; and the folder of the shards.

A run continues in the folder of an interrupted one if their plans are equal.
"""

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
from bertviewer.core.corpus.data_files import DataFile
from bertviewer.core.corpus.measurement_spec import MeasurementSpec
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.corpus.reading import read_json
from bertviewer.core.saving.atomic_files import PREFIX, write_atomically
from bertviewer.core.util.errors import UserError, error_reason
from bertviewer.core.util.serialization import dumps

SHARDS_FOLDER, PLAN_FILE = "shards", "plan.json"
STDIN_FILE = "standard-input"
"""A copy of the standard input, in the same folder."""

_OWN = re.compile(
    rf"{re.escape(PLAN_FILE)}|{STDIN_FILE}|process-\d+|\d+\.shard|{re.escape(PREFIX)}.*"
)
_SENTENCES = 128
_MAX_SHARDS = 64
_TITLES = {
    **{"source": "the model", "model": "the model", "versions": "versions"},
    **{"choices": "options", "data": "the data", "shards": "shards", "measured": "versions"},
}


class Plan(Struct, frozen=True):
    """What is run, and in which shards.

    Attributes:
        model: digests of its files and of its configuration, as JSON.
        versions: versions of the libraries.
        options: the options.
        data: the data files.
        shards: number of shards.
        source: source of the model, as JSON.
        measured: what is measured of the model.
    """

    model: Mapping[str, Any]
    versions: Mapping[str, str]
    options: CorpusOptions
    data: tuple[DataFile, ...]
    shards: int
    source: Mapping[str, Any]
    measured: MeasurementSpec

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return sum(file.sentences for file in self.data)

    def range_of(self, shard: int) -> tuple[int, int]:
        """Return the first sentence of a shard, and the one after its last."""
        count = self.sentences
        return count * shard // self.shards, count * (shard + 1) // self.shards

    def to_json(self) -> dict[str, Any]:
        """Return what is stored and compared."""
        return {
            "source": dict(self.source),
            "model": dict(self.model),
            "versions": dict(self.versions),
            "choices": self.options.to_json(),
            "data": [file.to_json() for file in self.data],
            "shards": self.shards,
            "measured": self.measured.to_json(),
        }


def shard_count(sentences: int, options: CorpusOptions) -> int:
    """Return the number of shards; independent of the number of processes."""
    usual = min(_MAX_SHARDS, -(-sentences // _SENTENCES))
    return max(1, min(sentences, options.shards or usual))


def store_plan(folder: Path, plan: Plan) -> None:
    """Write the plan into the folder of the shards, or compare it with the one there.

    Raises:
        UserError: the shards there are those of another plan, or it cannot be written.
    """
    file = create_shards_folder(folder) / PLAN_FILE
    content = dumps(plan.to_json(), indent=1)
    if not file.exists():
        write_atomically(file, content + b"\n")
        return
    left, right = read_plan(file), json.loads(content)
    different = dict.fromkeys(
        title for key, title in _TITLES.items() if left.get(key) != right.get(key)
    )
    if different:
        raise UserError(
            f"{folder}: it holds the shards of another run ({', '.join(different)} differ); "
            "choose another folder, or delete this one"
        )


def create_shards_folder(folder: Path) -> Path:
    """Create the folder of the shards if necessary, and return it.

    Raises:
        UserError: it cannot be created.
    """
    shards = folder / SHARDS_FOLDER
    try:
        shards.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot write {shards}: {error_reason(error)}") from error
    return shards


def foreign_files(folder: Path) -> list[str]:
    """Return the names of files in the folder of the shards that are not ours.

    Links and other files that are not regular are foreign, whatever their names.

    Raises:
        UserError: the folder cannot be read, or is a link to another one.
    """
    shards = folder / SHARDS_FOLDER
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


def cleanup(folder: Path) -> None:
    """Remove our files from the folder of the shards, and the folder if it is then empty."""
    with suppress(OSError):
        for file in (folder / SHARDS_FOLDER).iterdir():
            if _OWN.fullmatch(file.name):
                with suppress(OSError):
                    file.unlink()
        (folder / SHARDS_FOLDER).rmdir()


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
