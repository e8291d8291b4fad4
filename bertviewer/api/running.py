"""Runs of an open model: a sentence, a corpus, or the runs of a file that was opened."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bertviewer.api.run import Run
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.tokenization.sentence import check_text
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.report.run_details import RunContext

if TYPE_CHECKING:
    from bertviewer.core.corpus.corpus import Corpus
    from bertviewer.core.corpus.making import Process
    from bertviewer.core.corpus.options import CorpusOptions


def run_of(
    model: LoadedModel,
    sentence: Sentence,
    progress: Progress,
    *,
    random_weights: bool,
    device: str,
    is_checked: bool,
) -> Run:
    """Run a sentence, and check the run if requested.

    Raises:
        UserError: the sentence, the model or the device does not allow it.
    """
    check_text(sentence)
    model.check_weights(random_weights)
    model.prepare_tokenizer()
    from bertviewer.core.util import libraries

    libraries.load(progress)
    from bertviewer.core.analysis.layers import unit_paths
    from bertviewer.core.checks.check import check_run
    from bertviewer.core.runs.activation_cache import ActivationCache
    from bertviewer.core.runs.device import find_device
    from bertviewer.core.runs.running import run_sentence

    device = find_device(device)
    cache = ActivationCache("everything" if is_checked else "units")
    run = run_sentence(
        model, sentence, progress, random_weights=random_weights, cache=cache, device=device
    )
    check = None
    if is_checked:
        check = check_run(model, cache, progress=progress)
        run, cache = replace(run, check=check), cache.units(unit_paths(model.architecture))
    return Run(RunContext(model, RecordedRun(run, cache, model), progress), check)


def saved_runs(model: LoadedModel, progress: Progress) -> tuple[Run, Run | None]:
    """Return the last run and run A of the file of runs that was opened.

    Raises:
        UserError: something else was opened, or the file cannot be read.
    """
    source = model.source
    if source.kind != "runs":
        raise UserError(f"{source.name} is not a file of saved runs")
    from bertviewer.core.saved_runs.file_format import check_belongs, read_runs
    from bertviewer.core.schema.check import merge_checks

    def loaded(run: ActivationRun, *, is_a: bool) -> Run:
        recorded = RecordedRun(run, None, model, file=source.name, is_saved_baseline=is_a)
        return Run(RunContext(model, recorded, progress))

    file = read_runs(source.path, progress)
    check_belongs(source.path, file, model.architecture)
    check = merge_checks(file.checks, model.architecture) or file.run.check
    last = loaded(replace(file.run, check=check), is_a=False)
    return last, None if file.baseline is None else loaded(file.baseline, is_a=True)


def corpus_of(
    model: LoadedModel,
    data: Sequence[Path],
    folder: Path,
    options: "CorpusOptions",
    progress: Progress,
) -> "Corpus | None":
    """Run many sentences, or the rest of an interrupted corpus; ``None`` in all other processes.

    Raises:
        UserError: the data, the folder, the model or the device does not allow it.
    """
    check_corpus(model.source, folder, options)
    if not data:
        raise UserError("a corpus needs data; give a file of sentences")
    model.check_weights(options.random_weights)
    model.prepare_tokenizer()
    from bertviewer.core.corpus.making import CorpusRequest, make_corpus
    from bertviewer.core.runs.device import find_device
    from bertviewer.core.util import libraries
    from bertviewer.report.command import corpus_command

    libraries.load(progress)
    process = _process(options.device)
    find_device(process.device)
    options = replace(options, device=options.device.partition(":")[0])
    # The command is the same wherever the folder is.
    command = corpus_command(model.source, data, Path(folder.name or folder), options)
    stdin = None if sys.stdin is None else sys.stdin.buffer
    return make_corpus(
        model, CorpusRequest(tuple(data), options, folder, command), progress, process, stdin
    )


def check_corpus(source: ModelSource, folder: Path, options: "CorpusOptions") -> None:
    """Check the options and the folder of a corpus before a model is open.

    Raises:
        UserError: a number is out of bounds, or the folder cannot have a corpus.
    """
    from bertviewer.core.corpus.making import check_folder

    options.check()
    check_folder(folder, source)


def is_first_process() -> bool:
    """Return whether this is the first of torchrun's processes, or the only one."""
    return _environment_number("RANK", 0) == 0


def _process(device: str) -> "Process":
    """Return this process, as torchrun describes it in the environment."""
    from bertviewer.core.corpus.making import Process, threads_for

    if device == "cuda":
        device = f"cuda:{_environment_number('LOCAL_RANK', 0)}"
    rank, count = _environment_number("RANK", 0), _environment_number("WORLD_SIZE", 1)
    return Process(rank, count, threads_for(device), device)


def _environment_number(name: str, default: int) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isdecimal() else default
