"""How long a changed letter takes on BERT-large, against building the model again."""

import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import torch
from PySide6.QtWidgets import QApplication, QSpinBox

from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta
from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import fold
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.what_if.scenario import Scenario, evaluate_scenario
from bertviewer.core.what_if.sheet import Sheet
from bertviewer.ui.app.application import configure
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.what_if.tab import WhatIfTab
from tests.ui.finding import find

ROUNDS = 15


def what_if(rounds: int = ROUNDS) -> dict[str, float]:
    """Change D on BERT-large, and read every module and tensor off.

    Returns:
        Medians in seconds: ``formulas`` for all figures, ``window`` for the tab on screen with
        them, ``rebuild`` for building the model on the meta device and counting; ``ratio`` is
        ``formulas`` over ``rebuild``, which says the same on any machine.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        architecture = open_model(parse_source("bert-large-uncased")).with_formulas()
        sheet = Sheet.of(architecture)
        formulas = _median(lambda width: _read_all(sheet, width), rounds)
        rebuild = _median(lambda width: _rebuild(architecture, width), rounds)
        window = _in_window(architecture, rounds)
    finally:
        torch.set_num_threads(threads)
    return {
        "formulas": formulas,
        "window": window,
        "rebuild": rebuild,
        "ratio": formulas / rebuild,
    }


def _median(work: Callable[[int], None], rounds: int) -> float:
    seconds = []
    for number in range(rounds):
        start = time.perf_counter()
        work(1024 + 16 * (number + 1))
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def _read_all(sheet: Sheet, width: int) -> None:
    outcome = evaluate_scenario(Scenario(sheet, {"D": width}))
    for node in sheet.architecture.modules:
        outcome.parameters(node.path)
        outcome.macs(node.path)
        outcome.output_shape(node.path)
    for tensor in sheet.architecture.parameters:
        outcome.shape(tensor)


def _rebuild(architecture: Architecture, width: int) -> None:
    config = build_config({**architecture.config, "hidden_size": width}, "what-if")
    model = build_on_meta(config, parse_source("bert-large-uncased").task, "what-if")
    sum(tensor.numel() for tensor in model.parameters())


def _in_window(architecture: Architecture, rounds: int) -> float:
    application = QApplication.instance() or QApplication([])
    assert isinstance(application, QApplication)
    configure(application)
    worker = Worker()
    try:
        workspace = Workspace(worker)
        workspace.architecture = architecture
        workspace.selection.tree = workspace.selection.row = fold(architecture)
        tab = WhatIfTab(workspace)
        tab.resize(620, 700)
        tab.show()
        tab.refresh()
        application.processEvents()
        field = find(tab, QSpinBox, "whatIf_D")

        def change(width: int) -> None:
            field.setValue(width)
            application.processEvents()

        seconds = _median(change, rounds)
        tab.close()
    finally:
        worker.stop(10)
    return seconds
