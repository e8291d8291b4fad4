"""The What-if tab: fields for the letters, and figures that follow them at once."""

import threading

import pytest
import torch
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QLabel,
    QPushButton,
)
from pytestqt.qtbot import QtBot

from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.what_if.scenario import Outcome, Scenario, evaluate_scenario
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.what_if.tab import WhatIfTab
from tests.ui.finding import find, is_drawn, show_tab
from tests.ui.what_if.looking import (
    bert,
    figures,
    message,
    offers,
    open_in,
    results_are_grey,
    select,
    spin,
    tensors,
)


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
    assert message(tab) == "D must be divisible by A: 1,536 is not a multiple of 7."
    assert figures(tab) == before
    assert results_are_grey(tab)
    spin(tab, "A").setValue(16)
    assert message(tab) == ""
    assert not results_are_grey(tab)


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
    assert "does not exist" in find(tab, QLabel, "whatIfNote").text()
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


def test_huge_numbers_are_exact(tab: WhatIfTab) -> None:
    spin(tab, "V").setValue(10**9)
    assert figures(tab)["Parameters"][1] == f"{109_482_240 + (10**9 - 30522) * 768:,}"
    assert figures(tab)["Weights, float32"][1].endswith(" GB")


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


def test_outside_the_range_of_the_formulas_the_model_is_built(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.open_source(parse_source("electra-base-discriminator"))
    qtbot.waitUntil(lambda: window.workspace.architecture is not None)
    show_tab(window, "What if")
    tab = find(window, WhatIfTab, "whatIfTab")
    qtbot.waitUntil(lambda: spin(tab, "E").isVisible())
    # With other widths than the hidden one there is a projection, which no formula knows.
    spin(tab, "E").setValue(128)
    qtbot.waitUntil(lambda: not results_are_grey(tab) and message(tab) == "")
    projection = 128 * 768 + 768
    fewer = (30522 + 512 + 2 + 2) * (768 - 128)
    assert figures(tab)["Difference"][1].replace("−", "-") == f"{projection - fewer:,}"
    assert "the model was built with them" in find(tab, QLabel, "whatIfNote").text()
    spin(tab, "E").setValue(768)
    assert "built" not in find(tab, QLabel, "whatIfNote").text()
