"""Outlier features beside the figures of each layer: named, chosen, and left again."""

from functools import partial

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QMenu, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.outliers import outlier_features
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.run.layer_panels import OutlierBar
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.finding import find, last_run
from tests.ui.run.layers_window import choose, panels, run, settle, shown_grid, shown_lines


def chips(window: MainWindow) -> list[QToolButton]:
    return find(window, OutlierBar).findChildren(QToolButton, "outlierFeature")


def selected_feature(window: MainWindow) -> int | None:
    return window.workspace.selection.feature


def test_outlier_features_are_named(ran: MainWindow) -> None:
    features = outlier_features(last_run(ran))
    assert features
    assert [chip.text() for chip in chips(ran)] == [str(f.index) for f in features][:8]
    assert f"Feature {features[0].index}: in 7 of 7 hidden states" in chips(ran)[0].toolTip()
    menu = find(ran, QMenu, "outlierMenu")
    assert [action.data() for action in menu.actions()] == [f.index for f in features]


def test_a_feature_and_back(ran: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    chip = chips(ran)[0]
    feature = int(chip.text())
    states = [state[:, feature].astype(np.float64) for state in last_run(ran).hidden_states]
    qtbot.mouseClick(chip, Qt.MouseButton.LeftButton)
    settle(ran, worker, qtbot)
    assert ran.workspace.selection.feature == feature
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
    panels(ran)[1].plot.clicked.emit(shown_grid(ran).key(3, 2))
    settle(ran, worker, qtbot)
    assert ran.workspace.selection.place == SelectionKey("encoder.layer.2", 2, None, feature)
    for leave in ("click", "escape", "back"):
        assert selected_feature(ran) == feature
        if leave == "click":
            qtbot.mouseClick(chip, Qt.MouseButton.LeftButton)
        elif leave == "back":
            qtbot.mouseClick(find(ran, QToolButton, "leaveFeature"), Qt.MouseButton.LeftButton)
        else:
            chip.setFocus()
            qtbot.keyClick(chip, Qt.Key.Key_Escape)
        settle(ran, worker, qtbot)
        assert selected_feature(ran) is None
        assert not chip.isChecked()
        assert find(ran, QComboBox, "statisticChoice").isEnabled()
        assert not shown_grid(ran).is_signed
        ran.workspace.selection.go(SelectionKey(feature=feature))
        settle(ran, worker, qtbot)
        assert chip.isChecked()


def test_a_feature_of_both_runs(ran: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    find(ran, QPushButton, "keepRun").click()
    run(ran, worker, qtbot, "a dog barked")
    ran.workspace.selection.go(SelectionKey(feature=3))
    settle(ran, worker, qtbot)
    labels = [line.label for line in shown_lines(ran)]
    assert labels == ["B · feature 3", "B · all features ± 6 std", "A · feature 3"]
    assert len(panels(ran)[1].charts) == 2


def test_only_as_many_chips_as_there_is_room_for(ran: MainWindow, qtbot: QtBot) -> None:
    bar = find(ran, OutlierBar)

    def seen() -> list[QToolButton]:
        return [chip for chip in chips(ran) if not chip.isHidden()]

    def has(width: int) -> bool:
        return bar.width() == width and all(chip.geometry().right() <= width for chip in seen())

    counts = []
    for width in (120, 300, 700):
        bar.setFixedWidth(width)
        qtbot.waitUntil(partial(has, width))
        counts.append(len(seen()))
    assert counts[0] < counts[1] < counts[2] == len(chips(ran))


def test_the_chips_have_all_the_room_beside_the_title(ran: MainWindow, qtbot: QtBot) -> None:
    ran.resize(1440, 900)
    qtbot.waitUntil(lambda: sum(chip.isVisible() for chip in chips(ran)) >= 3)
