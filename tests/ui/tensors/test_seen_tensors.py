"""What a run's modules took and gave, and what was checked of them, in the tab of tensors."""

import gc
import json
import weakref
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QLabel,
    QMenu,
    QTableView,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot
from safetensors import safe_open

from bertviewer.charts.cell_words import cell_text
from bertviewer.charts.place import Place
from bertviewer.core.closer_look.seen_tensors import values
from bertviewer.plots.grid_plot import GridPlot
from bertviewer.plots.zoom_plot import ZoomPlot
from bertviewer.ui.background.worker import Worker
from bertviewer.ui.main_window import MainWindow
from bertviewer.ui.tensors.save_button import SaveButton
from bertviewer.ui.tensors.tab import TensorsTab
from bertviewer.ui.tensors.views import TensorViews
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import bring_view, find, is_drawn, show_tab
from tests.ui.tensors.tensor_window import (
    HEATMAP,
    HISTOGRAM,
    NORMS,
    VALUES,
    open_named,
    rest,
    told,
    view,
)

LAYER = "encoder.layer.2"
DOWN, ACROSS = Qt.Orientation.Vertical, Qt.Orientation.Horizontal


def ran(window: MainWindow, worker: Worker, text: str, qtbot: QtBot) -> None:
    """Run a sentence, and wait until all that shows it is drawn."""
    before = window.workspace.runs.watched
    window.set_sentence(text, None)
    window.workspace.next_run.set_random_weights(True)
    window.run()
    qtbot.waitUntil(
        lambda: is_drawn(window) and window.workspace.runs.watched is not before,
        timeout=OPEN_TIMEOUT,
    )
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)


@pytest.fixture
def ready(demo_window: MainWindow, worker: Worker, qtbot: QtBot) -> MainWindow:
    """Return the window with the demo, a run, and the tensors of a layer in sight."""
    show_tab(demo_window, "Tensors")
    demo_window.workspace.selection.select(LAYER)
    ran(demo_window, worker, "the bank by the river", qtbot)
    return demo_window


def names(window: MainWindow) -> list[str]:
    model = find(window, QTableView, "tensorTable").model()
    return [model.index(row, 0).data() for row in range(model.rowCount())]


def look(window: MainWindow, qtbot: QtBot, group: str, name: str) -> None:
    """Choose a tensor of a group, and wait until its values are there."""
    qtbot.waitUntil(lambda: group in names(window) and name in names(window))
    table = find(window, QTableView, "tensorTable")
    row = names(window).index(name, names(window).index(group))
    table.setCurrentIndex(table.model().index(row, 0))
    # Of a parameter the last two steps stand there.
    short = ".".join(name.split(".")[-2:])
    qtbot.waitUntil(lambda: shown(window).startswith(short) and has_values(window))
    # Only one thread may have the model.
    qtbot.waitUntil(lambda: not window.workspace.requests.is_running)


def shown(window: MainWindow) -> str:
    """Return what the inspector's title says after what kind of tensor it is."""
    text = find(window, QLabel, "tensorTitle").text()
    for word in ("took ", "gave ", "checked: "):
        text = text.partition(word)[2] or text
    return text


def has_values(window: MainWindow) -> bool:
    return find(window, TensorViews).part is not None


def tokens(window: MainWindow) -> list[str]:
    model = find(window, QTableView, "valuesTable").model()
    rows = range(model.rowCount())
    return [str(model.headerData(row, DOWN)).strip() for row in rows]


def cell(window: MainWindow, row: int, column: int) -> str:
    return str(find(window, QTableView, "valuesTable").model().index(row, column).data())


def given(window: MainWindow, path: str, call: int = 0) -> np.ndarray:
    """Return what a module gave in the last run, found without the window; the worker rests."""
    watched, model = window.workspace.runs.watched, window.workspace.requests.model
    assert watched is not None
    assert model is not None
    _, gave = values(model, watched.run, watched.kept, path, call=call)
    found: np.ndarray = next(iter(gave.values()))[0].numpy()
    return found


def test_what_a_layer_gave_stands_below_its_parameters(ready: MainWindow, qtbot: QtBot) -> None:
    window = ready
    look(window, qtbot, "Gave", "output")
    listed = names(window)
    assert listed[0] == "Parameters"
    assert listed[-4:] == ["Took", "hidden_states", "Gave", "output"]
    table = find(window, QTableView, "tensorTable").model()
    assert [table.index(len(listed) - 1, column).data() for column in range(5)] == [
        "output", "[1, 7, 384]", "[B, S, D]", "2,688", "float32",
    ]  # fmt: skip
    assert find(window, QLabel, "tensorTitle").text() == "gave output · [1, 7, 384]  float32"
    assert tokens(window)[:3] == ["0  [CLS]", "1  the", "2  bank"]
    expected = given(window, LAYER)
    assert cell(window, 2, 211) == cell_text(expected[2, 211].item())
    values_table = find(window, QTableView, "valuesTable")
    values_table.setCurrentIndex(values_table.model().index(2, 211))
    assert told(window).startswith("token 2 “bank”, feature 211  [0, 2, 211] = ")


def test_all_views_show_it(ready: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    window = ready
    look(window, qtbot, "Gave", "output")
    expected = given(window, LAYER)
    view(window, worker, qtbot, HEATMAP)
    plot = find(window, ZoomPlot, "tensorHeatmap")
    qtbot.waitUntil(lambda: plot.chart is not None)
    assert plot.chart is not None
    assert plot.chart.rows[:3] == ("[CLS]", "the", "bank")
    assert (plot.chart.y_title, plot.chart.x_title) == ("Token", "Feature")
    assert plot.chart.row_places[2] == Place(token=2)
    view(window, worker, qtbot, HISTOGRAM)
    statistics = find(window, QTableView, "tensorStatistics").model()
    qtbot.waitUntil(lambda: statistics.rowCount() > 0)
    mean = float(statistics.index(0, 1).data().replace("−", "-"))
    assert mean == pytest.approx(expected.mean(dtype=float), rel=1e-3)
    view(window, worker, qtbot, NORMS)
    norms = find(window, QTableView, "normsTable").model()
    qtbot.waitUntil(lambda: norms.rowCount() == 7)
    assert norms.index(2, 1).data() == "bank"


def test_a_token_is_read_downwards_and_is_the_windows_own(ready: MainWindow, qtbot: QtBot) -> None:
    window, selection = ready, ready.workspace.selection
    look(window, qtbot, "Gave", "output")
    choice = find(window, QComboBox, "tokenChoice")
    assert [choice.itemText(row) for row in range(3)] == ["all tokens", "0  [CLS]", "1  the"]
    choice.setCurrentIndex(6)
    assert selection.token == 5
    model = find(window, QTableView, "valuesTable").model()
    assert (model.rowCount(), model.columnCount()) == (384, 1)
    assert model.headerData(0, ACROSS) == "5 river"
    assert cell(window, 211, 0) == cell_text(given(window, LAYER)[5, 211].item())
    selection.go(Place(token=2))
    assert model.headerData(0, ACROSS) == "2 bank"
    # Of all tokens none is followed.
    choice.setCurrentIndex(0)
    selection.go(Place(token=3))
    assert model.rowCount() == 7
    assert choice.currentIndex() == 0


def test_ids_are_read_token_by_token_after_a_single_token(ready: MainWindow, qtbot: QtBot) -> None:
    window = ready
    look(window, qtbot, "Gave", "output")
    choice = find(window, QComboBox, "tokenChoice")
    choice.setCurrentIndex(3)
    window.workspace.selection.select("embeddings")
    look(window, qtbot, "Took", "input_ids")
    assert choice.isHidden()
    model = find(window, QTableView, "valuesTable").model()
    assert (model.rowCount(), model.columnCount()) == (7, 1)
    assert tokens(window)[:3] == ["0  [CLS]", "1  the", "2  bank"]
    run = window.workspace.runs.run
    assert run is not None
    assert [int(cell(window, row, 0)) for row in range(7)] == [token.id for token in run.tokens]


def test_the_next_run_and_the_next_module_are_followed(
    ready: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window = ready
    look(window, qtbot, "Gave", "output")
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
    look(window, qtbot, "Gave", "output")
    title = find(window, QLabel, "tensorTitle")
    window.set_sentence("another one", None)
    qtbot.waitUntil(lambda: title.text().startswith("Of another sentence · gave output"))
    window.set_sentence("the bank by the river", None)
    qtbot.waitUntil(lambda: title.text().startswith("gave output"))
    # A parameter is of no sentence.
    look(window, qtbot, "Parameters", "output.dense.weight")
    window.set_sentence("another one", None)
    assert title.text().startswith("dense.weight")


def test_a_module_that_was_not_called_says_so(ready: MainWindow, qtbot: QtBot) -> None:
    window = ready
    window.workspace.selection.select("encoder.layer")
    summary = "The last run did not call it, or it gave no tensor."
    labels = find(window, TensorsTab).findChildren(QLabel)
    qtbot.waitUntil(lambda: any(summary in label.text() for label in labels))
    assert "Gave" not in names(window)


def test_titles_are_passed_by_and_groups_are_sorted_by_themselves(
    ready: MainWindow, qtbot: QtBot
) -> None:
    window = ready
    look(window, qtbot, "Gave", "output")
    table = find(window, QTableView, "tensorTable")
    row = names(window).index("Took") + 1
    table.setCurrentIndex(table.model().index(row, 0))
    qtbot.keyClick(table, Qt.Key.Key_Down)
    assert table.currentIndex().row() == row + 2
    qtbot.keyClick(table, Qt.Key.Key_Up)
    assert table.currentIndex().row() == row
    before = names(window)
    table.model().sort(0, Qt.SortOrder.DescendingOrder)
    listed = names(window)
    assert listed[0] == "Parameters"
    assert listed[-4:] == before[-4:]
    end = listed.index("Took")
    assert listed[1:end] == sorted(before[1:end], key=str.casefold, reverse=True)


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
    look(window, qtbot, "Gave", "output")
    assert find(window, QLabel, "tensorTitle").text().startswith("RANDOM · gave output")
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


@pytest.mark.parametrize("suffix", [".npy", ".safetensors", ".csv"])
def test_it_is_saved(ready: MainWindow, qtbot: QtBot, tmp_path: Path, suffix: str) -> None:
    window = ready
    look(window, qtbot, "Gave", "output")
    assert find(window, SaveButton).isEnabled()
    target = tmp_path / f"state{suffix}"
    find(window, SaveButton).save(target)
    qtbot.waitUntil(target.is_file)
    qtbot.waitUntil(lambda: not window.workspace.scheduler.activity)
    expected = given(window, LAYER)
    if suffix == ".npy":
        np.testing.assert_array_equal(np.load(target), expected[None])
    elif suffix == ".csv":
        lines = target.read_text().splitlines()
        assert lines[3].startswith("2,bank,")
        read = [float(number) for number in lines[3].split(",")[2:]]
        np.testing.assert_array_equal(np.array(read, np.float32), expected[2])
    else:
        with safe_open(target, "pt") as file:
            assert torch.equal(file.get_tensor("output"), torch.from_numpy(expected[None]))
            metadata = file.metadata()
        assert metadata["sentence"] == "the bank by the river"
        assert (metadata["module"], metadata["weights"]) == (LAYER, "pretrained")
        assert json.loads(metadata["tokens"])[2] == "bank"


def test_what_was_looked_at_before_is_not_kept(
    ready: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window = ready
    look(window, qtbot, "Gave", "output")
    for number in (HEATMAP, HISTOGRAM, NORMS, VALUES):
        view(window, worker, qtbot, number)
    part = find(window, TensorViews).part
    assert part is not None
    before = weakref.ref(part.matrix.values.elements)  # type: ignore[attr-defined]
    del part
    look(window, qtbot, "Took", "hidden_states")
    qtbot.waitUntil(lambda: not worker.busy)

    def is_gone() -> bool:
        gc.collect()
        return before() is None

    qtbot.waitUntil(is_gone)


def test_nothing_is_kept_of_a_run_that_was_replaced(
    ready: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window = ready
    look(window, qtbot, "Gave", "output")
    show_tab(window, "Map")
    before = weakref.ref(window.workspace.runs.watched.kept)  # type: ignore[union-attr]
    ran(window, worker, "another one", qtbot)

    def is_gone() -> bool:
        gc.collect()
        return before() is None

    qtbot.waitUntil(is_gone)
    show_tab(window, "Tensors")
    look(window, qtbot, "Gave", "output")
    assert tokens(window)[1] == "1  another"


def test_a_module_without_parameters_shows_what_it_gave(ready: MainWindow, qtbot: QtBot) -> None:
    window = ready
    window.workspace.selection.select(f"{LAYER}.intermediate.intermediate_act_fn")
    qtbot.waitUntil(lambda: has_values(window) and shown(window).startswith("output"))
    assert names(window) == ["Took", "input", "Gave", "output"]


def test_a_check_shows_three_numbers_and_goes_to_the_largest_difference(
    ready: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window, workspace = ready, ready.workspace
    workspace.check(LAYER)
    qtbot.waitUntil(lambda: LAYER in workspace.runs.checks)
    group = "Checked: given, recomputed, difference"
    look(window, qtbot, group, "= next hidden state")
    step = next(s for s in workspace.runs.checks[LAYER].steps if s.step == "= next hidden state")
    text = find(window, QLabel, "largestDifferenceText").text()
    assert text.startswith(f"Largest difference {step.max_abs_error:.3g}".replace("-", "−"))
    assert text.endswith(f"rounding allows {step.tolerance:.3g} there".replace("-", "−"))
    table = find(window, QTableView, "valuesTable")
    model = table.model()
    assert (model.rowCount(), model.columnCount()) == (7, 3 * 384)
    row, column = table.currentIndex().row(), table.currentIndex().column()
    assert column % 3 == 0
    titles = [model.headerData(column + n, ACROSS) for n in range(3)]
    feature = column // 3
    assert titles == [f"{feature} {word}" for word in ("given", "recomputed", "difference")]
    assert f"[0, {row}, {feature}] token {row} “" in text
    assert cell(window, row, column) == cell_text(given(window, LAYER)[row, feature].item())
    assert abs(float(cell(window, row, column + 2).replace("−", "-"))) == pytest.approx(
        step.max_abs_error, rel=1e-3
    )
    # From elsewhere, and from a single token, it is one click away.
    table.setCurrentIndex(model.index((row + 1) % 7, 0))
    find(window, QToolButton, "largestDifference").click()
    assert (table.currentIndex().row(), table.currentIndex().column()) == (row, column)
    find(window, QComboBox, "tokenChoice").setCurrentIndex((row + 1) % 7 + 1)
    assert [model.headerData(n, ACROSS) for n in range(3)] == ["given", "recomputed", "difference"]
    find(window, QToolButton, "largestDifference").click()
    assert find(window, QComboBox, "tokenChoice").currentIndex() == row + 1
    assert table.currentIndex().row() == feature
    # The other views have one of the three.
    choice = find(window, QComboBox, "comparedChoice")
    assert choice.currentText() == "difference"
    choice.setCurrentText("given")
    part = find(window, TensorViews).part
    assert part is not None
    assert part.matrix.values.dtype == "float32"


def test_the_formula_leads_to_the_numbers_of_the_worst_step(
    ready: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window, workspace = ready, ready.workspace
    path = f"{LAYER}.output.LayerNorm"
    workspace.selection.select(path)
    show_tab(window, "Formula")
    workspace.check(path)
    qtbot.waitUntil(lambda: path in workspace.runs.checks)

    def button() -> QAbstractButton:
        # The panels of rows before it wait for the event loop to delete them.
        found = window.findChildren(QAbstractButton, "checkValuesButton")
        return [one for one in found if one.isVisibleTo(window)][-1]

    qtbot.waitUntil(lambda: button().isEnabled())
    button().click()
    qtbot.waitUntil(lambda: shown(window).startswith("output"))
    qtbot.waitUntil(lambda: find(window, QWidget, "largestDifferenceText").isVisible())


def test_a_hidden_state_leads_to_its_numbers(
    ready: MainWindow, worker: Worker, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The offscreen platform has no menus that come up.
    monkeypatch.setattr(QMenu, "popup", lambda *_: None)
    window = ready
    show_tab(window, "Map")
    bring_view(window, "Layers")
    plot = find(window, GridPlot, "tokenHeatmap")
    qtbot.waitUntil(lambda: plot.chart is not None and plot.isVisible())
    # Of token 2 what layer 4 gave: state 0 is that of the embeddings.
    scene = plot.area.vb.mapViewToScene(QPointF(2.5, 5.5))
    plot.customContextMenuRequested.emit(plot.mapFromScene(scene))
    find(plot, QAction, "pointedValues").trigger()
    assert window.workspace.selection.place.path == "encoder.layer.4"
    model = find(window, QTableView, "valuesTable").model()
    qtbot.waitUntil(lambda: model.headerData(0, ACROSS) == "2 bank")
    assert model.rowCount() == 384
    rest(worker, qtbot)
    assert cell(window, 7, 0) == cell_text(given(window, "encoder.layer.4")[2, 7].item())


def test_an_action_shows_the_values_of_the_selected_module(ready: MainWindow, qtbot: QtBot) -> None:
    window = ready
    show_tab(window, "Map")
    window.workspace.selection.select("pooler")
    find(window, QAction, "showValues").trigger()
    qtbot.waitUntil(lambda: has_values(window) and shown(window).startswith("output"))
    assert find(window, QLabel, "tensorTitle").text() == "gave output · [1, 384]  float32"
    model = find(window, QTableView, "valuesTable").model()
    assert (model.rowCount(), model.columnCount()) == (384, 1)
