"""What the window has done in the background: plain functions for the lane.

torch and transformers are imported inside them, so in the worker thread and after the window
is on screen.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from bertviewer.core.activation_run import ActivationRun, Sentence
from bertviewer.core.architecture import Architecture
from bertviewer.core.progress import Progress
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


def derive_formulas(model: "LoadedModel", progress: Progress) -> Architecture:
    """Derive the counting formulas of an open model."""
    return model.with_formulas(progress)


def run_sentence(
    model: "LoadedModel", sentence: Sentence, random_weights: bool, progress: Progress
) -> ActivationRun:
    """Run a sentence through an open model."""
    from bertviewer.core import running

    return running.run_sentence(model, sentence, random_weights, progress)


def write_report(
    path: Path, architecture: Architecture, drawn: DrawnRun | None, progress: Progress
) -> Path:
    """Typeset a report and write it; the path comes back."""
    progress(0, 0, "Typesetting the report")
    write_document(path, build_document(architecture, drawn))
    return path
