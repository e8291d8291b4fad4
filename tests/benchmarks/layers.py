"""How long a thousand layers take: to be read, on screen, filtered, and as a summary."""

import os
import statistics
import time
from collections.abc import Callable
from functools import partial

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication, QTreeView

from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta
from bertviewer.core.loading.meta_model import inspect_module
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import fold
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.model_source import find_task
from bertviewer.report import summary
from bertviewer.ui.app.application import configure
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tree.panel import ModuleTreePanel
from tests.ui.finding import find

CONFIG = {
    "model_type": "bert",
    "num_hidden_layers": 1000,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 1000,
}
FILTERS = ("query", "attention", "layer.5", "zzz", "")
ROUNDS = 5


def layers(rounds: int = ROUNDS) -> dict[str, float]:
    """Build a BERT of a thousand narrow layers, and do with it what is done with any model.

    Returns:
        Medians in seconds: ``build`` is transformers' own time on the meta device, which the
        others come on top of; ``screen`` is from the structure until its tree is painted.
    """
    config = build_config(CONFIG, "layers")
    source = SourceInfo("config", "layers", "base", "none")
    built = _timed(lambda: build_on_meta(config, find_task("base"), "layers"), 1)
    module = build_on_meta(config, find_task("base"), "layers")
    figures = {
        "build": built,
        "inspect": _timed(lambda: inspect_module(module, source, config.to_dict()), rounds),
    }
    architecture = inspect_module(module, source, config.to_dict())
    figures |= _on_screen(architecture, rounds)
    for name, write in (
        ("text", summary.text),
        ("csv", summary.csv),
        ("markdown", summary.markdown),
    ):
        written = partial(write, architecture, None, with_parameters=False)
        figures[f"summary as {name}"] = _timed(written, rounds)
    document = architecture.to_json()
    figures["to JSON"] = _timed(architecture.to_json, rounds)
    figures["from JSON"] = _timed(lambda: Architecture.from_json(document), rounds)
    return figures


def _on_screen(architecture: Architecture, rounds: int) -> dict[str, float]:
    application = QApplication.instance() or QApplication([])
    assert isinstance(application, QApplication)
    configure(application)
    worker = Worker()
    workspace = Workspace(worker)
    panel = ModuleTreePanel(workspace)
    panel.resize(700, 800)
    panel.show()
    application.processEvents()
    view = find(panel, QTreeView, "moduleTree")

    def show() -> None:
        workspace.selection.set_tree(fold(architecture))
        workspace.architecture_changed.emit(workspace.architecture)
        workspace.selection.row_changed.emit()
        view.viewport().repaint()

    def apply(text: str) -> None:
        panel.apply_filter(text)
        application.processEvents()
        view.viewport().repaint()

    figures = {"screen": _timed(show, rounds)}
    for text in FILTERS:
        figures[f"filter {text!r}"] = _timed(partial(apply, text), rounds)
    panel.close()
    worker.stop(30)
    return figures


def _timed(work: Callable[[], object], rounds: int) -> float:
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)
