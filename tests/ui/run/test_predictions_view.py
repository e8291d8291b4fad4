"""What the head predicts, in the window: words, layers, classes and answers."""

import gc
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import transformers
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QLabel,
    QProgressBar,
    QPushButton,
    QTableView,
    QTabWidget,
    QToolButton,
)
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import LineChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.core.util.text import as_sentence
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.run import jobs
from bertviewer.ui.run.words_panel import WordsPanel
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.finding import find, last_run
from tests.ui.run.predictions_window import MASKED, Run, runner, table, text
from tests.ui.run.trained import train

MEMORY = "not enough memory for what the head says"
Settle = Callable[[], None]


@pytest.fixture
def run(window: MainWindow, settle: Callable[[], None], qtbot: QtBot) -> Run:
    return runner(window, settle, qtbot)


@pytest.fixture(scope="session")
def trained_folder(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("trained"), tiny_bert_folder)


def column(window: MainWindow, name: str, title: str) -> list[Any]:
    header, rows = table(window, name).table()
    return [row[header.index(title)] for row in rows]


def tokens_in(window: MainWindow) -> list[Any]:
    return [row[1] for row in table(window, "predictionTable").table()[1]]


def lens_lines(window: MainWindow) -> LineChart:
    chart = find(window, LinePlot, "lensPlot").chart
    assert chart is not None
    return chart


def test_a_masked_word_is_what_the_pipeline_says(
    window: MainWindow, run: Run, trained_folder: Path
) -> None:
    run(MASKED, trained_folder)
    said = transformers.pipeline("fill-mask", model=str(trained_folder))(MASKED, top_k=10)
    assert tokens_in(window) == [one["token_str"] for one in said]
    assert column(window, "predictionTable", "Probability") == pytest.approx(
        [one["score"] for one in said], rel=1e-4
    )
    assert said[0]["token_str"] == "sat"
    assert said[0]["score"] > 0.9
    assert text(window, "predictionTitle") == "Predicted at [MASK] (3)"
    assert text(window, "randomPredictions") == ""
    # The last layer, which comes first, is the model's own.
    first = table(window, "lensTable").rows[0]
    assert [cell.value for cell in first[1:]] == [one["token_str"] for one in said[:5]]
    chart = lens_lines(window)
    assert chart.lines[0].label == "sat"
    assert chart.lines[0].values[-1] == pytest.approx(said[0]["score"], rel=1e-4)


def test_a_word_that_the_model_sees(
    window: MainWindow, run: Run, trained_folder: Path, settle: Callable[[], None]
) -> None:
    run(MASKED, trained_folder)
    window.workspace.selection.go(SelectionKey(token=2))
    settle()
    assert text(window, "predictionTitle") == "Predicted at cat (2)"
    assert text(window, "predictionHint").startswith("Actual: cat, rank ")
    assert "replace it with [MASK]" in text(window, "predictionHint")
    assert lens_lines(window).lines[0].label == "cat (actual)"
    find(window, QComboBox, "lensFigure").setCurrentIndex(1)
    settle()
    rank = column(window, "predictionTable", "Rank")[tokens_in(window).index("cat")]
    assert lens_lines(window).lines[0].values[-1] == rank
    assert lens_lines(window).is_log


def test_a_layer_of_the_lens_selects_its_module_and_follows_the_tree(
    window: MainWindow, run: Run, trained_folder: Path, settle: Callable[[], None], qtbot: QtBot
) -> None:
    run(MASKED, trained_folder)
    lens = find(window, QTableView, "lensTable")
    rect = lens.visualRect(lens.model().index(1, 2))
    qtbot.mouseClick(lens.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    settle()
    assert window.workspace.selection.place.path == "bert.encoder.layer.0"
    window.workspace.selection.select("bert.encoder.layer.1.output")
    settle()
    assert [index.row() for index in lens.selectionModel().selectedRows()] == [0]
    assert window.workspace.selection.place.path == "bert.encoder.layer.1.output"


def test_masks_have_buttons(
    window: MainWindow, run: Run, trained_folder: Path, settle: Callable[[], None]
) -> None:
    run("the [MASK] sat on the [MASK]", trained_folder)
    assert window.workspace.selection.token == 2
    buttons = {
        button.text(): button
        for button in find(window, WordsPanel).findChildren(QToolButton)
        if button.text().isdigit()
    }
    assert sorted(buttons) == ["2", "6"]
    buttons["6"].click()
    settle()
    assert window.workspace.selection.token == 6
    assert text(window, "predictionTitle") == "Predicted at [MASK] (6)"
    assert [name for name, button in buttons.items() if button.isChecked()] == ["6"]


def test_run_a_beside_it(
    window: MainWindow, run: Run, trained_folder: Path, settle: Callable[[], None]
) -> None:
    run(MASKED, trained_folder)
    chances = dict(
        zip(tokens_in(window), column(window, "predictionTable", "Probability"), strict=True)
    )
    window.workspace.runs.keep()
    run("a test [MASK] on the mat")
    tokens = tokens_in(window)
    a, b, less = (
        column(window, "predictionTable", f"{run}, Probability") for run in ("A", "B", "B − A")
    )
    found = dict(zip(tokens, a, strict=True))
    assert {token: found[token] for token in chances} == chances
    assert less == [y - x for x, y in zip(a, b, strict=True)]
    assert {line.label[0] for line in lens_lines(window).lines} == {"A", "B"}
    find(window, QToolButton, "lensA").click()
    assert table(window, "lensTable").rows[0][1].value == "sat"
    # [CLS] is in both; a word that A lacks has no partner.
    window.workspace.selection.go(SelectionKey(token=1))
    settle()
    assert set(column(window, "predictionTable", "A, Probability")) == {None}
    assert "this token is not in A" in text(window, "predictionHint")


PLOTS = {
    "sequence-classification": None,
    "next-sentence": None,
    "token-classification": "labelGrid",
    "question-answering": "answerPlot",
}


@pytest.mark.parametrize("task", PLOTS)
def test_classes(
    window: MainWindow,
    run: Run,
    tiny_bert_folder: Path,
    settle: Callable[[], None],
    task: str,
) -> None:
    plot = PLOTS[task]
    run("the cat sat on the mat", tiny_bert_folder, task, "this is a test")
    outputs = last_run(window).outputs
    rows = table(window, "classTable").rows
    if plot is None:
        assert column(window, "classTable", "Logit") == outputs["logits"][0].tolist()
        assert sum(column(window, "classTable", "Probability")) == pytest.approx(1.0)
        assert text(window, "classSummary")
        assert table(window, "predictionTable").rows == ()
        return
    assert len(rows) == len(last_run(window).tokens)
    shown = [
        widget
        for kind in (Heatmap, LinePlot)
        for widget in window.findChildren(kind)
        if widget.objectName() in ("labelGrid", "answerPlot") and widget.isVisible()
    ]
    assert [widget.objectName() for widget in shown] == [plot]
    window.workspace.selection.go(SelectionKey(token=4))
    settle()
    classes = find(window, QTableView, "classTable")
    assert [index.row() for index in classes.selectionModel().selectedRows()] == [4]
    classes.selectRow(6)
    assert window.workspace.selection.token == 6
    # Beside itself as run A nothing differs.
    window.workspace.runs.keep()
    settle()
    names = [name for name in table(window, "classTable").table()[0] if "B − A" in name]
    assert names
    assert {cell for name in names for cell in column(window, "classTable", name)} == {0.0}


def test_pretraining_has_words_and_a_verdict(
    window: MainWindow, run: Run, tiny_bert_folder: Path
) -> None:
    run(MASKED, tiny_bert_folder, "pretraining", "this is a test")
    assert len(table(window, "predictionTable").rows) == 10
    assert "The second text" in text(window, "classSummary")


def test_nothing_of_a_run_that_is_gone_is_kept(
    window: MainWindow, run: Run, tiny_bert_folder: Path, settle: Callable[[], None]
) -> None:
    # Words and classes beside one another.
    run(MASKED, tiny_bert_folder, "pretraining", "this is a test")
    find(window, QTabWidget, "runViews").setCurrentIndex(0)
    # What a run is made of is gone when the run is.
    gone = weakref.ref(last_run(window).hidden_states[0])
    assert gone() is not None
    window.set_sentence("a cat", None)
    window.run()
    settle()
    gc.collect()
    assert gone() is None
    assert find(window, WordsPanel).request.result is None


@pytest.fixture
def predicted(
    window: MainWindow, settle: Settle, qtbot: QtBot, tiny_bert_folder: Path
) -> MainWindow:
    """Return a window that shows what is predicted at a mask."""
    runner(window, settle, qtbot)(MASKED, tiny_bert_folder)
    return window


def is_busy(window: MainWindow) -> bool:
    return find(window, QProgressBar, "predictionProgress").isVisible()


def message(window: MainWindow) -> str:
    found = find(window, WordsPanel).findChild(QLabel, "predictionMessage")
    assert isinstance(found, QLabel)
    return found.text() if found.isVisible() else ""


def test_while_it_is_computed_the_view_says_so(
    predicted: MainWindow, settle: Settle, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on, real = Event(), jobs.predictions_job

    def held(*arguments: Any) -> Any:
        progress: Progress = arguments[-1]
        while not may_go_on.wait(0.01):
            progress(0, 0, "")
        return real(*arguments)

    monkeypatch.setattr(jobs, "predictions_job", held)
    assert not is_busy(predicted)
    predicted.workspace.selection.go(SelectionKey(token=2))
    qtbot.waitUntil(partial(is_busy, predicted))
    assert text(predicted, "predictionHint") == "Computing…"
    # What was there before stays, under its own name.
    assert text(predicted, "predictionTitle") == "Predicted at [MASK] (3)"
    assert find(predicted, QTableView, "predictionTable").isVisible()
    may_go_on.set()
    settle()
    assert not is_busy(predicted)
    assert text(predicted, "predictionTitle") == "Predicted at cat (2)"
    assert text(predicted, "predictionHint").startswith("Actual: cat")


def test_where_it_fails_the_view_says_why_and_offers_to_try_again(
    predicted: MainWindow, settle: Settle, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_fail, real = Event(), jobs.predictions_job

    def failing(*arguments: Any) -> Any:
        progress: Progress = arguments[-1]
        while not may_fail.wait(0.01):
            progress(0, 0, "")
        raise UserError(MEMORY)

    monkeypatch.setattr(jobs, "predictions_job", failing)
    predicted.workspace.selection.go(SelectionKey(token=2))
    qtbot.waitUntil(partial(is_busy, predicted))
    may_fail.set()
    settle()
    assert message(predicted) == as_sentence(MEMORY)
    assert not is_busy(predicted)
    # Nothing is left of the token before, nor of the wait.
    assert text(predicted, "predictionTitle") == text(predicted, "predictionHint") == ""
    assert not find(predicted, QTableView, "predictionTable").isVisible()
    monkeypatch.setattr(jobs, "predictions_job", real)
    again = find(predicted, QPushButton, "predictionMessageAction")
    assert again.text() == "Try again"
    again.click()
    settle()
    assert message(predicted) == ""
    assert text(predicted, "predictionTitle") == "Predicted at cat (2)"
    assert find(predicted, QTableView, "predictionTable").isVisible()
