"""The open model is compared with another one, which is chosen in a dialog."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QFileDialog,
    QMenu,
    QMessageBox,
    QPushButton,
    QTableView,
    QToolButton,
)
from pytestqt.qtbot import QtBot
from safetensors.torch import load_file, save_file

from bertviewer.charts.change_grid import MarkedGrid
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.building.backend import torch
from bertviewer.core.saving.model_files import IS_THE_MODELS
from bertviewer.core.sources.parsing import parse_source
from bertviewer.plots.heatmap import Heatmap
from bertviewer.ui.compare.window import ComparisonWindow
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.widgets.labels import ElidedLabel
from bertviewer.ui.widgets.messages import ErrorBar
from tests.plots.looking import pixel
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, has_error, shown_error


@pytest.fixture
def tiny_window(
    window: MainWindow, worker: Worker, tiny_bert_folder: Path, qtbot: QtBot
) -> MainWindow:
    """Return the main window with the tiny BERT open."""
    assert not find(window, QAction, "compareFolder").isEnabled()
    window.open_source(parse_source(str(tiny_bert_folder)))
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    return window


def choose(monkeypatch: pytest.MonkeyPatch, path: Path | str) -> None:
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(path))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))


@pytest.mark.parametrize("action", ["compareFolder", "compareFile"])
def test_the_open_model_and_its_copy(
    action: str,
    tiny_window: MainWindow,
    tiny_bert_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
) -> None:
    file = "" if action == "compareFolder" else "model.safetensors"
    choose(monkeypatch, tiny_bert_folder / file)
    find(tiny_window, QAction, action).trigger()
    qtbot.waitUntil(
        lambda: tiny_window.findChild(ComparisonWindow) is not None, timeout=OPEN_TIMEOUT
    )
    window = find(tiny_window, ComparisonWindow)
    table = find(window, QTableView, "comparedTensors")
    assert table.model().rowCount() == 39
    table.activated.emit(table.model().index(1, 0))
    assert tiny_window.workspace.selection.row is not None
    assert tiny_window.workspace.selection.row.node.path == "embeddings.position_embeddings"
    # The open model is still the open one.
    assert tiny_window.workspace.source is not None
    assert tiny_window.workspace.source.name == str(tiny_bert_folder)


def test_no_file_of_both_models_is_replaced(
    tiny_window: MainWindow,
    tiny_bert_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    worker: Worker,
    qtbot: QtBot,
) -> None:
    other = shutil.copytree(tiny_bert_folder, tiny_bert_folder.with_name("other"))
    choose(monkeypatch, other)
    find(tiny_window, QAction, "compareFolder").trigger()
    qtbot.waitUntil(
        lambda: tiny_window.findChild(ComparisonWindow) is not None, timeout=OPEN_TIMEOUT
    )
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    comparison = find(tiny_window, ComparisonWindow)

    def errors() -> list[ErrorBar]:
        return [shown_error(each) for each in (tiny_window, comparison) if has_error(each)]

    for file in (other / "config.json", tiny_bert_folder / "vocab.txt"):
        before = file.read_bytes()
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, file=file: (str(file), ""))
        for save in (
            find(comparison, QPushButton, "saveComparison").click,
            tiny_window.exporting.choose_modules,
            lambda file=file: tiny_window.exporting.write_report(file),
        ):
            save()
            qtbot.waitUntil(lambda: bool(errors()), timeout=OPEN_TIMEOUT)
            (box,) = errors()
            assert IS_THE_MODELS in box.text()
            box.close()
        assert file.read_bytes() == before


def test_what_is_no_model_gets_a_dialog(
    tiny_window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, tmp_path)
    find(tiny_window, QAction, "compareFolder").trigger()
    box = shown_error(tiny_window)
    assert "no config.json" in box.text()
    assert tiny_window.findChild(ComparisonWindow) is None


def test_no_choice_is_no_comparison(
    tiny_window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, "")
    find(tiny_window, QAction, "compareFolder").trigger()
    assert tiny_window.workspace.jobs.activity == ""


def test_a_pickle_is_asked_for(
    tiny_window: MainWindow,
    tiny_bert_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
) -> None:
    shutil.copy(tiny_bert_folder / "config.json", tmp_path)
    torch.save({"pooler.dense.bias": torch.zeros(32)}, tmp_path / "pytorch_model.bin")
    choose(monkeypatch, tmp_path)
    find(tiny_window, QAction, "compareFolder").trigger()
    qtbot.waitUntil(
        lambda: tiny_window.findChild(QMessageBox, "consentDialog") is not None,
        timeout=OPEN_TIMEOUT,
    )
    box = find(tiny_window, QMessageBox, "consentDialog")
    (plain,) = (b for b in box.buttons() if "Architecture" in b.text())
    plain.click()
    qtbot.waitUntil(
        lambda: tiny_window.findChild(ComparisonWindow) is not None, timeout=OPEN_TIMEOUT
    )
    table = find(find(tiny_window, ComparisonWindow), QTableView, "comparedTensors")
    assert {table.model().index(row, 1).data() for row in range(39)} == {"not compared"}


def test_a_comparison_does_not_lead_into_another_model(
    tiny_window: MainWindow,
    worker: Worker,
    tiny_bert_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
) -> None:
    choose(monkeypatch, tiny_bert_folder)
    find(tiny_window, QAction, "compareFolder").trigger()
    qtbot.waitUntil(
        lambda: tiny_window.findChild(ComparisonWindow) is not None, timeout=OPEN_TIMEOUT
    )
    table = find(find(tiny_window, ComparisonWindow), QTableView, "comparedTensors")
    workspace = tiny_window.workspace
    with qtbot.waitSignal(workspace.architecture_changed, timeout=OPEN_TIMEOUT):
        tiny_window.open_source(parse_source("bert-base-uncased"))
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    table.activated.emit(table.model().index(1, 0))
    assert workspace.selection.row is not None
    assert workspace.selection.row.node.path == ""


def compare_with(name: str, window: MainWindow, worker: Worker, qtbot: QtBot) -> ComparisonWindow:
    """Compare with what the menu offers, and return the window that comes."""
    menu = find(window, QMenu, "compareWith")
    above = next(m for m in window.findChildren(QMenu) if menu.menuAction() in m.actions())
    above.aboutToShow.emit()
    next(action for action in menu.actions() if action.objectName() == name).trigger()
    qtbot.waitUntil(lambda: window.findChild(ComparisonWindow) is not None, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    return find(window, ComparisonWindow)


def test_presets_are_offered_and_sides_are_swapped(
    tiny_window: MainWindow, worker: Worker, tiny_bert_folder: Path, qtbot: QtBot
) -> None:
    window = compare_with("bert-large-uncased", tiny_window, worker, qtbot)
    assert window.windowTitle() == f"bert-large-uncased ↔ {tiny_bert_folder}"
    kept = tiny_window.workspace.comparison
    assert kept.other == "bert-large-uncased"
    find(window, QPushButton, "swapSides").click()
    title = f"{tiny_bert_folder} ↔ bert-large-uncased"
    qtbot.waitUntil(
        lambda: any(w.windowTitle() == title for w in tiny_window.findChildren(ComparisonWindow)),
        timeout=OPEN_TIMEOUT,
    )
    assert kept.other == "bert-large-uncased"
    for each in tiny_window.findChildren(ComparisonWindow):
        each.close()
    assert kept.other == ""


def test_a_click_selects_the_tensor_and_its_module(
    tiny_window: MainWindow,
    worker: Worker,
    tiny_bert_folder: Path,
    tmp_path: Path,
    qtbot: QtBot,
) -> None:
    other = shutil.copytree(tiny_bert_folder, tmp_path / "tuned")
    tiny_window.comparing.compare_with(str(other))
    qtbot.waitUntil(
        lambda: tiny_window.findChild(ComparisonWindow) is not None, timeout=OPEN_TIMEOUT
    )
    window = find(tiny_window, ComparisonWindow)
    plot = find(window, Heatmap, "changePlot")
    chart = plot.chart
    assert isinstance(chart, MarkedGrid)
    name = "encoder.layer.1.attention.self.query.bias"
    cell = next(cell for cell, note in chart.notes.items() if note.name == name)
    x, y = cell[1] + 0.5, cell[0] + 0.5
    qtbot.mouseClick(plot, Qt.MouseButton.LeftButton, pos=pixel(plot, x, y))
    selection = tiny_window.workspace.selection
    assert selection.place.path == "encoder.layer.1.attention.self.query"
    find(window, QPushButton, "showInTable").click()
    assert find(window, QTableView, "comparedTensors").currentIndex().data() == name
    # Of another model that is opened meanwhile, nothing is selected.
    with qtbot.waitSignal(tiny_window.workspace.architecture_changed, timeout=OPEN_TIMEOUT):
        tiny_window.open_source(parse_source("bert-base-uncased"))
    assert plot.chart is not None
    assert plot.chart.key(*cell) == SelectionKey()
    assert tiny_window.workspace.comparison.other == ""


def test_the_same_sentence_through_both(
    tiny_window: MainWindow,
    worker: Worker,
    tiny_bert_folder: Path,
    tmp_path: Path,
    qtbot: QtBot,
) -> None:
    other = shutil.copytree(tiny_bert_folder, tmp_path / "tuned")
    tensors = load_file(other / "model.safetensors")
    name = next(each for each in tensors if each.endswith("word_embeddings.weight"))
    tensors[name] = tensors[name] * 2
    save_file(tensors, other / "model.safetensors")
    tiny_window.comparing.compare_with(str(other))
    qtbot.waitUntil(
        lambda: tiny_window.findChild(ComparisonWindow) is not None, timeout=OPEN_TIMEOUT
    )
    button = find(find(tiny_window, ComparisonWindow), QPushButton, "runBoth")
    assert not button.isEnabled()
    assert "Type a sentence first." in button.toolTip()
    tiny_window.set_sentence("the cat sat", None)
    qtbot.waitUntil(button.isEnabled, timeout=OPEN_TIMEOUT)
    runs = tiny_window.workspace.runs
    window = find(tiny_window, ComparisonWindow)
    assert window.windowTitle() == f"{other} ↔ {tiny_bert_folder}"  # left is A
    button.click()
    qtbot.waitUntil(lambda: runs.baseline is not None, timeout=OPEN_TIMEOUT)
    # It covers no result, and comes back on demand.
    assert not window.isVisible()
    find(tiny_window, QToolButton, "showComparison").click()
    assert window.isVisible()
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    assert runs.run is not None
    assert runs.baseline is not None
    run_a = runs.baseline.run
    assert run_a.source.name == str(other)
    assert run_a.tokens == runs.run.tokens
    path = "embeddings.word_embeddings"
    ours, theirs = (run.activation(path) for run in (runs.run, run_a))
    assert ours is not None
    assert theirs is not None
    stds = ours.statistics.std, theirs.statistics.std
    assert stds[0] is not None
    assert stds[1] == pytest.approx(2 * stds[0])
    find(tiny_window, ComparisonWindow).close()
    named = find(tiny_window, ElidedLabel, "keptRun")
    assert named.text() == "A: tuned · the cat sat"
    # A file of runs is of one model.
    kept = runs.kept()
    assert kept is not None
    assert kept.baseline is None


def test_models_that_are_built_differently_say_so(
    tiny_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window = compare_with("bert-base-uncased", tiny_window, worker, qtbot)
    tiny_window.set_sentence("the cat sat", None)
    button = find(window, QPushButton, "runBoth")
    qtbot.waitUntil(button.isEnabled, timeout=OPEN_TIMEOUT)
    button.click()
    qtbot.waitUntil(
        lambda: has_error(tiny_window),
        timeout=OPEN_TIMEOUT,
    )
    assert "a different structure" in shown_error(tiny_window).text()
    assert "a different structure" in shown_error(window).text()
    assert window.isVisible()
    assert tiny_window.workspace.runs.run is None
