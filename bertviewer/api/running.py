"""Runs of an open model: made now, or read from a file that was opened."""

from dataclasses import replace

from bertviewer.api.run import Run
from bertviewer.core.activations.activation_run import Sentence
from bertviewer.core.activations.text import check_text
from bertviewer.core.errors import UserError
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.progress import Progress
from bertviewer.report.recipe import SavedRun


def run_of(
    model: LoadedModel, sentence: Sentence, progress: Progress, random_weights: bool, device: str
) -> Run:
    """Run a sentence, and keep what a closer look takes.

    Raises:
        UserError: the sentence, the model or the device does not allow it.
    """
    check_text(sentence)
    model.check_weights(random_weights)
    model.prepare_tokenizer()
    from bertviewer.core.system import libraries

    libraries.load(progress)
    from bertviewer.core.run.capture import Capture
    from bertviewer.core.run.device import check_device
    from bertviewer.core.run.running import run_sentence

    check_device(device)
    kept = Capture("units")
    found = run_sentence(
        model, sentence, progress, random_weights=random_weights, capture=kept, device=device
    )
    return Run(model, found, kept, progress)


def saved_runs(model: LoadedModel, progress: Progress) -> tuple[Run, Run | None]:
    """Return the last run and run A of the file of runs that was opened.

    Raises:
        UserError: something else was opened, or the file cannot be read.
    """
    source = model.source
    if source.kind != "runs":
        raise UserError(f"{source.name} is no file of saved runs")
    from bertviewer.core.activations.united_checks import united
    from bertviewer.core.run_files.reading import check_belongs, read_runs

    file = read_runs(source.path)
    check_belongs(source.path, file, model.architecture)
    check = united(file.checks, model.architecture) or file.run.check
    last = Run(model, replace(file.run, check=check), None, progress, SavedRun(source.name))
    if file.run_a is None:
        return last, None
    return last, Run(model, file.run_a, None, progress, SavedRun(source.name, is_a=True))
