"""Makes the folder of a corpus: looks at data and model, runs what is left, merges at the end."""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from bertviewer import __version__
from bertviewer.core.corpus.as_run import configuration_digest
from bertviewer.core.corpus.choices import Choices
from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.corpus.layouts import SECOND
from bertviewer.core.corpus.merging import merge_shards
from bertviewer.core.corpus.plan import (
    FOLDER,
    NAME,
    STDIN_FILE,
    Plan,
    check_plan,
    made,
    read_plan,
    shard_count,
    strangers_in,
    take_away,
)
from bertviewer.core.corpus.reading import is_corpus, read_corpus, read_manifest
from bertviewer.core.corpus.records import STDIN
from bertviewer.core.corpus.shard_files import shard_file
from bertviewer.core.corpus.survey import DataFile, survey
from bertviewer.core.corpus.waiting import PATIENT, Others, Patience, working
from bertviewer.core.corpus.writing import FEATURES, MANIFEST, names_in, write_corpus
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.failures import as_user_error
from bertviewer.core.saving.atomic_files import write_atomically
from bertviewer.core.saving.model_files import check_no_model_file
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.tokenization.files import READ_BY_TRANSFORMERS
from bertviewer.core.tokenization.tokenization import reads_text
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import sha256_of
from bertviewer.core.util.progress import Progress

LIBRARIES = ("torch", "transformers", "tokenizers", "numpy")
_LOOKING = "Inspecting the modules' outputs"
_BLOCK = 1 << 20


class Part(Struct, frozen=True):
    """Which part of the shards this process runs: rank, rank + world and so on.

    Attributes:
        rank: which process this is.
        world: how many there are.
        threads: how many shards it runs side by side.
        device: as torch names it.
    """

    rank: int = 0
    world: int = 1
    threads: int = 1
    device: str = "cpu"


ALONE = Part()
"""What one process runs that has no others beside it."""


class CorpusWish(Struct, frozen=True):
    """What is to be made.

    Attributes:
        data: the files; ``-`` is the standard input.
        choices: what the figures hang on.
        folder: where the corpus is written.
        command: what the manifest says that makes it again.
    """

    data: tuple[Path, ...]
    choices: Choices
    folder: Path
    command: str


def check_folder(folder: Path, source: ModelSource) -> None:
    """Return if a corpus of a model can be written into a folder; it is made if it is not there.

    Raises:
        UserError: it cannot be, or pyarrow is not installed.
    """
    for name in (FEATURES, MANIFEST):
        check_no_model_file(folder / name, [source])
    others = names_in(folder)
    if others and not is_corpus(folder) and FOLDER not in others:
        raise UserError(
            f"cannot write {folder}: the folder contains other files, such as {others[0]}"
        )
    if strangers := strangers_in(folder):
        raise UserError(
            f"cannot write {folder / FOLDER}: the folder contains other files, such as "
            f"{strangers[0]}"
        )


def threads_for(device: str) -> int:
    """Return how many shards a process runs side by side: as many as torch would use threads."""
    import torch

    return torch.get_num_threads() if device == "cpu" else 1


def make_corpus(
    model: LoadedModel,
    wish: CorpusWish,
    progress: Progress,
    part: Part = ALONE,
    stdin: BinaryIO | None = None,
    *,
    patience: Patience = PATIENT,
) -> Corpus | None:
    """Run a model over the data; a folder that has a part of it already is gone on with.

    Where there are several processes, the first one waits for the others' shards, with
    ``patience``, and merges; the others return ``None``.

    Raises:
        UserError: something that the user can mend; what is finished stays in the folder.
        Cancelled: by ``progress``, likewise.
    """
    choices, folder = wish.choices, wish.folder
    choices.check()
    check_folder(folder, model.source)
    if [*map(str, wish.data)].count(STDIN) > 1:
        raise UserError("-: standard input can be read only once")
    places = [_place(path, folder, part, stdin) for path in wish.data]
    files = survey(places, choices.column, choices.limit, progress)
    plan = _plan(model, files, choices, part.device, progress)
    digest = hashlib.sha256(json.dumps(plan.to_json(), sort_keys=True).encode()).hexdigest()
    if is_corpus(folder):
        take_away(folder)  # where the data came from the standard input once more
        if read_manifest(folder).get("plan") != digest:
            raise UserError(
                f"{folder}: the folder already holds another corpus; choose another folder"
            )
        return read_corpus(folder) if part.rank == 0 else None
    from bertviewer.core.corpus.running import run_shards

    own = range(part.rank, plan.shards, part.world)
    if part.rank == 0:
        check_plan(folder, plan)
        others = Others(folder, part.world, patience)
        run_shards(model, plan, folder, own, progress, threads=part.threads)
        others.wait(plan.shards, progress)
        return _finish(folder, wish.command, digest, progress)
    if any(not shard_file(folder, shard).exists() for shard in own):
        check_plan(folder, plan)
        with working(folder, part.rank):
            run_shards(model, plan, folder, own, progress, threads=part.threads)
    return None


def _finish(folder: Path, command: str, digest: str, progress: Progress) -> Corpus:
    """Merge all shards, and take them away once the result is written."""
    found = merge_shards([folder], read_plan(folder / FOLDER / NAME), command, progress)
    manifest = {**found.manifest, "plan": digest}
    corpus = Corpus(manifest, found.rows, found.features, found.heads, found.outliers)
    if not corpus.sentences:
        raise UserError(
            "no sentence could be run: the tokenizer rejects all of them, or --max-tokens leaves "
            "no room for text"
        )
    progress(0, 0, "Writing the corpus")
    write_corpus(folder, corpus)
    take_away(folder)
    return corpus


def _place(path: Path, folder: Path, part: Part, stdin: BinaryIO | None) -> tuple[Path, str]:
    """Return where a file of the data is, and its name; what comes from stdin is kept as a file."""
    if str(path) != STDIN:
        return path, path.name or str(path)
    if part.world > 1:
        raise UserError("-: several processes cannot share standard input; give a file")
    if stdin is None:
        raise UserError("-: standard input is not available")
    kept = made(folder) / STDIN_FILE
    write_atomically(kept, iter(lambda: stdin.read(_BLOCK), b""))
    return kept, STDIN


def _plan(
    model: LoadedModel,
    files: tuple[DataFile, ...],
    choices: Choices,
    device: str,
    progress: Progress,
) -> Plan:
    """Load the weights, and find out what of the model is measured."""
    model.confirm(progress)
    architecture = model.architecture
    config = architecture.config
    kind = architecture.root.class_name
    if not reads_text(architecture):
        raise UserError(f"{kind} does not read text, so no sentence can be run")
    limit = model.length_limits().shared
    if limit is not None and limit < SECOND.tokens:
        raise UserError(f"{kind} reads {limit} tokens at most, too few for a corpus")
    module = model.module(choices.random_weights, progress, device)
    model.tokenizer(progress)
    progress(0, 0, _LOOKING)
    from bertviewer.core.corpus.texts import settle_attention, step_by_step
    from bertviewer.core.corpus.trial import eager_gives_the_same, look
    from bertviewer.core.loading.layer_synchronizer import Lockstep

    settle_attention(module, architecture.whole_config, choices.max_tokens)
    problem = f"{model.source.name}: the model cannot run a batch"
    lockstep = Lockstep(module, model.reading, lambda: progress(0, 0, _LOOKING))
    with as_user_error(module, problem):
        is_eager = eager_gives_the_same(module, architecture, lockstep)
        with step_by_step(module, config, is_eager=is_eager):
            measured = look(module, model.architecture, choices.modules, lockstep)
    measured = replace(measured, is_eager=is_eager)
    if not measured.calls:
        raise UserError(
            f"--modules {choices.modules}: no module with such a path has one output vector per "
            "token"
        )
    count = sum(file.sentences for file in files)
    return Plan(
        _digests(model, progress),
        {"bertviewer": __version__, **{name: version(name) for name in LIBRARIES}},
        choices,
        files,
        shard_count(count, choices),
        _source(model),
        measured,
    )


def _digests(model: LoadedModel, progress: Progress) -> dict[str, Any]:
    """Return the digests of all that a model is made of."""
    files = [] if model.checkpoint is None else [file.own for file in model.checkpoint.files]
    if model.source.kind not in ("preset", "runs"):
        beside = (model.source.folder / name for name in READ_BY_TRANSFORMERS)
        files += [file for file in beside if file.is_file()]
    return {
        "configuration": configuration_digest(model.architecture.config),
        "files": {file.name: sha256_of(file, progress) for file in files},
    }


def _source(model: LoadedModel) -> dict[str, Any]:
    """Return what is said of a model's source, wherever it lies and however it is read."""
    found = replace(model.architecture.source, offloaded=False).to_json()
    if model.source.kind not in ("preset", "demo", "hub"):
        found["name"] = Path(found["name"]).name
    return found
