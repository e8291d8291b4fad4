"""The layers view: statistics of parts and classes of tokens, and outlier features."""

import gc
import weakref
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pypdf
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLabel, QMenu, QPushButton, QTabWidget, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.core.analysis.outliers import outlier_features
from bertviewer.core.analysis.token_classes import token_classes
from bertviewer.core.errors import UserError
from bertviewer.core.run.activation_run import Sentence
from bertviewer.core.run.statistics import STATISTIC_NAMES
from bertviewer.core.source import parse_source
from bertviewer.plots.chart import GridChart, Line, LineChart, Place
from bertviewer.ui import tasks
from bertviewer.ui.lane import Lane
from bertviewer.ui.main_window import MainWindow
from bertviewer.ui.run.chart_panel import ChartPanel
from bertviewer.ui.run.outlier_bar import OutlierBar
from bertviewer.ui.run.part_measures import PartMeasures
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, is_drawn, last_run

TEXT = "the cat sat on the mat"


def settle(window: MainWindow, lane: Lane, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: is_drawn(window) and not lane.busy, timeout=60_000)


def run(window: MainWindow, lane: Lane, qtbot: QtBot, text: str = TEXT) -> None:
    before = window.workspace.run
    window.set_sentence(text, None)
    window.run()
    qtbot.waitUntil(lambda: window.workspace.run is not before, timeout=60_000)
    settle(window, lane, qtbot)


@pytest.fixture
def ran(demo_window: MainWindow, lane: Lane, qtbot: QtBot) -> MainWindow:
    """Return the window with a sentence run through the demo model."""
    run(demo_window, lane, qtbot)
    return demo_window


def choose(window: MainWindow, name: str, text: str) -> None:
    choice = find(window, QComboBox, name)
    assert choice.findText(text) >= 0
    choice.setCurrentText(text)


def texts(window: MainWindow, name: str) -> list[str]:
    choice = find(window, QComboBox, name)
    return [choice.itemText(index) for index in range(choice.count())]


def panels(window: MainWindow) -> tuple[ChartPanel, ChartPanel]:
    """Return the panels of the lines and of the grid."""
    found = {panel.plot.objectName(): panel for panel in window.findChildren(ChartPanel)}
    return found["layerPlot"], found["tokenHeatmap"]


def shown_lines(window: MainWindow) -> Sequence[Line]:
    (chart,) = panels(window)[0].charts
    assert isinstance(chart, LineChart)
    return chart.lines


def shown_grid(window: MainWindow) -> GridChart:
    (chart,) = panels(window)[1].charts
    assert isinstance(chart, GridChart)
    return chart


def titles(window: MainWindow) -> list[str]:
    return [panel.findChildren(QLabel)[0].text() for panel in panels(window)]


def chips(window: MainWindow) -> list[QToolButton]:
    return find(window, OutlierBar).findChildren(QToolButton, "outlierFeature")


def selected_feature(window: MainWindow) -> int | None:
    return window.workspace.feature


def test_what_can_be_chosen(ran: MainWindow) -> None:
    statistics = texts(ran, "statisticChoice")
    assert statistics == [*STATISTIC_NAMES, "mean ± std"]
    assert find(ran, QComboBox, "statisticChoice").currentText() == "std"
    parts = texts(ran, "partChoice")
    assert parts[:4] == ["follow the tree", "layer output", "attention", "attention.self"]
    assert "output.dense" in parts
    assert texts(ran, "tokenClassChoice") == [
        "all tokens",
        "content",
        "[CLS]",
        "[SEP]",
        "each class",
    ]
    assert titles(ran) == ["Layer output", "Token norms ‖h‖"]


def test_the_part_follows_the_tree_until_one_is_chosen(
    ran: MainWindow, lane: Lane, qtbot: QtBot
) -> None:
    ran.workspace.select("encoder.layer.2.intermediate")
    settle(ran, lane, qtbot)
    assert [line.label for line in shown_lines(ran)] == [
        "encoder.layer: output",
        "encoder.layer: intermediate",
    ]
    assert shown_grid(ran).values.shape == (7, 8)
    choose(ran, "partChoice", "attention.self")
    (line,) = shown_lines(ran)
    run_ = last_run(ran)
    for layer, value in enumerate(line.values):
        activation = run_.activation(f"encoder.layer.{layer}.attention.self")
        assert activation is not None
        assert activation.token_norms is not None
        assert value == activation.statistics.std
        assert shown_grid(ran).values[layer].tolist() == activation.token_norms.tolist()
    assert titles(ran) == ["attention.self", "Token norms of attention.self"]
    ran.workspace.select("encoder.layer.4.output")
    settle(ran, lane, qtbot)
    assert shown_lines(ran) == (line,)


def test_mean_band_and_extremes_of_the_selected_part_alone(
    ran: MainWindow, lane: Lane, qtbot: QtBot
) -> None:
    ran.workspace.select("encoder.layer.2.output")
    settle(ran, lane, qtbot)
    choose(ran, "statisticChoice", "mean ± std")
    (line,) = shown_lines(ran)
    assert line.label == "encoder.layer: output"
    assert None not in (line.low, line.high, line.min, line.max)


@pytest.mark.parametrize("part", ["layer output", "attention.output"])
def test_classes_of_tokens_are_measured_once(
    ran: MainWindow, lane: Lane, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    choose(ran, "partChoice", part)
    choose(ran, "tokenClassChoice", "each class")
    settle(ran, lane, qtbot)
    assert [line.label for line in shown_lines(ran)] == ["content", "[CLS]", "[SEP]"]
    monkeypatch.setattr(tasks, "measure_tokens", None)  # never again
    choose(ran, "statisticChoice", "rms")
    choose(ran, "tokenClassChoice", "[CLS]")
    (line,) = shown_lines(ran)
    name = "" if part == "layer output" else f".{part}"
    for layer, value in enumerate(line.values):
        activation = last_run(ran).activation(f"encoder.layer.{layer}{name}")
        assert activation is not None
        assert activation.token_norms is not None
        # The root mean square of one vector is its norm over the root of its width.
        assert value == pytest.approx(activation.token_norms[0] / 384**0.5, rel=1e-5)


def test_another_sentence_is_measured_anew(ran: MainWindow, lane: Lane, qtbot: QtBot) -> None:
    choose(ran, "tokenClassChoice", "content")
    settle(ran, lane, qtbot)
    before = shown_lines(ran)
    run(ran, lane, qtbot, "a dog")
    settle(ran, lane, qtbot)
    after = shown_lines(ran)
    assert [line.label for line in after] == ["content"]
    assert after != before


def test_classes_of_both_runs(ran: MainWindow, lane: Lane, qtbot: QtBot) -> None:
    find(ran, QPushButton, "keepRun").click()
    run(ran, lane, qtbot, "a dog barked")
    choose(ran, "tokenClassChoice", "[SEP]")
    settle(ran, lane, qtbot)
    assert [line.label for line in shown_lines(ran)] == ["B · [SEP]", "A · [SEP]"]
    ran.workspace.compare("difference")
    settle(ran, lane, qtbot)
    (line,) = shown_lines(ran)
    assert None not in line.values


def test_why_there_is_nothing_to_show(
    ran: MainWindow, lane: Lane, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise UserError("not to be had")

    monkeypatch.setattr(tasks, "measure_tokens", refuse)
    choose(ran, "tokenClassChoice", "content")
    settle(ran, lane, qtbot)
    layers, norms = panels(ran)
    assert layers.charts == ()
    assert find(layers, QLabel, "chartMessage").text() == "not to be had"
    assert norms.charts
    choose(ran, "tokenClassChoice", "all tokens")
    assert shown_lines(ran)


def test_a_long_wait_is_told(ran: MainWindow, lane: Lane, qtbot: QtBot) -> None:
    measures = find(ran, PartMeasures)
    # The worker cannot have begun before the window's thread is back in its loop.
    choose(ran, "tokenClassChoice", "content")
    measures.late.emit()
    assert titles(ran) == ["computing…", "Token norms ‖h‖"]
    choose(ran, "tokenClassChoice", "all tokens")
    assert titles(ran) == ["Layer output", "Token norms ‖h‖"]
    choose(ran, "tokenClassChoice", "content")
    settle(ran, lane, qtbot)
    assert titles(ran) == ["Layer output", "Token norms ‖h‖"]
    assert [line.label for line in shown_lines(ran)] == ["content"]


def test_outlier_features_are_named(ran: MainWindow) -> None:
    features = outlier_features(last_run(ran))
    assert features
    assert [chip.text() for chip in chips(ran)] == [str(f.index) for f in features][:8]
    assert f"Feature {features[0].index}: in 7 of 7 hidden states" in chips(ran)[0].toolTip()
    menu = find(ran, QMenu, "outlierMenu")
    assert [action.data() for action in menu.actions()] == [f.index for f in features]


def test_a_feature_and_back(ran: MainWindow, lane: Lane, qtbot: QtBot) -> None:
    chip = chips(ran)[0]
    feature = int(chip.text())
    states = [state[:, feature].astype(np.float64) for state in last_run(ran).hidden_states]
    qtbot.mouseClick(chip, Qt.MouseButton.LeftButton)
    settle(ran, lane, qtbot)
    assert ran.workspace.feature == feature
    line, limits = shown_lines(ran)
    assert line.values == pytest.approx([state.mean() for state in states])
    assert line.max == tuple(state.max() for state in states)
    assert limits.high is not None
    assert (shown_grid(ran).values == np.stack(states)).all()
    assert shown_grid(ran).is_signed
    assert chip.isChecked()
    assert not find(ran, QComboBox, "statisticChoice").isEnabled()
    choose(ran, "tokenClassChoice", "[CLS]")
    assert shown_lines(ran)[0].values == tuple(state[0] for state in states)
    # A click on the grid selects its cell, and stays with the feature.
    panels(ran)[1].plot.clicked.emit(shown_grid(ran).place(3, 2))
    settle(ran, lane, qtbot)
    assert ran.workspace.place == Place("encoder.layer.2", 2, None, feature)
    for leave in ("click", "escape", "back"):
        assert selected_feature(ran) == feature
        if leave == "click":
            qtbot.mouseClick(chip, Qt.MouseButton.LeftButton)
        elif leave == "back":
            qtbot.mouseClick(find(ran, QToolButton, "leaveFeature"), Qt.MouseButton.LeftButton)
        else:
            chip.setFocus()
            qtbot.keyClick(chip, Qt.Key.Key_Escape)
        settle(ran, lane, qtbot)
        assert selected_feature(ran) is None
        assert not chip.isChecked()
        assert find(ran, QComboBox, "statisticChoice").isEnabled()
        assert not shown_grid(ran).is_signed
        ran.workspace.go(Place(feature=feature))
        settle(ran, lane, qtbot)
        assert chip.isChecked()


def test_a_feature_of_both_runs(ran: MainWindow, lane: Lane, qtbot: QtBot) -> None:
    find(ran, QPushButton, "keepRun").click()
    run(ran, lane, qtbot, "a dog barked")
    ran.workspace.go(Place(feature=3))
    settle(ran, lane, qtbot)
    labels = [line.label for line in shown_lines(ran)]
    assert labels == ["B · feature 3", "B · all features ± 6 std", "A · feature 3"]
    assert len(panels(ran)[1].charts) == 2


def test_only_as_many_chips_as_there_is_room_for(ran: MainWindow, qtbot: QtBot) -> None:
    bar = find(ran, OutlierBar)
    counts = []
    for width in (120, 300, 700):
        bar.setFixedWidth(width)
        qtbot.wait(20)
        assert bar.width() == width
        seen = [chip for chip in chips(ran) if not chip.isHidden()]
        assert all(chip.geometry().right() <= width for chip in seen)
        counts.append(len(seen))
    assert counts[0] < counts[1] < counts[2] == len(chips(ran))


def test_a_view_out_of_sight_measures_nothing(ran: MainWindow, lane: Lane, qtbot: QtBot) -> None:
    tabs = find(ran, QTabWidget, "runViews")
    choose(ran, "tokenClassChoice", "content")
    tabs.setCurrentIndex(1)
    settle(ran, lane, qtbot)
    tabs.setCurrentIndex(0)
    settle(ran, lane, qtbot)
    assert [line.label for line in shown_lines(ran)] == ["content"]


def test_runs_that_are_gone_are_not_kept(ran: MainWindow, lane: Lane, qtbot: QtBot) -> None:
    choose(ran, "tokenClassChoice", "each class")
    settle(ran, lane, qtbot)
    assert ran.workspace.watched is not None
    gone = weakref.ref(ran.workspace.watched.kept)
    find(ran, QTabWidget, "runViews").setCurrentIndex(1)
    run(ran, lane, qtbot, "a dog")
    gc.collect()
    assert gone() is None


def test_the_report_has_what_is_on_screen(
    ran: MainWindow, lane: Lane, qtbot: QtBot, tmp_path: Path
) -> None:
    choose(ran, "statisticChoice", "mean ± std")
    path = tmp_path / "report.pdf"
    with qtbot.waitSignal(ran.workspace.exported, timeout=60_000):
        ran.export_report(path)
    text = "\n".join(page.extract_text() for page in pypdf.PdfReader(path).pages)
    assert "The mean ± std of each layer" in text
    settle(ran, lane, qtbot)


def test_another_model_and_its_classes(ran: MainWindow, lane: Lane, qtbot: QtBot) -> None:
    choose(ran, "tokenClassChoice", "[CLS]")
    choose(ran, "partChoice", "attention.self")
    settle(ran, lane, qtbot)
    ran.open_source(parse_source("albert-base-v2"))
    workspace = ran.workspace
    qtbot.waitUntil(lambda: workspace.run is None, timeout=OPEN_TIMEOUT)
    workspace.run_sentence(Sentence(TEXT), random_weights=True)
    qtbot.waitUntil(lambda: workspace.run is not None, timeout=OPEN_TIMEOUT)
    settle(ran, lane, qtbot)
    assert find(ran, QComboBox, "partChoice").currentText() == "follow the tree"
    assert find(ran, QComboBox, "tokenClassChoice").currentText() == "[CLS]"
    (line,) = shown_lines(ran)
    assert len(line.values) == 12
    choose(ran, "partChoice", "albert_layers.0.ffn")
    settle(ran, lane, qtbot)
    grid = shown_grid(ran).values
    assert grid.shape[0] == 12
    assert np.isfinite(grid).all()
    classes = token_classes(last_run(ran))
    assert texts(ran, "tokenClassChoice")[:-1] == [kind.label for kind in classes]
