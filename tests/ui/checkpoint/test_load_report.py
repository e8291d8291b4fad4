"""Random tensors are told for as long as the model is open, and every name can be read."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QPushButton, QTreeWidget
from pytestqt.qtbot import QtBot
from safetensors.torch import load_file, save_file

from bertviewer.core.sources.parsing import parse_source
from bertviewer.report.summary import random_weights_warning
from bertviewer.ui.checkpoint.banner import RandomBanner
from bertviewer.ui.checkpoint.load_report import LoadReportDialog, checkpoint_facts
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, is_drawn


@pytest.fixture
def folder(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    """Return the tiny model in float16, with old names and one name that nobody knows."""
    folder = tmp_path / "model"
    shutil.copytree(tiny_bert_folder, folder)
    file = folder / "model.safetensors"
    tensors = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma"): tensor.half()
        for name, tensor in load_file(file).items()
    }
    save_file(tensors | {"<b>stray</b>": tensors["pooler.dense.bias"].clone()}, file)
    return folder


def opened(window: MainWindow, worker: Worker, qtbot: QtBot, path: Path, task: str) -> RandomBanner:
    with qtbot.waitSignal(window.workspace.architecture_changed, timeout=OPEN_TIMEOUT):
        window.open_source(parse_source(str(path), task))
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    return find(window, RandomBanner, "randomBanner")


def test_the_banner_lasts_while_tensors_are_random(
    window: MainWindow, worker: Worker, qtbot: QtBot, folder: Path
) -> None:
    banner = opened(window, worker, qtbot, folder, "masked-lm")
    text = find(window, QLabel, "randomBannerText").text()
    assert text.startswith(
        "5 of 42 tensors are missing from the checkpoint and will be initialised randomly"
    )
    assert banner.isVisible()
    window.set_sentence("the cat sat", None)
    window.run()
    qtbot.waitUntil(lambda: is_drawn(window) and not worker.busy)
    text = find(window, QLabel, "randomBannerText").text()
    assert text.startswith(
        "5 of 42 tensors are missing from the checkpoint and were initialised randomly"
    )
    window.panes.maximize("run")
    assert banner.isVisible()
    assert not opened(window, worker, qtbot, folder, "base").isVisible()


@pytest.mark.parametrize(
    "lacking", [["pooler.dense.bias"], ["pooler.dense.bias", "pooler.dense.weight"]]
)
def test_after_a_run_the_banner_says_what_the_report_does(
    window: MainWindow, worker: Worker, qtbot: QtBot, folder: Path, lacking: list[str]
) -> None:
    file = folder / "model.safetensors"
    tensors = load_file(file)
    save_file({name: tensors[name] for name in tensors if name not in lacking}, file)
    opened(window, worker, qtbot, folder, "base")
    window.set_sentence("the cat sat", None)
    window.run()
    qtbot.waitUntil(lambda: is_drawn(window) and not worker.busy)
    architecture = window.workspace.architecture
    assert architecture is not None
    assert len(architecture.source.random_tensors) == len(lacking)
    words = random_weights_warning(architecture.source, architecture.tensor_count)
    assert words is not None
    assert find(window, QLabel, "randomBannerText").text() == words.text


def test_the_lists_of_the_banner(
    window: MainWindow, worker: Worker, qtbot: QtBot, folder: Path
) -> None:
    opened(window, worker, qtbot, folder, "masked-lm")
    find(window, QPushButton, "randomBannerButton").click()
    dialog = find(window, QDialog, "keyReportDialog")
    assert isinstance(dialog, LoadReportDialog)
    tree = find(dialog, QTreeWidget, "keyReport")
    groups = {}
    for number in range(tree.topLevelItemCount()):
        group = tree.topLevelItem(number)
        assert group is not None
        rows = [group.child(row) for row in range(group.childCount())]
        groups[group.text(0)] = [(row.text(0), row.text(1)) for row in rows if row is not None]
    assert list(groups) == [
        "Missing from the checkpoint (random) (5)",
        "Stored under another name (37)",
        "In the checkpoint but not in this model (3)",
        "Tied to another tensor (2)",
    ]
    missing, renamed, unexpected, tied = groups.values()
    assert ("cls.predictions.bias", "") in missing
    assert ("bert.embeddings.LayerNorm.weight", "embeddings.LayerNorm.gamma") in renamed
    assert ("", "<b>stray</b>") in unexpected
    word = "bert.embeddings.word_embeddings.weight"
    assert (f"cls.predictions.decoder.weight is {word}", "") in tied
    find(dialog, QPushButton, "copyKeyReport").click()
    copied = QApplication.clipboard().text()
    assert "bert.embeddings.LayerNorm.weight is stored as embeddings.LayerNorm.gamma" in copied
    group = tree.topLevelItem(0)
    assert group is not None
    first = group.child(0)
    assert first is not None
    tree.setCurrentItem(first, 1)
    actions = {action.objectName(): action for action in tree.actions() if action.isVisible()}
    actions["copyRowPath"].trigger()
    assert QApplication.clipboard().text() == missing[0][0]
    with qtbot.waitSignal(dialog.chosen) as signal:
        actions["goToRow"].trigger()
    assert signal.args == [missing[0][0]]


def test_the_overview_tells_of_the_checkpoint(
    window: MainWindow, worker: Worker, qtbot: QtBot, folder: Path
) -> None:
    opened(window, worker, qtbot, folder, "base")
    keys = window.workspace.keys
    assert keys is not None
    facts = dict(checkpoint_facts(keys))
    assert facts["Stored as"] == "F16; computed in float32"
    assert facts["Files"] == f"model.safetensors, {keys.nbytes / 1e6:.1f} MB"
    assert "Missing" not in facts
    assert facts["Not in this model"] == "1 of 40 tensors in the files: <b>stray</b>"
    # The pane of the module is filled when the tree has been drawn.
    qtbot.waitUntil(lambda: bool(window.findChildren(QPushButton, "showKeyReport")))
    find(window, QPushButton, "showKeyReport").click()
    find(window, QDialog, "keyReportDialog").close()
    window.workspace.selection.select("pooler")
    qtbot.waitUntil(lambda: not window.findChildren(QPushButton, "showKeyReport"))


def test_a_model_without_weights_has_no_report(
    window: MainWindow, worker: Worker, qtbot: QtBot, folder: Path
) -> None:
    assert not opened(window, worker, qtbot, folder / "config.json", "base").isVisible()
    assert window.workspace.keys is None
    assert not window.findChildren(QPushButton, "showKeyReport")
