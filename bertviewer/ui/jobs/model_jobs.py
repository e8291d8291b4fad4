"""Jobs of the worker: plain functions, which import what they need themselves."""

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
PAUSE = 0.25
"""Seconds from a new model to the imports for its first run or plot."""


class Opened(Struct, frozen=True):
    """An open model and its tree, and the runs if they were read from a file."""

    model: LoadedModel
    tree: TreeRow
    saved: RunFile | None = None


class Ran(Struct, frozen=True):
    """A run, and the model if it differs from what was cached."""

    watched: RecordedRun
    corrected: Opened | None


class RanBoth(Struct, frozen=True):
    """A run of the open model, and one of another model as baseline."""

    ran: Ran
    baseline: RecordedRun


class Derived(Struct, frozen=True):
    """An architecture with more formulas or data flows, and its tree."""

    architecture: Architecture
    tree: TreeRow


def open_model_job(source: ModelSource, progress: Progress) -> Opened:
    """Open a model; one that is not cached waits for torch and transformers."""
    from bertviewer.core.loading.opening import open_model

    saved = _read_runs(source, progress) if source.kind == "runs" else None
    model = open_model(source, progress, store=False)  # the tree comes first
    if saved is not None:
        from bertviewer.core.saved_runs.file_format import check_belongs

        check_belongs(source.path, saved, model.architecture)
    # For the map, so that the GUI thread need not import it.
    import_module(FIRST_TAB)
    return Opened(model, _tree(model.architecture), saved)


def _read_runs(source: ModelSource, progress: Progress) -> RunFile:
    from bertviewer.core.saved_runs.file_format import read_runs

    progress(0, 0, "Reading the saved runs")
    saved = read_runs(source.path, progress)
    prepare_views()
    return saved


def prepare_overview_job(progress: Progress) -> None:
    """Import the description of modules, once the tree and the map are drawn."""
    progress(0, 0, "")
    import_module(OVERVIEW)


def prepare_views_job(progress: Progress) -> None:
    """Import the views, after a pause in which the window draws the new model."""
    until = time.monotonic() + (0 if libraries.are_loaded() else PAUSE)
    while time.monotonic() < until:
        progress(0, 0, "")
        time.sleep(PAUSE / 10)
    prepare_views()
    progress(0, 0, "")
    for name in REPORT_MODULES:
        import_module(name)


def prepare_views() -> None:
    """Import the views of runs and tensors, so that the GUI thread need not do it."""
    for name in VIEW_MODULES:
        import_module(name)
    from bertviewer.report import typst_compiler

    typst_compiler.prepare()


def load_libraries_job(model: LoadedModel, progress: Progress) -> tuple[Device, ...]:
    """Import torch and transformers, and return the devices."""
    model.prepare_tokenizer()
    libraries.load(progress)
    from bertviewer.core.runs.device import available_devices

    return available_devices()


def confirm_job(model: LoadedModel, progress: Progress) -> Opened | None:
    """Build a model that was opened from the cache; return it if it differs from that."""
    model.ensure_built(progress)
    model.store()
    return _correction(model)


def _correction(model: LoadedModel) -> Opened | None:
    """Return a model that differs from its cached architecture, once."""
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
    """Derive the data flow of each module."""
    return _derived(model.with_flows(progress))


def derive_counts_job(model: LoadedModel, progress: Progress) -> Derived:
    """Derive the formulas of parameter counts."""
    return _derived(model.with_counts(progress))


def derive_costs_job(model: LoadedModel, progress: Progress) -> Derived:
    """Derive the formulas of multiply-adds and memory, after those of counts."""
    return _derived(model.with_costs(progress))


def rebuild_job(scenario: Scenario, model: LoadedModel, progress: Progress) -> Outcome:
    """Build the open model with the values of a scenario, and count it."""
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
    """Run a sentence and cache what replays need, on the wished device if it exists."""
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
    """Run a sentence through the open model and through one of the same structure.

    Raises:
        UserError: one cannot be run, or their structures or tokens differ.
    """
    from bertviewer.core.comparison.comparison import check_same_structure
    from bertviewer.core.loading.opening import open_model
    from bertviewer.core.util.errors import UserError

    libraries.load(progress)
    theirs = open_model(other, progress)
    check_same_structure(model.architecture, theirs.architecture)
    is_trained = theirs.architecture.source.weights == "pretrained"
    draws = random_weights and not is_trained
    baseline = run_sentence_job(theirs, sentence, draws, device_wish, progress).watched
    ran = run_sentence_job(model, sentence, random_weights, device_wish, progress)
    if baseline.run.tokens != ran.watched.run.tokens:
        raise UserError(
            f"the tokenizer of {other.name} produces different tokens for this sentence"
        )
    return RanBoth(ran, replace(baseline, model=theirs))


def check_module_job(
    model: LoadedModel, watched: RecordedRun, path: str, progress: Progress
) -> Check:
    """Verify the output of the module at ``path`` in a run."""
    from bertviewer.core.checks.check import check_module

    return check_module(model, watched.kept, path, progress)


def write_runs_job(
    path: Path,
    model: LoadedModel,
    kept: RunsToSave,
    models: Iterable[ModelSource],
    progress: Progress,
) -> Path:
    """Write runs to a file, but over no file of ``models``; return its path."""
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
    """Write all modules as CSV, but over no file of ``models``; return its path."""
    from bertviewer.core.saving.atomic_files import save
    from bertviewer.report import summary

    progress(0, 0, "Exporting the modules")
    text = summary.csv(architecture, depth=None, with_parameters=False)
    save(path, text.encode(), models)
    return path
