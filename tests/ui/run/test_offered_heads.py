"""A head that is random, and a model without one: what is said, and which heads are offered."""

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from bertviewer.core.source.parsing import parse_source
from bertviewer.ui.background.worker import Worker
from bertviewer.ui.checkpoint.banner import RandomBanner
from bertviewer.ui.main_window import MainWindow
from bertviewer.ui.run.predictions_view import offered_heads
from tests.core.loading.tiny_models import save_model
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, last_run
from tests.ui.run.predictions_window import MASKED, Run, runner, table, text


@pytest.fixture
def run(window: MainWindow, settle: Callable[[], None], qtbot: QtBot) -> Run:
    return runner(window, settle, qtbot)


def test_a_random_head_is_said_loudly(window: MainWindow, run: Run, tiny_bert_folder: Path) -> None:
    run(MASKED, tiny_bert_folder)
    assert text(window, "randomPredictions").startswith("This head is RANDOM")
    assert len(last_run(window).source.random_tensors) > 0


def test_a_base_model_offers_a_head_and_runs_the_sentence_again(
    window: MainWindow, run: Run, tiny_bert_folder: Path, settle: Callable[[], None], qtbot: QtBot
) -> None:
    run(MASKED, tiny_bert_folder, "base")
    assert "no head that predicts" in text(window, "noPredictions")
    before = window.workspace.runs.run
    find(window, QPushButton, "openHead-masked-lm").click()
    qtbot.waitUntil(lambda: window.workspace.runs.run not in (before, None), timeout=OPEN_TIMEOUT)
    settle()
    assert last_run(window).source.task == "masked-lm"
    assert last_run(window).sentence.text == MASKED
    assert text(window, "noPredictions") == ""
    assert len(table(window, "predictionTable").rows) == 10


def test_a_head_that_the_checkpoint_lacks_is_offered_as_random(
    window: MainWindow, run: Run, tiny_bert_folder: Path
) -> None:
    run(MASKED, tiny_bert_folder, "base")
    said = "The checkpoint has no head for masked language modelling: its weights would be RANDOM"
    assert said in text(window, "noPredictions")
    button = find(window, QPushButton, "openHead-masked-lm")
    assert button.text() == "Open with masked language modelling, RANDOM"


def test_a_saved_head_is_opened_and_nothing_is_random(
    window: MainWindow, run: Run, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    save_model(tmp_path, "BertForMaskedLM", vocab_size=_words(tiny_bert_folder))
    for name in ("vocab.txt", "tokenizer.json", "tokenizer_config.json"):
        if (tiny_bert_folder / name).is_file():
            shutil.copy(tiny_bert_folder / name, tmp_path)
    run(MASKED, tmp_path, "auto")
    assert window.workspace.architecture is not None
    assert window.workspace.architecture.root.class_name == "BertForMaskedLM"
    assert not find(window, RandomBanner, "randomBanner").isVisible()
    assert text(window, "randomPredictions") == ""
    assert len(table(window, "predictionTable").rows) == 10


def _words(folder: Path) -> int:
    return int(json.loads((folder / "config.json").read_text("utf-8"))["vocab_size"])


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
    with qtbot.waitSignal(workspace.scheduler.cancelled):
        find(window, QPushButton, "cancelButton").click()
    goes_on.set()
    before = workspace.architecture
    window.open_source(parse_source(str(tiny_bert_folder), "masked-lm"))
    qtbot.waitUntil(lambda: workspace.architecture is not before, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not workspace.scheduler.activity and not workspace.draw_queue.pending)
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
