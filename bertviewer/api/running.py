"""Runs of an open model: of a sentence or of many, or read from a file that was opened."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from msgspec.structs import replace

from bertviewer.api.arguments import check_wishes
from bertviewer.api.run import Run
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.tokenization.sentence import check_text
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.report.recipe import SavedRun, corpus_command

if TYPE_CHECKING:
    from bertviewer.core.corpus.corpus import Corpus
    from bertviewer.core.corpus.making import Process
    from bertviewer.core.corpus.options import CorpusOptions


class CorpusWishes(TypedDict, total=False):
    """What can be chosen of a run over a corpus.

    Attributes:
        column: of JSONL, CSV and Parquet; ``text`` if left out.
        batch_size: so many sentences at most are run together.
        batch_tokens: so many tokens at most, padding included.
        max_tokens: longer sentences are cut to so many.
        limit: so many sentences of the data at most.
        shards: parts that the data are run in; what was stopped goes on with those that are left.
        modules: a pattern of the paths that are measured, as ``encoder.layer.*``.
        random_weights: whether a model without weights is run on seeded random ones.
        device: ``cpu``, ``cuda``, ``cuda:1`` or ``mps``.
    """

    column: str | None
    batch_size: int | None
    batch_tokens: int
    max_tokens: int | None
    limit: int | None
    shards: int | None
    modules: str
    random_weights: bool
    device: str


def run_of(
    model: LoadedModel,
    sentence: Sentence,
    progress: Progress,
    *,
    random_weights: bool,
    device: str,
    is_checked: bool,
) -> Run:
    """Run a sentence, check what came of it if that is wished for, and keep what a look takes.

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
    kept = ActivationCache("everything" if is_checked else "units")
    found = run_sentence(
        model, sentence, progress, random_weights=random_weights, cache=kept, device=device
    )
    if not is_checked:
        return Run(model, found, kept, progress)
    check = check_run(model, kept, progress=progress)
    kept = kept.units(unit_paths(model.architecture))
    return Run(model, replace(found, check=check), kept, progress, whole_check=check)


def corpus_of(
    model: LoadedModel,
    data: Sequence[Path],
    folder: Path,
    wishes: CorpusWishes,
    progress: Progress,
) -> "Corpus | None":
    """Run many sentences, or what is left of them; ``None`` unless this is the first process.

    Raises:
        UserError: the data, the folder, the model or the device does not allow it.
    """
    choices = check_corpus(model.source, folder, wishes)
    if not data:
        raise UserError("a corpus needs data; give a file of sentences")
    model.check_weights(choices.random_weights)
    model.prepare_tokenizer()
    from bertviewer.core.corpus.making import CorpusRequest, make_corpus
    from bertviewer.core.runs.device import find_device
    from bertviewer.core.util import libraries

    libraries.load(progress)
    process = _process(wishes.get("device", "cpu"))
    find_device(process.device)
    # In another folder it is the same.
    command = corpus_command(model.source, data, Path(folder.name or folder), choices)
    stdin = None if sys.stdin is None else sys.stdin.buffer
    wish = CorpusRequest(tuple(data), choices, folder, command)
    return make_corpus(model, wish, progress, process, stdin)


def check_corpus(source: ModelSource, folder: Path, wishes: CorpusWishes) -> "CorpusOptions":
    """Check what can be before a model is open; return what figures and shards hang on.

    Raises:
        UserError: a number is out of bounds, or the folder does not take a corpus.
    """
    from bertviewer.core.corpus.making import check_folder
    from bertviewer.core.corpus.options import CorpusOptions

    check_wishes("a corpus", wishes, CorpusWishes)
    choices = CorpusOptions(**wishes)
    choices = replace(choices, device=choices.device.partition(":")[0])
    choices.check()
    check_folder(folder, source)
    return choices


def is_first_process() -> bool:
    """Whether this is the first of torchrun's processes, or the only one."""
    return _number("RANK", 0) == 0


def _process(device: str) -> "Process":
    """Return this process, as torchrun describes it in the environment."""
    from bertviewer.core.corpus.making import Process, threads_for

    if device == "cuda":
        device = f"cuda:{_number('LOCAL_RANK', 0)}"
    return Process(_number("RANK", 0), _number("WORLD_SIZE", 1), threads_for(device), device)


def _number(name: str, default: int) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isdecimal() else default


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

    file = read_runs(source.path, progress)
    check_belongs(source.path, file, model.architecture)
    check = merge_checks(file.checks, model.architecture) or file.run.check
    last = Run(model, replace(file.run, check=check), None, progress, SavedRun(source.name))
    if file.baseline is None:
        return last, None
    return last, Run(model, file.baseline, None, progress, SavedRun(source.name, is_a=True))
