"""What the window has done in the background: plain functions for the lane.

torch and transformers are imported inside them, so in the worker thread and after the window
is on screen.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from bertviewer.core.architecture import Architecture
from bertviewer.core.check_step import Check
from bertviewer.core.progress import Progress
from bertviewer.core.run.activation_run import ActivationRun, Sentence
from bertviewer.core.source import ModelSource
from bertviewer.report import typesetting
from bertviewer.report.document import DrawnRun, build_document
from bertviewer.report.pdf import write_document

if TYPE_CHECKING:
    from bertviewer.core.loading import LoadedModel


def open_model(source: ModelSource, progress: Progress) -> "LoadedModel":
    """Open a model; the first one waits for torch and transformers."""
    progress(0, 0, "Loading torch and transformers")
    from bertviewer.core import loading

    # Here, and not when the window wants its first formula.
    typesetting.prepare()
    return loading.open_model(source, progress)


def derive_counts(model: "LoadedModel", progress: Progress) -> Architecture:
    """Derive the counting formulas of an open model."""
    return model.with_counts(progress)


def derive_costs(model: "LoadedModel", progress: Progress) -> Architecture:
    """Derive the formulas of what a forward pass costs, once the counts have theirs."""
    return model.with_costs(progress)


def run_sentence(
    model: "LoadedModel", sentence: Sentence, random_weights: bool, progress: Progress
) -> ActivationRun:
    """Run a sentence through an open model, and keep what a check of it needs."""
    from bertviewer.core.run import running
    from bertviewer.core.run.capture import WINDOW_BUDGET

    return running.run_sentence(model, sentence, random_weights, progress, WINDOW_BUDGET)


def check_module(model: "LoadedModel", path: str, progress: Progress) -> Check:
    """Check what the module at ``path`` gave in the last run."""
    from bertviewer.core.checking import check

    return check.check_module(model, path, progress)


def write_report(
    path: Path, architecture: Architecture, drawn: DrawnRun | None, progress: Progress
) -> Path:
    """Typeset a report and write it; the path comes back."""
    progress(0, 0, "Typesetting the report")
    write_document(path, build_document(architecture, drawn))
    return path
