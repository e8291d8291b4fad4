"""What the window has the worker do in the background: plain functions.

What they need is imported inside them: nothing of it has to be there for the window to come.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.util import libraries
from bertviewer.core.util.progress import no_progress

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.core.replay.recorded_run import RecordedRun
    from bertviewer.core.runs.device import Device
    from bertviewer.core.saved_runs.run_file import RunFile, RunsToSave
    from bertviewer.core.schema.activation_run import Sentence
    from bertviewer.core.schema.architecture import Architecture
    from bertviewer.core.schema.check import Check
    from bertviewer.core.schema.module_tree import TreeRow
    from bertviewer.core.sources.model_source import ModelSource
    from bertviewer.core.util.progress import Progress
    from bertviewer.core.what_if.scenario import Outcome, Scenario


FIRST_TAB = "bertviewer.ui.map.tab"
OVERVIEW = "bertviewer.ui.module.inspector_page"
VIEW_MODULES = (
    "bertviewer.ui.run.run_panel",
    "bertviewer.ui.tensors.inspector",
    "bertviewer.report.typesetting",
)
REPORT_MODULES = ("bertviewer.ui.export.dialog", "bertviewer.report.drawing")
REST = 0.25
"""Seconds from a new model to the imports that its first run or plot needs."""


class Opened(Struct, frozen=True):
    """An open model, and its tree; and what else there was in a file of runs."""

    model: LoadedModel
    tree: TreeRow
    saved: RunFile | None = None


class Ran(Struct, frozen=True):
    """A run, and the model anew if it was not what was shown."""

    watched: RecordedRun
    corrected: Opened | None


class RanBoth(Struct, frozen=True):
    """A run of the open model, and one of another model for run A."""

    ran: Ran
    run_a: RecordedRun


class Derived(Struct, frozen=True):
    """An architecture with more formulas or flows than it had, and its tree."""

    architecture: Architecture
    tree: TreeRow


def open_model_job(source: ModelSource, progress: Progress) -> Opened:
    """Open a model; the first one that was not seen before waits for torch and transformers."""
    from bertviewer.core.loading.opening import open_model

    saved = _read_runs(source, progress) if source.kind == "runs" else None
    model = open_model(source, progress, store=False)  # the tree comes first
    if saved is not None:
        from bertviewer.core.saved_runs.file_format import check_belongs

        check_belongs(source.path, saved, model.architecture)
    # What its map and overview are made with, so that the window's thread has it already.
    import_module(FIRST_TAB)
    return Opened(model, _tree(model.architecture), saved)


def _read_runs(source: ModelSource, progress: Progress) -> RunFile:
    from bertviewer.core.saved_runs.file_format import read_runs

    progress(0, 0, "Reading the saved runs")
    saved = read_runs(source.path, progress)
    prepare_views()
    return saved


def prepare_overview_job(progress: Progress) -> None:
    """Import what the selected module is described with, once the tree and the middle are drawn."""
    progress(0, 0, "")
    import_module(OVERVIEW)


def prepare_views_job(progress: Progress) -> None:
    """Leave the processor to the window, which has a new model to show, and then prepare them."""
    until = time.monotonic() + (0 if libraries.are_loaded() else REST)
    while time.monotonic() < until:
        progress(0, 0, "")
        time.sleep(REST / 10)
    prepare_views()
    progress(0, 0, "")
    for name in REPORT_MODULES:
        import_module(name)


def prepare_views() -> None:
    """Import what the views of runs and tensors are drawn with, which the first look needs.

    Here, in a worker's thread, and not when the window wants its first plot or formula.
    """
    for name in VIEW_MODULES:
        import_module(name)
    from bertviewer.report import typst_compiler

    typst_compiler.prepare()


def load_libraries_job(model: LoadedModel, progress: Progress) -> tuple[Device, ...]:
    """Import what a model is run with, and return where that can be."""
    model.prepare_tokenizer()
    libraries.load(progress)
    from bertviewer.core.runs.device import available_devices

    return available_devices()


def confirm_job(model: LoadedModel, progress: Progress) -> Opened | None:
    """Build a model that was opened without torch; it comes back if it is not what was shown."""
    model.ensure_built(progress)
    model.store()
    return _correction(model)


def _correction(model: LoadedModel) -> Opened | None:
    """Return a model that is not what was remembered of it, for the first who asks."""
    if not model.was_corrected:
        return None
    model.was_corrected = False
    return Opened(model, _tree(model.architecture))


def random_heads_job(model: LoadedModel, progress: Progress) -> dict[str, tuple[str, ...]]:
    """Return the tensors that the checkpoint lacks for each task, by the task's name.

    Each head is built without storage, and its names are matched with the checkpoint's headers.
    """
    from bertviewer.core.loading.meta_model import read_meta_model
    from bertviewer.core.sources.model_source import find_task
    from bertviewer.core.util.errors import UserError

    found: dict[str, tuple[str, ...]] = {}
    if model.data is None or model.checkpoint is None:
        return found
    for number, name in enumerate(model.tasks):
        progress(number, len(model.tasks), "Looking for task heads in the checkpoint")
        source = replace(model.source, task=find_task(name))
        try:
            spec = read_meta_model(source, model.data, model.checkpoint, None, no_progress)
        except UserError:
            continue  # opening it says why it cannot be built
        found[name] = () if spec.load_report is None else spec.load_report.missing
    return found


def derive_flows_job(model: LoadedModel, progress: Progress) -> Derived:
    """Find what each module of an open model computes."""
    return _derived(model.with_flows(progress))


def derive_counts_job(model: LoadedModel, progress: Progress) -> Derived:
    """Derive the counting formulas of an open model."""
    return _derived(model.with_counts(progress))


def derive_costs_job(model: LoadedModel, progress: Progress) -> Derived:
    """Derive the formulas of what a forward pass costs, once the counts have theirs."""
    return _derived(model.with_costs(progress))


def rebuild_job(scenario: Scenario, model: LoadedModel, progress: Progress) -> Outcome:
    """Build an open model with a scenario's values and count it."""
    from bertviewer.core.what_if.rebuilding import rebuild

    return rebuild(scenario, model.source)


def _derived(architecture: Architecture) -> Derived:
    return Derived(architecture, _tree(architecture))


def _tree(architecture: Architecture) -> TreeRow:
    from bertviewer.core.schema.module_tree import fold

    return fold(architecture)


def run_sentence_job(
    model: LoadedModel,
    sentence: Sentence,
    random_weights: bool,
    device_wish: str,
    progress: Progress,
) -> Ran:
    """Run a sentence through an open model, and keep what it takes to look closer.

    It runs on the device that is wished for, if there is one of that name.
    """
    libraries.load(progress)
    from bertviewer.core.replay.recorded_run import RecordedRun
    from bertviewer.core.runs.activation_cache import ActivationCache
    from bertviewer.core.runs.device import available_devices, chosen_device
    from bertviewer.core.runs.running import run_sentence

    prepare_views()
    device = chosen_device(device_wish, available_devices())
    capture = ActivationCache("units")
    run = run_sentence(
        model, sentence, progress, random_weights=random_weights, cache=capture, device=device
    )
    return Ran(RecordedRun(run, capture), _correction(model))


def run_both_job(  # noqa: PLR0917
    model: LoadedModel,
    other: ModelSource,
    sentence: Sentence,
    random_weights: bool,
    device_wish: str,
    progress: Progress,
) -> RanBoth:
    """Run a sentence through an open model and through another one that is built alike.

    Raises:
        UserError: one cannot be run, they are built differently, or they take other tokens.
    """
    from bertviewer.core.comparison.comparison import check_same_structure
    from bertviewer.core.loading.opening import open_model
    from bertviewer.core.util.errors import UserError

    libraries.load(progress)
    theirs = open_model(other, progress)
    check_same_structure(model.architecture, theirs.architecture)
    is_trained = theirs.architecture.source.weights == "pretrained"
    draws = random_weights and not is_trained
    run_a = run_sentence_job(theirs, sentence, draws, device_wish, progress).watched
    ran = run_sentence_job(model, sentence, random_weights, device_wish, progress)
    if run_a.run.tokens != ran.watched.run.tokens:
        raise UserError(
            f"the tokenizer of {other.name} produces different tokens for this sentence"
        )
    return RanBoth(ran, replace(run_a, model=theirs))


def check_module_job(
    model: LoadedModel, watched: RecordedRun, path: str, progress: Progress
) -> Check:
    """Check what the module at ``path`` gave in a run."""
    from bertviewer.core.checks.check import check_module

    return check_module(model, watched.kept, path, progress)


def write_runs_job(
    path: Path,
    model: LoadedModel,
    kept: RunsToSave,
    models: Iterable[ModelSource],
    progress: Progress,
) -> Path:
    """Write runs of an open model as a file, over no file of ``models``; the path comes back."""
    from bertviewer.core.saved_runs.file_format import encode_runs
    from bertviewer.core.saved_runs.run_file import create_run_file
    from bertviewer.core.saving.atomic_files import save

    progress(0, 0, "Saving the runs")
    file = create_run_file(model.source, model.data, model.checkpoint, kept)
    save(path, encode_runs(file, progress), models)
    return path


def write_modules_job(
    path: Path, architecture: Architecture, models: Iterable[ModelSource], progress: Progress
) -> Path:
    """Write all modules as CSV, over no file of ``models``; the path comes back."""
    from bertviewer.core.saving.atomic_files import save
    from bertviewer.report import summary

    progress(0, 0, "Exporting the modules")
    text = summary.csv(architecture, depth=None, with_parameters=False)
    save(path, text.encode(), models)
    return path
