"""Tensors of a run follow the window's runs, and nothing is kept of those that are gone."""

import gc
import json
import weakref
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import (
    QComboBox,
    QLabel,
)
from pytestqt.qtbot import QtBot

from bertviewer.charts.tensor_charts import cell_text
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.tensors.tab import TensorsTab
from bertviewer.ui.tensors.views import TensorViews
from tests.ui.finding import find, show_tab
from tests.ui.tensors.seen_window import (
    LAYER,
    cell,
    given,
    look,
    names,
    ran,
    shown,
    tokens,
)
from tests.ui.tensors.tensor_window import (
    HEATMAP,
    HISTOGRAM,
    NORMS,
    VALUES,
    open_named,
    rest,
    view,
)


def test_the_next_run_and_the_next_module_are_followed(
    ready: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window = ready
    look(window, qtbot, "Output", "output")
    ran(window, worker, "a boat", qtbot)
    qtbot.waitUntil(lambda: tokens(window) == ["0  [CLS]", "1  a", "2  boat", "3  [SEP]"])
    rest(worker, qtbot)
    expected = [given(window, path)[2, 5].item() for path in (LAYER, "encoder.layer.4")]
    assert cell(window, 2, 5) == cell_text(expected[0])
    window.workspace.selection.select("encoder.layer.4")
    qtbot.waitUntil(lambda: cell(window, 2, 5) == cell_text(expected[1]))
    # What is called otherwise there is the same side's first.
    window.workspace.selection.select("encoder.layer.4.attention.self")
    qtbot.waitUntil(lambda: shown(window).startswith("output.0"))


def test_what_is_typed_next_marks_the_values_as_old(ready: MainWindow, qtbot: QtBot) -> None:
    window = ready
    look(window, qtbot, "Output", "output")
    title = find(window, QLabel, "tensorTitle")
    window.set_sentence("another one", None)
    qtbot.waitUntil(lambda: title.text().startswith("Results are for an earlier sentence · output"))
    window.set_sentence("the bank by the river", None)
    qtbot.waitUntil(lambda: title.text().startswith("output"))
    # A parameter is of no sentence.
    look(window, qtbot, "Parameters", "output.dense.weight")
    window.set_sentence("another one", None)
    assert title.text().startswith("dense.weight")


def test_a_module_that_was_not_called_says_so(ready: MainWindow, qtbot: QtBot) -> None:
    window = ready
    window.workspace.selection.select("encoder.layer")
    summary = "The last run did not call this module, or it returned no tensor."
    labels = find(window, TensorsTab).findChildren(QLabel)
    qtbot.waitUntil(lambda: any(summary in label.text() for label in labels))
    assert "Output" not in names(window)


def test_a_shared_layer_has_a_choice_of_its_calls(
    window: MainWindow, worker: Worker, qtbot: QtBot, tmp_path: Path
) -> None:
    sizes = {"vocab_size": 120, "embedding_size": 8, "hidden_size": 16, "intermediate_size": 20}
    config = {"model_type": "albert", "num_attention_heads": 2, "num_hidden_layers": 3, **sizes}
    (tmp_path / "config.json").write_text(json.dumps(config))
    open_named(window, worker, qtbot, str(tmp_path / "config.json"))
    path = "encoder.albert_layer_groups.0.albert_layers.0"
    ran(window, worker, "a test", qtbot)
    window.workspace.selection.select(path)
    look(window, qtbot, "Output", "output")
    assert find(window, QLabel, "tensorTitle").text().startswith("Random weights · output")
    choice = find(window, QComboBox, "callChoice")
    assert choice.count() == 3
    assert choice.itemText(2) == "call 2 of 3"
    rest(worker, qtbot)
    expected = [cell_text(given(window, path, call)[1, 3].item()) for call in range(3)]
    assert len(set(expected)) == 3

    def is_of(call: int) -> bool:
        return cell(window, 1, 3) == expected[call]

    for call in (2, 1):
        choice.setCurrentIndex(call)
        qtbot.waitUntil(partial(is_of, call))
    window.workspace.selection.select("embeddings")
    qtbot.waitUntil(choice.isHidden)


def test_what_was_looked_at_before_is_not_kept(
    ready: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window = ready
    look(window, qtbot, "Output", "output")
    for number in (HEATMAP, HISTOGRAM, NORMS, VALUES):
        view(window, worker, qtbot, number)
    part = find(window, TensorViews).part
    assert part is not None
    assert part.matrix.values.elements is not None
    before = weakref.ref(part.matrix.values.elements)
    del part
    look(window, qtbot, "Inputs", "hidden_states")
    qtbot.waitUntil(lambda: not worker.busy)

    def is_gone() -> bool:
        gc.collect()
        return before() is None

    qtbot.waitUntil(is_gone)


def test_nothing_is_kept_of_a_run_that_was_replaced(
    ready: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window = ready
    look(window, qtbot, "Output", "output")
    show_tab(window, "Map")
    before = weakref.ref(window.workspace.runs.watched.kept)  # type: ignore[union-attr]
    ran(window, worker, "another one", qtbot)

    def is_gone() -> bool:
        gc.collect()
        return before() is None

    qtbot.waitUntil(is_gone)
    show_tab(window, "Tensors")
    look(window, qtbot, "Output", "output")
    assert tokens(window)[1] == "1  another"
