"""A head that is random, and a model without one: what is said, and which heads are offered."""

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import transformers
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.checkpoint.banner import RandomBanner
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.run import jobs
from bertviewer.ui.run.predictions_view import offered_heads
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, last_run
from tests.ui.run.predictions_window import MASKED, Run, runner, table, text


@pytest.fixture
def run(window: MainWindow, settle: Callable[[], None], qtbot: QtBot) -> Run:
    return runner(window, settle, qtbot)


def test_a_random_head_is_said_loudly(window: MainWindow, run: Run, tiny_bert_folder: Path) -> None:
    run(MASKED, tiny_bert_folder)
    assert text(window, "randomPredictions").startswith("Random head")
    assert len(last_run(window).source.random_tensors) > 0


def test_a_base_model_offers_a_head_and_runs_the_sentence_again(
    window: MainWindow, run: Run, tiny_bert_folder: Path, settle: Callable[[], None], qtbot: QtBot
) -> None:
    run(MASKED, tiny_bert_folder, "base")
    assert "no prediction head" in text(window, "noPredictions")
    before = window.workspace.runs.run
    find(window, QPushButton, "openHead-masked-lm").click()
    qtbot.waitUntil(lambda: window.workspace.runs.run not in (before, None), timeout=OPEN_TIMEOUT)
    settle()
    assert last_run(window).source.task == "masked-lm"
    assert last_run(window).sentence.text == MASKED
    assert text(window, "noPredictions") == ""
    assert len(table(window, "predictionTable").rows) == 10


def test_a_saved_head_is_opened_and_nothing_is_random(
    window: MainWindow, run: Run, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "with a head"
    shutil.copytree(tiny_bert_folder, folder)
    config = transformers.AutoConfig.from_pretrained(folder)
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    run(MASKED, folder, "auto")
    assert window.workspace.architecture is not None
    assert window.workspace.architecture.root.class_name == "BertForMaskedLM"
    assert not find(window, RandomBanner, "randomBanner").isVisible()
    assert text(window, "randomPredictions") == ""
    assert len(table(window, "predictionTable").rows) == 10


def test_a_head_that_did_not_come_runs_nothing_later(
    window: MainWindow,
    run: Run,
    tiny_bert_folder: Path,
    worker: Worker,
    qtbot: QtBot,
) -> None:
    run(MASKED, tiny_bert_folder, "base")
    workspace = window.workspace
    # The worker is busy, so that the head cannot come before it is cancelled.
    goes_on = threading.Event()
    worker.start(lambda _: goes_on.wait(OPEN_TIMEOUT / 1000), lambda _: None, lambda _: None)
    find(window, QPushButton, "openHead-masked-lm").click()
    with qtbot.waitSignal(workspace.jobs.cancelled):
        find(window, QPushButton, "cancelButton").click()
    goes_on.set()
    before = workspace.architecture
    window.open_source(parse_source(str(tiny_bert_folder), "masked-lm"))
    qtbot.waitUntil(lambda: workspace.architecture is not before, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not workspace.jobs.activity and not workspace.deferred.pending)
    assert workspace.runs.run is None


@pytest.mark.parametrize(
    ("architectures", "heads", "offered"),
    [
        (["BertModel"], ("base", "masked-lm", "pretraining"), ("masked-lm",)),
        (None, ("base", "pretraining"), ("pretraining",)),
        (
            ["BertForSequenceClassification"],
            ("base", "masked-lm", "sequence-classification"),
            ("sequence-classification", "masked-lm"),
        ),
        (["BertForMaskedLM"], ("base", "masked-lm"), ("masked-lm",)),
        (["BertForNextSentencePrediction"], ("base",), ()),
    ],
)
def test_heads_worth_opening(
    architectures: list[str] | None, heads: tuple[str, ...], offered: tuple[str, ...]
) -> None:
    assert offered_heads({"architectures": architectures}, heads) == offered


def test_the_offer_says_whether_the_checkpoint_has_the_head(
    window: MainWindow, run: Run, tiny_bert_folder: Path, tmp_path: Path, qtbot: QtBot
) -> None:
    run(MASKED, tiny_bert_folder, "base")
    button = find(window, QPushButton, "openHead-masked-lm")
    qtbot.waitUntil(lambda: "random" in text(window, "noPredictions"), timeout=OPEN_TIMEOUT)
    assert "The checkpoint has no head for masked language modelling," in text(
        window, "noPredictions"
    )
    button = find(window, QPushButton, "openHead-masked-lm")
    assert button.text() == "Add a random masked language modelling head"
    (option,) = [each for each in window.findChildren(QAction) if each.objectName() == "masked-lm"]
    assert option.text() == "Masked language modelling (random: not in this checkpoint)"
    # The same model saved with its head.
    folder = tmp_path / "with a head"
    shutil.copytree(tiny_bert_folder, folder)
    config = transformers.AutoConfig.from_pretrained(folder)
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    run(MASKED, folder, "base")
    qtbot.waitUntil(
        lambda: bool(window.findChildren(QPushButton, "openHead-masked-lm")), timeout=OPEN_TIMEOUT
    )
    assert "random" not in text(window, "noPredictions")
    button = find(window, QPushButton, "openHead-masked-lm")
    assert button.text() == "Add a masked language modelling head"


def test_nothing_of_one_model_is_left_under_another(
    window: MainWindow,
    run: Run,
    tiny_bert_folder: Path,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(MASKED, tiny_bert_folder)
    assert table(window, "predictionTable").rows
    may_come = threading.Event()
    compute = jobs.predictions_job

    def wait_and_compute(*asked: Any) -> Any:
        assert may_come.wait(OPEN_TIMEOUT / 1000)
        return compute(*asked)

    monkeypatch.setattr(jobs, "predictions_job", wait_and_compute)
    workspace = window.workspace
    before = workspace.architecture
    window.open_source(parse_source(str(tiny_bert_folder), "pretraining"))
    qtbot.waitUntil(lambda: workspace.architecture is not before, timeout=OPEN_TIMEOUT)
    assert table(window, "predictionTable").rows == ()
    window.run()
    qtbot.waitUntil(lambda: workspace.runs.run is not None, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not workspace.deferred.pending)
    assert table(window, "predictionTable").rows == ()
    may_come.set()
    qtbot.waitUntil(lambda: bool(table(window, "predictionTable").rows), timeout=OPEN_TIMEOUT)
