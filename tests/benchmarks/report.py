"""How long a report takes once the model is open, how large it is, and what it takes of memory."""

import json
import os
import statistics
import tempfile
import time
from pathlib import Path

from msgspec.structs import replace

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


from bertviewer.core.checks.check import check_run
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.progress import no_progress
from bertviewer.plots.export import offscreen_application
from bertviewer.report.analysis import analyse_run
from bertviewer.report.draft import draft_report
from bertviewer.report.drawing import draw_pictures
from bertviewer.report.formats.formats import FORMATS
from bertviewer.report.options import Options, today
from bertviewer.report.run_details import RunContext
from bertviewer.report.subject import Subject
from tests.tools.resident_memory import resident_memory

SENTENCE = Sentence("The bank by the river was closed, so she walked to the other bank.")
ROUNDS = 3
CONFIG = {
    "model_type": "bert",
    "num_hidden_layers": 300,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 100,
}


def report(rounds: int = ROUNDS) -> dict[str, float]:
    """Make the report of bert-base, with a run that was checked, and of a model of 5,000 modules.

    Returns:
        Medians in seconds after the model is open and was run once; sizes and memory in megabytes.
    """
    application = offscreen_application()
    model = open_model(parse_source("bert-base-uncased"))
    model.with_formulas()
    _run(model)
    rows = [_made(model) for _ in range(rounds)]
    figures = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
    figures |= {f"5,000 modules: {name}": value for name, value in _large().items()}
    application.processEvents()
    return figures


def _run(model: LoadedModel) -> tuple[ActivationRun, ActivationCache]:
    kept = ActivationCache()
    return run_sentence(model, SENTENCE, random_weights=True, cache=kept), kept


def _made(model: LoadedModel) -> dict[str, float]:
    """Make a report in every format."""
    begin = time.perf_counter()
    run, kept = _run(model)
    ran = time.perf_counter()
    checked = replace(run, check=check_run(model, kept))
    check = time.perf_counter()
    context = RunContext(model, RecordedRun(run, kept), no_progress)
    subject = Subject(model.architecture, checked, details=analyse_run(context))
    looked = time.perf_counter()
    options = Options()
    draft = draft_report(subject, options, today())
    built = time.perf_counter()
    document = draft.with_drawings(dict(draw_pictures(draft.pictures, model.architecture)))
    drawn = time.perf_counter()
    figures = {
        "run": ran - begin,
        "check": check - ran,
        "closer looks": looked - check,
        "document": built - looked,
        "pictures": drawn - built,
    }
    for form in FORMATS:
        start = time.perf_counter()
        content = form.write(document, options, "figures").content
        figures[form.name] = time.perf_counter() - start
        figures[f"{form.name}: size, MB"] = len(content) / 1e6
    parts = ("run", "check", "closer looks", "document", "pictures", "pdf")
    return figures | {"all of the PDF": sum(figures[name] for name in parts)}


def _large() -> dict[str, float]:
    """Make the PDF of a small model of very many modules, and see what it takes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.json"
        file.write_text(json.dumps(CONFIG))
        model = open_model(parse_source(folder))
    model.with_formulas()
    before, begin = resident_memory(), time.perf_counter()
    options = Options()
    draft = draft_report(Subject(model.architecture), options, today())
    document = draft.with_drawings(dict(draw_pictures(draft.pictures, model.architecture)))
    content = FORMATS[0].write(document, options, "figures").content
    return {
        "PDF": time.perf_counter() - begin,
        "size, MB": len(content) / 1e6,
        "memory, MB": (resident_memory() - before) / 1e6,
    }
