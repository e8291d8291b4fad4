"""Making a corpus: inspect data and model, run the missing shards, merge them at the end."""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from bertviewer import __version__
from bertviewer.core.corpus.corpus import Corpus, configuration_digest
from bertviewer.core.corpus.data_files import DataFile, scan
from bertviewer.core.corpus.heartbeat import (
    DEFAULT_TIMEOUTS,
    HeartbeatMonitor,
    Timeouts,
    heartbeat,
)
from bertviewer.core.corpus.measurement_spec import SECOND
from bertviewer.core.corpus.merging import merge_shards
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.corpus.plan import (
    PLAN_FILE,
    SHARDS_FOLDER,
    STDIN_FILE,
    Plan,
    cleanup,
    create_shards_folder,
    foreign_files,
    read_plan,
    shard_count,
    store_plan,
)
from bertviewer.core.corpus.reading import FEATURES, MANIFEST, is_corpus, read_corpus, read_manifest
from bertviewer.core.corpus.records import STDIN
from bertviewer.core.corpus.shards import shard_file
from bertviewer.core.corpus.writing import prepare_folder, write_corpus
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
_INSPECTING = "Inspecting the modules' outputs"
_BLOCK = 1 << 20


class Process(Struct, frozen=True):
    """One of several processes, which runs the shards rank, rank + world and so on.

    Attributes:
        rank: rank of the process.
        world: number of processes.
        threads: number of shards that it runs at once.
        device: torch's name of its device.
    """

    rank: int = 0
    world: int = 1
    threads: int = 1
    device: str = "cpu"


SINGLE_PROCESS = Process()


class CorpusRequest(Struct, frozen=True):
    """A corpus to make.

    Attributes:
        data: data files; ``-`` is the standard input.
        options: the options.
        folder: folder of the corpus.
        command: command for the manifest that makes the same corpus.
    """

    data: tuple[Path, ...]
    options: CorpusOptions
    folder: Path
    command: str


def check_folder(folder: Path, source: ModelSource) -> None:
    """Check that a model's corpus can be written into a folder, which is created if necessary.

    Raises:
        UserError: it cannot, or pyarrow is not installed.
    """
    for name in (FEATURES, MANIFEST):
        check_no_model_file(folder / name, [source])
    others = prepare_folder(folder)
    place, foreign = folder, others if not is_corpus(folder) and SHARDS_FOLDER not in others else []
    if not foreign:
        place, foreign = folder / SHARDS_FOLDER, foreign_files(folder)
    if foreign:
        raise UserError(
            f"cannot write {place}: the folder contains other files, such as {foreign[0]}"
        )


def threads_for(device: str) -> int:
    """Return how many shards a process runs at once: torch's number of threads on the CPU."""
    import torch

    return torch.get_num_threads() if device == "cpu" else 1


def make_corpus(
    model: LoadedModel,
    request: CorpusRequest,
    progress: Progress,
    process: Process = SINGLE_PROCESS,
    stdin: BinaryIO | None = None,
    *,
    timeouts: Timeouts = DEFAULT_TIMEOUTS,
) -> Corpus | None:
    """Run a model over the data; an interrupted run in the folder is continued.

    The first of several processes waits for the others' shards and merges them; the others return
    ``None``.

    Raises:
        UserError: something that the user can fix; finished shards are kept.
        Cancelled: by ``progress``; finished shards are kept.
    """
    options, folder = request.options, request.folder
    options.check()
    check_folder(folder, model.source)
    if [*map(str, request.data)].count(STDIN) > 1:
        raise UserError("-: standard input can be read only once")
    places = [_data_place(path, folder, process, stdin) for path in request.data]
    files = scan(places, options.column, options.limit, progress)
    plan = _plan(model, files, options, process.device, progress)
    digest = hashlib.sha256(json.dumps(plan.to_json(), sort_keys=True).encode()).hexdigest()
    if is_corpus(folder):
        cleanup(folder)  # remove the copy of the standard input
        if read_manifest(folder).get("plan") != digest:
            raise UserError(
                f"{folder}: the folder already holds another corpus; choose another folder"
            )
        return read_corpus(folder) if process.rank == 0 else None
    from bertviewer.core.corpus.running import run_shards

    own = range(process.rank, plan.shards, process.world)
    if process.rank == 0:
        store_plan(folder, plan)
        monitor = HeartbeatMonitor(folder, process.world, timeouts)
        run_shards(model, plan, folder, own, progress, threads=process.threads)
        monitor.wait(plan.shards, progress)
        return _finish(folder, request.command, digest, progress)
    if any(not shard_file(folder, shard).exists() for shard in own):
        store_plan(folder, plan)
        with heartbeat(folder, process.rank):
            run_shards(model, plan, folder, own, progress, threads=process.threads)
    return None


def _finish(folder: Path, command: str, digest: str, progress: Progress) -> Corpus:
    """Merge all shards, and remove them after the corpus is written."""
    found = merge_shards([folder], read_plan(folder / SHARDS_FOLDER / PLAN_FILE), command, progress)
    corpus = replace(found, manifest={**found.manifest, "plan": digest})
    if not corpus.sentences:
        raise UserError(
            "no sentence could be run: the tokenizer rejects all of them, or --max-tokens leaves "
            "no room for text"
        )
    progress(0, 0, "Writing the corpus")
    write_corpus(folder, corpus)
    cleanup(folder)
    return corpus


def _data_place(
    path: Path, folder: Path, process: Process, stdin: BinaryIO | None
) -> tuple[Path, str]:
    """Return path and name of a data file; the standard input is copied to a file."""
    if str(path) != STDIN:
        return path, path.name or str(path)
    if process.world > 1:
        raise UserError("-: several processes cannot share standard input; give a file")
    if stdin is None:
        raise UserError("-: standard input is not available")
    copy = create_shards_folder(folder) / STDIN_FILE
    write_atomically(copy, iter(lambda: stdin.read(_BLOCK), b""))
    return copy, STDIN


def _plan(
    model: LoadedModel,
    files: tuple[DataFile, ...],
    options: CorpusOptions,
    device: str,
    progress: Progress,
) -> Plan:
    """Load the weights, and find out what is measured of the model."""
    model.ensure_built(progress)
    architecture = model.architecture
    config = architecture.config
    kind = architecture.root.class_name
    if not reads_text(architecture):
        raise UserError(f"{kind} does not read text, so no sentence can be run")
    limit = model.length_limits().shared
    if limit is not None and limit < SECOND.tokens:
        raise UserError(f"{kind} reads {limit} tokens at most, too few for a corpus")
    module = model.module(options.random_weights, progress, device)
    model.tokenizer(progress)
    progress(0, 0, _INSPECTING)
    from bertviewer.core.corpus.probe import eager_is_equivalent, probe
    from bertviewer.core.corpus.recorder import settle_attention, showing_attention
    from bertviewer.core.loading.layer_synchronizer import LayerSynchronizer

    settle_attention(module, architecture.whole_config, options.max_tokens)
    problem = f"{model.source.name}: the model cannot run a batch"
    synchronizer = LayerSynchronizer(
        module, model.offload_state, lambda: progress(0, 0, _INSPECTING)
    )
    with as_user_error(module, problem):
        is_eager = eager_is_equivalent(module, architecture, synchronizer)
        with showing_attention(module, config, is_eager=is_eager):
            measured = probe(module, model.architecture, options.modules, synchronizer)
    measured = replace(measured, is_eager=is_eager)
    if not measured.calls:
        raise UserError(
            f"--modules {options.modules}: no module with such a path has one output vector per "
            "token"
        )
    count = sum(file.sentences for file in files)
    return Plan(
        _digests(model, progress),
        {"bertviewer": __version__, **{name: version(name) for name in LIBRARIES}},
        options,
        files,
        shard_count(count, options),
        _source(model),
        measured,
    )


def _digests(model: LoadedModel, progress: Progress) -> dict[str, Any]:
    """Return the digests of the configuration and of all files of a model."""
    files = [] if model.checkpoint is None else [file.own for file in model.checkpoint.files]
    if model.source.kind not in ("preset", "runs"):
        others = (model.source.folder / name for name in READ_BY_TRANSFORMERS)
        files += [file for file in others if file.is_file()]
    return {
        "configuration": configuration_digest(model.architecture.config),
        "files": {file.name: sha256_of(file, progress) for file in files},
    }


def _source(model: LoadedModel) -> dict[str, Any]:
    """Return a model's source as JSON, independent of its folder and of offloading."""
    found = replace(model.architecture.source, offloaded=False).to_json()
    if model.source.kind not in ("preset", "demo", "hub"):
        found["name"] = Path(found["name"]).name
    return found
