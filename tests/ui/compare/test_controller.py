"""Comparison of the open model with another one: what is opened, selected, run and protected."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QMenu, QMessageBox, QPushButton, QTableView, QWidget
from pytestqt.qtbot import QtBot
from safetensors.torch import load_file, save_file

from bertviewer.charts.change_grid import MarkedGrid
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.building.backend import torch
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.saving.model_files import IS_THE_MODELS
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.plots.heatmap import Heatmap
from bertviewer.ui.compare.controller import ComparisonController
from bertviewer.ui.compare.window import ComparisonWindow
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.workspace import Workspace
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import activate, find, shown_error
from tests.ui.run.view_harness import RunHarness

OpenModel = Callable[..., LoadedModel]


class Opened(RunHarness):
    """A window with the tiny BERT, and the controller of its comparisons."""

    def __init__(self, workspace: Workspace, qtbot: QtBot) -> None:
        super().__init__(QWidget(), workspace, qtbot)
        self._qtbot = qtbot
        self.controller = ComparisonController(workspace, self.window)

    def compare_with(self, path: Path | str) -> RunHarness:
        """Compare with another model, and return the window of the comparison."""
        self.controller.compare_with(str(path))
        self.settle()
        return self.comparison()

    def comparisons(self) -> list[ComparisonWindow]:
        return [each for each in self.window.findChildren(ComparisonWindow) if each.isVisible()]

    def comparison(self) -> RunHarness:
        (window,) = self.comparisons()
        return RunHarness(window, self.workspace, self._qtbot)


@pytest.fixture
def opened(
    open_model: OpenModel, workspace: Workspace, tiny_bert_folder: Path, qtbot: QtBot
) -> Opened:
    open_model(tiny_bert_folder)
    return Opened(workspace, qtbot)


@pytest.fixture
def other(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    """Return a copy of the tiny BERT."""
    return Path(shutil.copytree(tiny_bert_folder, tmp_path / "tuned"))


def answer(monkeypatch: pytest.MonkeyPatch, path: Path | str) -> None:
    """Answer file dialogs with a path."""
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(path))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))


def test_a_folder_or_a_file_is_compared_and_the_model_stays_open(
    opened: Opened, other: Path, tiny_bert_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, choose in (
        (other, opened.controller.choose_folder),
        (other / "model.safetensors", opened.controller.choose_file),
    ):
        answer(monkeypatch, path)
        choose()
        opened.settle()
        table = opened.comparison().find(QTableView, "comparedTensors")
        assert table.model().rowCount() == 39
        table.activated.emit(table.model().index(1, 0))
        assert opened.place.path == "embeddings.position_embeddings"
        assert opened.workspace.source is not None
        assert opened.workspace.source.name == str(tiny_bert_folder)
        opened.select("")


def test_no_file_of_either_model_is_overwritten(
    opened: Opened, other: Path, tiny_bert_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = opened.compare_with(other)
    errors: list[object] = []
    opened.workspace.jobs.errored.connect(errors.append)
    for file in (other / "config.json", tiny_bert_folder / "vocab.txt"):
        before = file.read_bytes()
        answer(monkeypatch, file)
        comparison.click("saveComparison")
        bar = shown_error(comparison.window)
        assert IS_THE_MODELS in bar.text()
        bar.close()
        opened.workspace.export_modules(file)
        opened.settle()
        assert IS_THE_MODELS in str(errors.pop())
        assert file.read_bytes() == before


def test_a_folder_without_a_model_and_a_cancelled_dialog(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, "")
    opened.controller.choose_folder()
    assert opened.workspace.jobs.activity == ""
    answer(monkeypatch, tmp_path)
    opened.controller.choose_folder()
    assert "no config.json" in shown_error(opened.window).text()
    assert opened.comparisons() == []


def test_pickled_weights_are_read_only_with_consent(
    opened: Opened, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    shutil.copy(tiny_bert_folder / "config.json", tmp_path)
    torch.save({"pooler.dense.bias": torch.zeros(32)}, tmp_path / "pytorch_model.bin")
    opened.controller.compare_with(str(tmp_path))
    opened.settle()
    box = find(opened.window, QMessageBox, "consentDialog")
    (architecture_only,) = (b for b in box.buttons() if "Architecture" in b.text())
    architecture_only.click()
    opened.settle()
    table = opened.comparison().find(QTableView, "comparedTensors").model()
    assert {table.index(row, 1).data() for row in range(39)} == {"not compared"}


def test_sides_are_swapped(opened: Opened, tiny_bert_folder: Path) -> None:
    window = opened.compare_with("bert-large-uncased")
    assert window.window.windowTitle() == f"bert-large-uncased ↔ {tiny_bert_folder}"
    kept = opened.workspace.comparison
    assert kept.other == "bert-large-uncased"
    window.click("swapSides")
    swapped = opened.comparison()
    assert swapped.window.windowTitle() == f"{tiny_bert_folder} ↔ bert-large-uncased"
    assert kept.other == "bert-large-uncased"
    assert not swapped.is_enabled("runBoth")
    swapped.window.close()
    assert kept.other == ""


def test_a_cell_selects_its_tensor_unless_another_model_was_opened(
    opened: Opened, other: Path, open_model: OpenModel
) -> None:
    window = opened.compare_with(other)
    plot, table = window.find(Heatmap, "changePlot"), window.find(QTableView, "comparedTensors")
    assert isinstance(plot.chart, MarkedGrid)
    name = "encoder.layer.1.attention.self.query.bias"
    cell = next(cell for cell, note in plot.chart.notes.items() if note.name == name)
    plot.go_to(cell)
    assert opened.place.path == name.rpartition(".")[0]
    window.click("showInTable")
    assert table.currentIndex().data() == name
    open_model("bert-base-uncased")
    assert plot.chart.key(*cell) == SelectionKey()
    table.activated.emit(table.model().index(1, 0))
    assert opened.place.path == ""
    assert opened.workspace.comparison.other == ""


def test_one_sentence_through_both_models(
    opened: Opened, other: Path, tiny_bert_folder: Path
) -> None:
    tensors = load_file(other / "model.safetensors")
    name = next(each for each in tensors if each.endswith("word_embeddings.weight"))
    tensors[name] = tensors[name] * 2
    save_file(tensors, other / "model.safetensors")
    window = opened.compare_with(other)
    assert window.window.windowTitle() == f"{other} ↔ {tiny_bert_folder}"  # A at the left
    button, workspace = window.find(QPushButton, "runBoth"), opened.workspace
    assert not button.isEnabled()
    assert "Type a sentence first." in button.toolTip()
    workspace.run_input.set_sentence(Sentence("the cat sat"))
    assert button.isEnabled()
    window.click("runBoth")
    runs = workspace.runs
    assert runs.run is not None
    assert runs.baseline is not None
    assert runs.baseline.run.source.name == str(other)
    assert runs.baseline.run.tokens == runs.run.tokens
    std_b, std_a = (
        found.statistics.std
        for run in (runs.run, runs.baseline.run)
        if (found := run.activation("embeddings.word_embeddings")) is not None
    )
    assert std_b is not None
    assert std_a == pytest.approx(2 * std_b)
    # The window does not cover the results, and comes back on request.
    assert not window.window.isVisible()
    workspace.comparison.window_requested.emit()
    assert window.window.isVisible()
    # A file of runs contains runs of one model.
    kept = runs.kept()
    assert kept is not None
    assert kept.baseline is None


def test_models_of_another_structure_are_not_run(opened: Opened) -> None:
    window = opened.compare_with("bert-base-uncased")
    errors: list[object] = []
    opened.workspace.jobs.errored.connect(errors.append)
    opened.workspace.run_input.set_sentence(Sentence("the cat sat"))
    window.click("runBoth")
    assert "a different structure" in str(errors[0])
    assert "a different structure" in shown_error(window.window).text()
    assert window.window.isVisible()
    assert opened.workspace.runs.run is None


def test_the_menu_of_the_window_offers_other_models(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    menu = find(demo_window, QMenu, "compareWith")
    above = next(m for m in demo_window.findChildren(QMenu) if menu.menuAction() in m.actions())
    above.aboutToShow.emit()
    next(a for a in menu.actions() if a.objectName() == "bert-large-uncased").trigger()
    qtbot.waitUntil(lambda: bool(demo_window.findChildren(ComparisonWindow)), timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not worker.busy)
    window = find(demo_window, ComparisonWindow)
    activate(window, qtbot)
    QTest.keySequence(window, QKeySequence(QKeySequence.StandardKey.Close))
    qtbot.waitUntil(lambda: not demo_window.findChildren(ComparisonWindow))
