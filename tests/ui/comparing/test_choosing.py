"""The open model is compared with another one, which is chosen in a dialog."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QApplication,
    QFileDialog,
    QMessageBox,
    QPushButton,
    QTableView,
)
from pytestqt.qtbot import QtBot

from bertviewer.core.backend import torch
from bertviewer.core.saving.model_files import IS_THE_MODELS
from bertviewer.core.source.parsing import parse_source
from bertviewer.ui.background.worker import Worker
from bertviewer.ui.comparing.window import ComparisonWindow
from bertviewer.ui.main_window import MainWindow
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find


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
    table.doubleClicked.emit(table.model().index(1, 0))
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

    def errors() -> list[QMessageBox]:
        boxes = QApplication.topLevelWidgets()
        return [box for box in boxes if isinstance(box, QMessageBox) and box.isVisible()]

    for file in (other / "config.json", tiny_bert_folder / "vocab.txt"):
        before = file.read_bytes()
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, file=file: (str(file), ""))
        for save in (
            find(comparison, QPushButton, "saveComparison").click,
            tiny_window.exporting.choose_modules,
            tiny_window.exporting.choose_report,
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
    box = find(tiny_window, QMessageBox, "errorDialog")
    assert "no config.json" in box.text()
    assert tiny_window.findChild(ComparisonWindow) is None


def test_no_choice_is_no_comparison(
    tiny_window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, "")
    find(tiny_window, QAction, "compareFolder").trigger()
    assert tiny_window.workspace.scheduler.activity == ""


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
    table.doubleClicked.emit(table.model().index(1, 0))
    assert workspace.selection.row is not None
    assert workspace.selection.row.node.path == ""
