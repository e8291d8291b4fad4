"""Consent to pickled weights: what the question says, and what each answer does."""

import shutil
from pathlib import Path

import pytest
import torch
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QAbstractButton, QMessageBox, QWidget
from pytestqt.qtbot import QtBot
from safetensors.torch import load_file

from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.checkpoint.pickle_consent import SETTING, WeightsConsent
from bertviewer.ui.state.workspace import Workspace
from tests.core.pickles.bad_pickles import SYSTEM
from tests.ui.direct_worker import settle


@pytest.fixture(scope="session")
def pickled_folder(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tiny BERT with its weights as a pickle."""
    folder = tmp_path_factory.mktemp("pickled") / "model"
    shutil.copytree(tiny_bert_folder, folder)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder


class Consent:
    """Asks for consent, and notes the models that are passed on."""

    def __init__(self, workspace: Workspace, window: QWidget, qtbot: QtBot) -> None:
        self.passed: list[ModelSource] = []
        self.errors: list[str] = []
        self._window, self._workspace, self._qtbot = window, workspace, qtbot
        workspace.jobs.errored.connect(lambda error: self.errors.append(str(error)))
        self._consent = WeightsConsent(workspace, window, self.passed.append)

    def ask(self, path: Path) -> QMessageBox | None:
        """Return the question about a path, ``None`` if there is none."""
        self._consent.ask(parse_source(str(path)))
        settle(self._workspace)
        boxes = self._window.findChildren(QMessageBox, "consentDialog")
        return next((box for box in boxes if box.isVisible()), None)

    def answer(self, path: Path, text: str) -> QMessageBox:
        """Ask about a path, and click the button with a text."""
        box = self.ask(path)
        assert box is not None
        self._qtbot.mouseClick(buttons(box)[text], Qt.MouseButton.LeftButton)
        return box


def buttons(box: QMessageBox) -> dict[str, QAbstractButton]:
    return {button.text().replace("&", ""): button for button in box.buttons()}


@pytest.fixture
def consent(workspace: Workspace, qtbot: QtBot) -> Consent:
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    return Consent(workspace, window, qtbot)


def test_other_models_are_passed_on_at_once(consent: Consent, tiny_bert_folder: Path) -> None:
    assert consent.ask(tiny_bert_folder) is None
    assert len(consent.passed) == 1


def test_consent_is_remembered_for_the_same_content(
    consent: Consent, pickled_folder: Path, tmp_path: Path
) -> None:
    box = consent.ask(pickled_folder)
    assert box is not None
    assert consent.passed == []
    assert box.text() == f"Read the pickled weights of {pickled_folder}?"
    assert "requests only tensors" in box.informativeText()
    assert "torch.FloatStorage" in box.detailedText()
    assert box.textFormat() == Qt.TextFormat.PlainText
    default = box.defaultButton()
    assert default is not None
    assert default.text() == "Cancel"
    buttons(box)["Read the tensors"].click()
    elsewhere = Path(shutil.copytree(pickled_folder, tmp_path / "copy"))
    assert consent.ask(elsewhere / "pytorch_model.bin") is None
    assert [source.pickle_allowed for source in consent.passed] == [True, True]
    torch.save({"a": torch.ones(2)}, elsewhere / "pytorch_model.bin")
    assert consent.ask(elsewhere) is not None


@pytest.mark.parametrize("key", [None, Qt.Key.Key_Escape, Qt.Key.Key_Return])
def test_after_cancel_nothing_is_opened(
    consent: Consent, pickled_folder: Path, key: Qt.Key | None, qtbot: QtBot
) -> None:
    if key is None:
        consent.answer(pickled_folder, "Cancel")
    else:
        qtbot.keyClick(consent.ask(pickled_folder), key)
    assert consent.passed == []
    assert QSettings().value(SETTING) is None


def test_the_architecture_can_be_opened_without_the_weights(
    consent: Consent, pickled_folder: Path
) -> None:
    consent.answer(pickled_folder, "Architecture only")
    assert [source.pickle_allowed for source in consent.passed] == [False]
    assert QSettings().value(SETTING) is None


def test_a_pickle_that_calls_something_is_rejected(
    consent: Consent, pickled_folder: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(pickled_folder, tmp_path / "bad"))
    torch.save({"a": torch.ones(2), "b": SYSTEM}, folder / "pytorch_model.bin")
    box = consent.answer(folder, "Architecture only")
    assert box.text() == f"The weights of {folder} were rejected"
    assert "refused: it asks for posix.system, which tensors never need" in box.informativeText()
    assert "Read the tensors" not in buttons(box)
    assert [source.pickle_allowed for source in consent.passed] == [False]


def test_without_a_configuration_there_is_no_architecture_to_open(
    consent: Consent, pickled_folder: Path, tmp_path: Path
) -> None:
    file = Path(shutil.copy(pickled_folder / "pytorch_model.bin", tmp_path))
    box = consent.ask(file)
    assert box is not None
    assert "Architecture only" not in buttons(box)
    assert "Read the tensors" in buttons(box)


def test_a_damaged_pickle_is_an_error(
    consent: Consent, pickled_folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "pytorch_model.bin"
    file.write_bytes((pickled_folder / "pytorch_model.bin").read_bytes()[:-100])
    assert consent.ask(file) is None
    assert consent.errors == [f"{file}: truncated or corrupt"]
    assert consent.passed == []
