"""Load report of a checkpoint: facts for the inspector, and the dialog of all names."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QPushButton, QTreeWidget
from pytestqt.qtbot import QtBot
from safetensors.torch import load_file, save_file

from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.ui.checkpoint.load_report import LoadReportDialog, checkpoint_facts
from tests.ui.finding import find

Report = Callable[[str], LoadReport]


@pytest.fixture
def report(
    open_model: Callable[..., LoadedModel], tiny_bert_folder: Path, tmp_path: Path
) -> Report:
    """Return a function that opens the tiny BERT for a task, with float16 and other names."""
    folder = Path(shutil.copytree(tiny_bert_folder, tmp_path / "model"))
    file = folder / "model.safetensors"
    tensors = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma"): tensor.half()
        for name, tensor in load_file(file).items()
    }
    save_file(tensors | {"<b>stray</b>": tensors["pooler.dense.bias"].clone()}, file)

    def report(task: str) -> LoadReport:
        found = open_model(folder, task).load_report
        assert found is not None
        return found

    return report


def test_facts(report: Report) -> None:
    found = report("base")
    facts = dict(checkpoint_facts(found))
    assert facts["Stored as"] == "F16; computed in float32"
    assert facts["Files"] == f"model.safetensors, {found.nbytes / 1e6:.1f} MB"
    assert "Missing" not in facts
    assert facts["Not in this model"] == "1 of 40 tensors in the files: <b>stray</b>"


def test_the_dialog_lists_names_by_group(report: Report, qtbot: QtBot) -> None:
    dialog = LoadReportDialog(report("masked-lm"))
    qtbot.addWidget(dialog)
    dialog.show()
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
    line = "bert.embeddings.LayerNorm.weight is stored as embeddings.LayerNorm.gamma"
    assert line in QApplication.clipboard().text()
    tree.setCurrentIndex(tree.model().index(0, 1, tree.model().index(0, 0)))
    find(dialog, QAction, "copyRowPath").trigger()
    assert QApplication.clipboard().text() == missing[0][0]
    with qtbot.waitSignal(dialog.chosen) as signal:
        find(dialog, QAction, "goToRow").trigger()
    assert signal.args == [missing[0][0]]
