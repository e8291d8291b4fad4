"""How fast one looks into BERT-base's word embeddings, 30,522 × 768 float32 in a file."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtWidgets import QApplication, QTableView
from safetensors.numpy import save_file

from bertviewer.core.tensors.axes import Axis, TokenIndex
from bertviewer.core.tensors.matrix import Matrix, TensorPart
from bertviewer.core.tensors.reduction import tensor_map
from bertviewer.core.tensors.scan import scan
from bertviewer.core.tensors.spectrum import singular_values
from bertviewer.core.tensors.values import file_values
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors.values_page import ValuesPage
from tests.core.tensors.made_up import stored_in

ROWS, COLUMNS = 30522, 768
ROUNDS = 15
STEPS = 100


def tensors() -> dict[str, float]:
    """Look into a large tensor.

    Returns:
        Seconds, medians: until the table of the values stands, and until it is drawn; a jump to
        rows that have not been read yet, drawn; and what the worker takes for the statistics with
        all norms, for the map, and for the singular values of 768 rows.
    """
    with tempfile.TemporaryDirectory(prefix="bertviewer-") as folder:
        file = Path(folder) / "model.safetensors"
        values = np.random.default_rng(0).normal(size=(ROWS, COLUMNS)).astype(np.float32)
        save_file({"w": values}, file)
        stored = file_values("w", stored_in(file)["w"])
        whole = Matrix(stored)
        return {
            **_table(whole),
            "statistics and norms": _median(lambda: scan(whole), 3),
            "map": _median(lambda: tensor_map(whole, (0, ROWS), (0, COLUMNS)), 3),
            "singular values, 768 rows": _median(
                lambda: singular_values(Matrix(stored, rows=(0, COLUMNS))), 3
            ),
        }


def _table(whole: Matrix) -> dict[str, float]:
    application = QApplication.instance() or QApplication([])
    worker = Worker()
    page = ValuesPage(Workspace(worker))
    page.resize(620, 500)
    page.show()
    tokens = TokenIndex([f"token{number}" for number in range(ROWS)])
    opened, drawn = [], []
    for _ in range(ROUNDS):
        page.clear()
        application.processEvents()
        start = time.perf_counter()
        page.show_part(TensorPart(whole, Axis(tokens)))
        opened.append(time.perf_counter() - start)
        application.processEvents()
        drawn.append(time.perf_counter() - start)
    table = page.findChild(QTableView, "valuesTable")
    assert isinstance(table, QTableView)
    bar = table.verticalScrollBar()
    jumps = []
    for step in range(STEPS):
        start = time.perf_counter()
        bar.setValue(bar.maximum() * step // STEPS)
        application.processEvents()
        jumps.append(time.perf_counter() - start)
    page.close()
    worker.stop(10)
    return {
        "table open": statistics.median(opened),
        "table drawn": statistics.median(drawn),
        "jump": statistics.median(jumps),
    }


def _median(work: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
