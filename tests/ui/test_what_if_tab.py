"""The What-if tab: fields for the letters, and figures that follow them at once."""

import threading
from dataclasses import replace
from functools import cache

import pytest
import torch
from PySide6.QtCore import QRegularExpression, Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLabel,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QTableView,
    QWidget,
)
from pytestqt.qtbot import QtBot

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.folding import TreeRow, fold
from bertviewer.core.loading.opening import open_model
from bertviewer.core.source.parsing import parse_source
from bertviewer.core.what_if.scenario import Outcome, Scenario, evaluate_scenario
from bertviewer.ui.background.worker import Worker
from bertviewer.ui.elided_label import ElidedLabel
from bertviewer.ui.main_window import MainWindow
from bertviewer.ui.what_if.figures import FigureGrid
from bertviewer.ui.what_if.tab import WhatIfTab
from bertviewer.ui.workspace import Workspace
from tests.ui.finding import find, is_drawn, show_tab


@cache
def bert() -> Architecture:
    return open_model(parse_source("bert-base-uncased")).with_formulas()


@cache
def demo() -> Architecture:
    return open_model(parse_source("demo")).with_formulas()


@pytest.fixture
def tab(worker: Worker, qtbot: QtBot) -> WhatIfTab:
    """Return the tab over BERT base, shown."""
    workspace = Workspace(worker)
    tab = WhatIfTab(workspace)
    workspace.setParent(tab)
    qtbot.addWidget(tab)
    open_in(tab, bert())
    tab.show()
    return tab


def workspace_of(tab: WhatIfTab) -> Workspace:
    return find(tab, Workspace)


def open_in(tab: WhatIfTab, architecture: Architecture) -> None:
    workspace = workspace_of(tab)
    workspace.architecture = architecture
    workspace.selection.tree = workspace.selection.row = fold(workspace.architecture)
    workspace.architecture_changed.emit()
    tab.refresh()


def select(tab: WhatIfTab, key: str) -> TreeRow:
    workspace = workspace_of(tab)
    workspace.selection.select(key)
    tab.refresh()
    assert workspace.selection.row is not None
    assert workspace.selection.row.key == key
    return workspace.selection.row


def spin(tab: QWidget, letter: str) -> QSpinBox:
    return find(tab, QSpinBox, f"whatIf_{letter}")


def figures(tab: QWidget, name: str = "whatIfModelFigures") -> dict[str, tuple[str, ...]]:
    return {line[0]: line[1:] for line in find(tab, FigureGrid, name).texts()}


def message(tab: QWidget) -> str:
    return find(tab, QLabel, "whatIfMessage").text()


def results_are_grey(tab: QWidget) -> bool:
    page = find(tab, QScrollArea, "whatIfResults").widget()
    assert page is not None
    return not page.isEnabled()


def tensors(tab: QWidget) -> list[list[str]]:
    model = find(tab, QTableView, "whatIfTensors").model()
    rows, columns = range(model.rowCount()), range(model.columnCount())
    return [[model.index(row, column).data() for column in columns] for row in rows]


def test_figures_follow_a_changed_number(tab: WhatIfTab) -> None:
    assert figures(tab)["Parameters"] == ("109,482,240", "109,482,240", "")
    assert figures(tab)["FLOPs"][0] == "22,348,431,360"
    spin(tab, "V").setValue(21128)
    assert figures(tab)["Parameters"] == ("109,482,240", "102,267,648", "× 0.93")
    assert figures(tab)["Difference"] == ("", "−7,214,592", "")
    assert figures(tab)["Weights, float32"][1] == "409.07 MB"
    spin(tab, "S").setValue(256)
    assert figures(tab)["FLOPs"][2] == "× 2.05"
    formula = find(tab, QLabel, "whatIfFormula").text()
    parameters, macs = formula.split("\n\n")
    assert parameters.startswith("Parameters = V·D + L·D")
    assert "= 21128·768" in parameters
    assert parameters.endswith("= 102,267,648")
    assert macs.startswith("Multiply-adds = ")
    assert macs.endswith(figures(tab)["Multiply-adds"][1])
    assert ["embeddings.word_embeddings.weight", "[V, D]", "[21128, 768]"] in tensors(tab)


def test_what_does_not_fit_is_said_and_the_last_figures_stay_grey(tab: WhatIfTab) -> None:
    spin(tab, "D").setValue(1536)
    before = figures(tab)
    assert not results_are_grey(tab)
    spin(tab, "A").setValue(7)
    assert message(tab) == "A must divide D: 1,536 is not a multiple of 7."
    assert figures(tab) == before
    assert results_are_grey(tab)
    spin(tab, "A").setValue(16)
    assert message(tab) == ""
    assert not results_are_grey(tab)


def offers(tab: QWidget) -> list[str]:
    buttons = tab.findChildren(QPushButton, QRegularExpression("^whatIfOffer_"))
    return [button.text() for button in buttons if not button.isHidden()]


def test_what_mends_it_is_offered(tab: WhatIfTab, qtbot: QtBot) -> None:
    open_in(tab, demo())
    spin(tab, "D").setValue(1024)
    assert message(tab) == "A must divide D: 1,024 is not a multiple of 12."
    assert offers(tab) == ["A = 16", "D = 1,020"]
    tab.activateWindow()
    button = find(tab, QPushButton, "whatIfOffer_A")
    button.setFocus()
    qtbot.waitUntil(button.hasFocus)
    qtbot.keyClick(button, Qt.Key.Key_Space)
    assert spin(tab, "A").value() == 16
    assert offers(tab) == []
    assert message(tab) == ""
    assert not results_are_grey(tab)
    # The button is gone, and the keys are where it led to.
    assert spin(tab, "A").hasFocus()


def test_a_long_sentence_is_a_warning(tab: WhatIfTab) -> None:
    spin(tab, "S").setValue(600)
    assert "512 tokens" in message(tab)
    assert offers(tab) == ["L = 600", "S = 512"]
    assert not results_are_grey(tab)


def test_values_stay_when_another_row_is_selected(tab: WhatIfTab) -> None:
    spin(tab, "N").setValue(24)
    row = select(tab, "encoder.layer[0–11]")
    assert spin(tab, "N").value() == 24
    line = figures(tab, "whatIfRowFigures")["Parameters"]
    assert line == (f"{row.parameters:,}", "170,108,928", "× 2.00")
    assert "24 layers like layer 0" in find(tab, QLabel, "whatIfNote").text()
    select(tab, "pooler.dense")
    assert figures(tab, "whatIfRowFigures")["Output"] == ("[1, 768]", "[1, 768]", "")
    assert tensors(tab) == [["weight", "[D, D]", "[768, 768]"], ["bias", "[D]", "[768]"]]


def test_a_layer_that_would_not_be_there_has_no_figures(tab: WhatIfTab) -> None:
    spin(tab, "N").setValue(4)
    select(tab, "encoder.layer.7.output.dense")
    assert "no such layer" in find(tab, QLabel, "whatIfNote").text()
    assert figures(tab, "whatIfRowFigures")["Parameters"][1] == "0"
    assert tensors(tab) == []


def test_reset_and_another_model(tab: WhatIfTab, qtbot: QtBot) -> None:
    button = find(tab, QPushButton, "whatIfReset")
    assert not button.isEnabled()
    spin(tab, "V").setValue(1000)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert spin(tab, "V").value() == 30522
    assert not button.isEnabled()
    spin(tab, "V").setValue(1000)
    open_in(tab, replace(bert()))
    assert spin(tab, "V").value() == 30522
    assert figures(tab)["Parameters"] == ("109,482,240", "109,482,240", "")


def test_a_multiple_can_be_kept(tab: WhatIfTab) -> None:
    keep = find(tab, QCheckBox, "whatIfKeep")
    assert keep.text() == "Keep I = 4·D"
    assert not keep.isChecked()
    spin(tab, "D").setValue(1536)
    assert spin(tab, "I").value() == 3072
    keep.setChecked(True)
    assert spin(tab, "I").value() == 6144
    assert not spin(tab, "I").isEnabled()
    keep.setChecked(False)
    assert spin(tab, "I").value() == 6144
    assert spin(tab, "I").isEnabled()


def test_a_preset_fills_its_sizes_in(tab: WhatIfTab) -> None:
    choice = find(tab, QComboBox, "whatIfPreset")
    names = [choice.itemText(index) for index in range(choice.count())]
    assert names == ["bert-large-uncased", "bert-base-chinese", "bert-large-chinese"]
    choice.setCurrentIndex(0)
    choice.activated.emit(0)
    assert figures(tab)["Parameters"] == ("109,482,240", "335,141,888", "× 3.06")
    spin(tab, "V").setValue(1000)
    assert choice.currentIndex() == -1


def test_arrows_go_to_values_that_fit(tab: WhatIfTab, qtbot: QtBot) -> None:
    heads = spin(tab, "A")
    heads.setFocus()
    qtbot.keyClick(heads, Qt.Key.Key_Up)
    assert heads.value() == 16
    qtbot.keyClick(heads, Qt.Key.Key_Down)
    qtbot.keyClick(heads, Qt.Key.Key_Down)
    assert heads.value() == 8
    width = spin(tab, "D")
    qtbot.keyClick(width, Qt.Key.Key_Up)
    assert width.value() == 776
    assert message(tab) == ""


def test_huge_numbers_are_exact(tab: WhatIfTab) -> None:
    spin(tab, "V").setValue(10**9)
    assert figures(tab)["Parameters"][1] == f"{109_482_240 + (10**9 - 30522) * 768:,}"
    assert figures(tab)["Weights, float32"][1].endswith(" GB")


def test_a_number_that_no_formula_follows_cannot_be_changed(tab: WhatIfTab) -> None:
    symbols = (replace(s, variable="") if s.letter == "L" else s for s in bert().symbols)
    open_in(tab, replace(bert(), symbols=tuple(symbols)))
    assert not spin(tab, "L").isEnabled()
    assert spin(tab, "V").isEnabled()


@pytest.mark.usefixtures("nothing_was_seen")
def test_it_waits_for_formulas_and_keeps_values_when_they_come(
    window: MainWindow, worker: Worker, formulas_may_come: threading.Event, qtbot: QtBot
) -> None:
    window.open_source(parse_source("demo"))
    qtbot.waitUntil(lambda: window.workspace.architecture is not None)
    show_tab(window, "What if")
    tab = find(window, WhatIfTab, "whatIfTab")
    assert not spin(tab, "V").isVisible()
    formulas_may_come.set()
    # The tab shows them in its turn, after the worker has ended.
    qtbot.waitUntil(lambda: spin(tab, "V").isVisible())
    qtbot.waitUntil(lambda: not worker.busy)
    spin(tab, "N").setValue(12)
    window.set_sentence("a test", None)
    window.run()
    qtbot.waitUntil(lambda: is_drawn(window) and not worker.busy)
    tab.refresh()
    assert spin(tab, "N").value() == 12
    assert figures(tab)["Parameters"] == ("22,713,216", "33,360,000", "× 1.47")


def test_a_change_builds_no_model_and_waits_for_no_worker(
    tab: WhatIfTab, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("this takes time that can be felt")

    monkeypatch.setattr(torch.nn.Module, "__init__", fail)
    monkeypatch.setattr(worker, "start", fail)
    evaluated: list[Scenario] = []

    def evaluate(scenario: Scenario) -> Outcome:
        evaluated.append(scenario)
        return evaluate_scenario(scenario)

    monkeypatch.setattr("bertviewer.ui.what_if.tab.evaluate_scenario", evaluate)
    spin(tab, "V").setValue(21128)
    # Without a turn of the event loop.
    assert figures(tab)["Parameters"][1] == "102,267,648"
    assert len(evaluated) == 1, "all figures are of one evaluation"


def test_the_tab_key_goes_from_field_to_field_and_out(tab: WhatIfTab, qtbot: QtBot) -> None:
    tab.activateWindow()
    first = spin(tab, "V")
    first.setFocus()
    qtbot.waitUntil(first.hasFocus)
    reached = []
    for _ in range(16):
        focused = tab.window().focusWidget()
        assert focused is not None
        reached.append(focused.objectName())
        qtbot.keyClick(focused, Qt.Key.Key_Tab)
    fields = [f"whatIf_{letter}" for letter in "VLTNADIBS"]
    assert reached[: len(fields)] == fields
    assert "whatIfPreset" in reached


def test_without_costs_no_letter_of_a_sentence_is_asked_for(tab: WhatIfTab) -> None:
    costs = bert().costs
    assert costs is not None
    nothing = replace(costs, modules={}, peak=(), reason="it is too loud")
    open_in(tab, replace(bert(), costs=nothing))
    assert tab.findChild(QSpinBox, "whatIf_S") is None
    note = find(tab, QLabel, "whatIfNote").text()
    assert note == "No formula says the multiply-adds: it is too loud."


def test_long_keys_end_in_an_ellipsis(qtbot: QtBot) -> None:
    label = ElidedLabel()
    qtbot.addWidget(label)
    label.setText("max_position_embeddings")
    label.resize(label.sizeHint())
    whole = label.grab().toImage()
    label.resize(60, label.height())
    assert label.grab().toImage() != whole.copy(0, 0, 60, whole.height())
    assert label.text() == "max_position_embeddings"
    assert label.minimumSizeHint().width() == 0
