"""What is in a folder that a corpus is to be written into: nothing, a part of a run, a corpus."""

from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.corpus.corpus import configuration_digest
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.corpus.parquet import pyarrow_parts
from bertviewer.core.corpus.plan import PLAN_FILE, SHARDS_FOLDER, read_plan
from bertviewer.core.corpus.reading import is_corpus, read_manifest
from bertviewer.core.corpus.writing import WHY_PYARROW
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.ui.corpus.options import choices_of

Kind = Literal["new", "part", "whole", "other", "taken", "bad"]


class FolderState(Struct, frozen=True):
    """What there is.

    Attributes:
        kind: "new" for nothing, "part" and "whole" of a corpus of the open model, "other" for one
            of another model, "taken" where something else is there, "bad" where it cannot be read.
        problem: what is there instead, or why it cannot be read.
        done: how many shards are finished.
        shards: of how many.
        sentences: of how many sentences.
        data: the names of the files.
        choices: what was chosen.
    """

    kind: Kind
    problem: str = ""
    done: int = 0
    shards: int = 0
    sentences: int = 0
    data: tuple[str, ...] = ()
    choices: CorpusOptions = CorpusOptions()

    def goes_on_with(self, choices: CorpusOptions) -> bool:
        """Whether these choices are the same; where it runs is not chosen here."""
        return replace(self.choices, device=choices.device) == choices


def look(folder: Path, config: dict[str, Any], progress: Progress) -> FolderState:
    """Return what is in a folder; ``config`` is that of the open model."""
    progress(0, 0, f"Checking {folder.name}")
    try:
        if folder.exists() and not folder.is_dir():
            return FolderState("taken", folder.name)
        pyarrow_parts(WHY_PYARROW)
        names = sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []
        if is_corpus(folder):
            manifest = read_manifest(folder)
            return _state("whole", manifest, config, 0, int(manifest["sentences"]))
        if SHARDS_FOLDER in names:
            return _part(folder, config)
        return FolderState("taken", names[0]) if names else FolderState("new")
    except (UserError, OSError, KeyError, TypeError, ValueError) as error:
        return FolderState("bad", str(error))


def _part(folder: Path, config: dict[str, Any]) -> FolderState:
    plan = folder / SHARDS_FOLDER / PLAN_FILE
    if not plan.exists():
        return FolderState("new")
    found = read_plan(plan)
    done = sum(1 for _ in (folder / SHARDS_FOLDER).glob("*.shard"))
    return _state("part", found, config, done, sum(file["sentences"] for file in found["data"]))


def _state(
    kind: Kind, found: dict[str, Any], config: dict[str, Any], done: int, sentences: int
) -> FolderState:
    if found["model"]["configuration"] != configuration_digest(config):
        return FolderState("other", str(found["source"]["name"]))
    shards = found.get("shards", 0)
    return FolderState(
        kind,
        done=done,
        shards=shards if isinstance(shards, int) else len(shards),
        sentences=sentences,
        data=tuple(str(file["name"]) for file in found.get("data", ())),
        choices=choices_of(found.get("choices")),
    )
