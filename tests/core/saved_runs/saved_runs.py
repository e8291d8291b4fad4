"""Saved runs, as tests write them."""

from pathlib import Path

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.saved_runs.file_format import encode_runs
from bertviewer.core.saved_runs.run_file import RunFile, RunsToSave, create_run_file
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.check import Check, CheckStep

CHECKS = {"": Check((CheckStep("", "output", None, 1e-6, False, "flow"),))}


def run_file(
    model: LoadedModel, run: ActivationRun, baseline: ActivationRun | None = None
) -> RunFile:
    """Return the content of a file with runs of a model."""
    runs = RunsToSave(run, baseline, "difference", CHECKS)
    return create_run_file(model.source, model.data, model.checkpoint, runs)


def write(path: Path, file: RunFile) -> None:
    """Write a file of saved runs."""
    path.write_bytes(b"".join(encode_runs(file)))
