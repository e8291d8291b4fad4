"""The window asks before it reads a pickle, says what is in it, and remembers the answer."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QAbstractButton, QMessageBox
from pytestqt.qtbot import QtBot
from safetensors.torch import load_file

from bertviewer.core.pickles import consent
from bertviewer.core.saving import disk_cache
from bertviewer.ui.checkpoint.pickle_consent import SETTING
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from tests.core.pickles.bad_pickles import SYSTEM
from tests.ui.finding import has_error, shown_error

TIMEOUT = 120_000


@pytest.fixture
def folder(tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the tiny BERT with its weights as a pickle; converting it takes no process here."""
    folder = Path(shutil.copytree(tiny_bert_folder, tmp_path / "model"))
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    monkeypatch.setattr(disk_cache, "user_cache_path", lambda *_, **__: tmp_path / "cache")

    def convert(_path: Path, work: Path, _progress: object) -> Path:
        shutil.copy(tiny_bert_folder / "model.safetensors", work)
        return work

    monkeypatch.setattr(consent, "convert_pickle", convert)
    return folder


@pytest.fixture
def ask(window: MainWindow, worker: Worker, qtbot: QtBot) -> Callable[[Path], QMessageBox]:
    """Give a function that opens a path and returns the question that follows."""

    def opened(path: Path) -> QMessageBox:
        window.open_named(str(path))
        qtbot.waitUntil(lambda: bool(questions(window)), timeout=TIMEOUT)
        qtbot.waitUntil(lambda: not worker.busy, timeout=TIMEOUT)
        return questions(window)[0]

    return opened


def questions(window: MainWindow) -> list[QMessageBox]:
    boxes = window.findChildren(QMessageBox, "consentDialog")
    return [box for box in boxes if isinstance(box, QMessageBox) and box.isVisible()]


def buttons(box: QMessageBox) -> dict[str, QAbstractButton]:
    return {button.text().replace("&", ""): button for button in box.buttons()}


def answer(box: QMessageBox, text: str, window: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    button = buttons(box)[text]
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not questions(window) and not worker.busy, timeout=TIMEOUT)


def weights(window: MainWindow) -> str | None:
    architecture = window.workspace.architecture
    return None if architecture is None else architecture.source.weights


def test_agreed_and_remembered(
    window: MainWindow,
    worker: Worker,
    qtbot: QtBot,
    folder: Path,
    ask: Callable[[Path], QMessageBox],
) -> None:
    box = ask(folder)
    assert window.workspace.architecture is None
    assert box.text() == f"Read the pickled weights of {folder}?"
    assert "requests only tensors" in box.informativeText()
    assert "torch.FloatStorage" in box.detailedText()
    assert box.textFormat() == Qt.TextFormat.PlainText
    default = box.defaultButton()
    assert default is not None
    assert default.text() == "Cancel"
    answer(box, "Read the tensors", window, worker, qtbot)
    assert weights(window) == "pretrained"
    # The same bytes are not asked about again, wherever they lie; another file is.
    window.workspace.architecture = None
    window.open_named(str(folder / "pytorch_model.bin"))
    qtbot.waitUntil(lambda: weights(window) is not None and not worker.busy, timeout=TIMEOUT)
    assert weights(window) == "pretrained"
    assert not questions(window)
    torch.save({"a": torch.ones(2)}, folder / "pytorch_model.bin")
    answer(ask(folder), "Cancel", window, worker, qtbot)


def test_cancelled(
    window: MainWindow,
    worker: Worker,
    qtbot: QtBot,
    folder: Path,
    ask: Callable[[Path], QMessageBox],
) -> None:
    answer(ask(folder), "Cancel", window, worker, qtbot)
    for key in (Qt.Key.Key_Escape, Qt.Key.Key_Return):
        qtbot.keyClick(ask(folder), key)
        qtbot.waitUntil(lambda: not questions(window), timeout=TIMEOUT)
    assert window.workspace.architecture is None
    assert not worker.busy
    assert QSettings().value(SETTING) is None


def test_the_architecture_alone(
    window: MainWindow,
    worker: Worker,
    qtbot: QtBot,
    folder: Path,
    ask: Callable[[Path], QMessageBox],
) -> None:
    answer(ask(folder), "Architecture only", window, worker, qtbot)
    assert weights(window) == "none"
    assert QSettings().value(SETTING) is None


def test_one_that_calls_something_cannot_be_agreed_to(
    window: MainWindow,
    worker: Worker,
    qtbot: QtBot,
    folder: Path,
    ask: Callable[[Path], QMessageBox],
) -> None:
    torch.save({"a": torch.ones(2), "b": SYSTEM}, folder / "pytorch_model.bin")
    box = ask(folder)
    assert box.text() == f"The weights of {folder} were rejected"
    assert "refused: it asks for posix.system, which tensors never need" in box.informativeText()
    assert "Read the tensors" not in buttons(box)
    answer(box, "Architecture only", window, worker, qtbot)
    assert weights(window) == "none"


def test_without_a_configuration_there_is_no_architecture_alone(
    window: MainWindow,
    worker: Worker,
    qtbot: QtBot,
    folder: Path,
    ask: Callable[[Path], QMessageBox],
) -> None:
    (folder / "config.json").unlink()
    box = ask(folder / "pytorch_model.bin")
    assert "Architecture only" not in buttons(box)
    answer(box, "Read the tensors", window, worker, qtbot)
    architecture = window.workspace.architecture
    assert architecture is not None
    assert architecture.config["model_type"] == "bert"


def test_a_damaged_one_is_told_at_once(
    window: MainWindow, worker: Worker, qtbot: QtBot, folder: Path
) -> None:
    file = folder / "pytorch_model.bin"
    file.write_bytes(file.read_bytes()[:-100])
    window.open_named(str(folder))
    qtbot.waitUntil(lambda: has_error(window), timeout=TIMEOUT)
    box = shown_error(window)
    assert box.text() == f"{file}: truncated or corrupt"
    box.close()
    assert not questions(window)
    qtbot.waitUntil(lambda: not worker.busy, timeout=TIMEOUT)
