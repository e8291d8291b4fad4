"""What-if tab: fields of the symbols, and results that follow them."""

from collections.abc import Callable

import pytest
import torch
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QPushButton, QSpinBox
from pytestqt.qtbot import QtBot

from bertviewer.core.what_if.scenario import Outcome, Scenario, evaluate_scenario
from tests.core.opened import derived, plain
from tests.ui.direct_worker import show_architecture
from tests.ui.what_if.conftest import WhatIfHarness, bert


def test_results_follow_a_changed_value(tab: WhatIfHarness) -> None:
    assert tab.figures()["Parameters"] == ("109,482,240", "109,482,240", "")
    assert tab.figures()["FLOPs"][0] == "22,348,431,360"
    tab.field("V").setValue(21128)
    assert tab.figures()["Parameters"] == ("109,482,240", "102,267,648", "× 0.93")
    assert tab.figures()["Difference"] == ("", "−7,214,592", "")
    assert tab.figures()["Weights, float32"][1] == "409.07 MB"
    tab.field("S").setValue(256)
    assert tab.figures()["FLOPs"][2] == "× 2.05"
    parameters, macs = tab.text("whatIfFormula").split("\n\n")
    assert parameters.startswith("Parameters = V·D + L·D")
    assert "= 21128·768" in parameters
    assert parameters.endswith("= 102,267,648")
    assert macs.startswith("Multiply-adds = ")
    assert macs.endswith(tab.figures()["Multiply-adds"][1])
    assert ["embeddings.word_embeddings.weight", "[V, D]", "[21128, 768]"] in tab.tensors()


def test_huge_values_are_exact(tab: WhatIfHarness) -> None:
    tab.field("V").setValue(10**9)
    assert tab.figures()["Parameters"][1] == f"{109_482_240 + (10**9 - 30522) * 768:,}"
    assert tab.figures()["Weights, float32"][1].endswith(" GB")


def test_invalid_values_leave_the_last_results_disabled(tab: WhatIfHarness) -> None:
    tab.field("D").setValue(1536)
    before = tab.figures()
    assert not tab.is_outdated()
    tab.field("A").setValue(7)
    assert tab.message() == "D must be divisible by A: 1,536 is not a multiple of 7."
    assert tab.figures() == before
    assert tab.is_outdated()
    tab.field("A").setValue(16)
    assert tab.message() == ""
    assert not tab.is_outdated()


def test_remedies_are_offered(tab: WhatIfHarness, qtbot: QtBot) -> None:
    tab.field("D").setValue(1024)
    assert tab.message() == "D must be divisible by A: 1,024 is not a multiple of 12."
    assert tab.remedies() == ["A = 16", "D = 1,020"]
    tab.window.activateWindow()
    button = tab.find(QPushButton, "whatIfOffer_A")
    button.setFocus()
    qtbot.keyClick(button, Qt.Key.Key_Space)
    assert tab.field("A").value() == 16
    assert (tab.remedies(), tab.message()) == ([], "")
    assert not tab.is_outdated()
    # The button is gone, and the field has the focus.
    assert tab.field("A").hasFocus()


def test_a_long_sentence_is_a_warning(tab: WhatIfHarness) -> None:
    tab.field("S").setValue(600)
    assert "512 tokens" in tab.message()
    assert tab.remedies() == ["L = 600", "S = 512"]
    assert not tab.is_outdated()


def test_values_stay_when_another_row_is_selected(tab: WhatIfHarness) -> None:
    tab.field("N").setValue(24)
    row = tab.select("encoder.layer[0–11]")
    assert tab.field("N").value() == 24
    assert tab.figures("Row")["Parameters"] == (f"{row.parameters:,}", "170,108,928", "× 2.00")
    assert "24 layers like layer 0" in tab.text("whatIfNote")
    tab.select("pooler.dense")
    assert tab.figures("Row")["Output"] == ("[1, 768]", "[1, 768]", "")
    assert tab.tensors() == [["weight", "[D, D]", "[768, 768]"], ["bias", "[D]", "[768]"]]
    tab.field("N").setValue(4)
    tab.select("encoder.layer.7.output.dense")
    assert "does not exist" in tab.text("whatIfNote")
    assert tab.figures("Row")["Parameters"][1] == "0"
    assert tab.tensors() == []


def test_reset_and_another_model_restore_the_values(tab: WhatIfHarness) -> None:
    button = tab.find(QPushButton, "whatIfReset")
    for restore in (button.click, lambda: tab.open(replace(bert()))):
        assert not button.isEnabled()
        tab.field("V").setValue(1000)
        assert button.isEnabled()
        restore()
        assert tab.field("V").value() == 30522
        assert tab.figures()["Parameters"] == ("109,482,240", "109,482,240", "")


def test_a_value_typed_while_another_model_opens_is_ignored(tab: WhatIfHarness) -> None:
    show_architecture(tab.workspace, replace(bert()))  # the tab is refreshed later
    tab.field("V").setValue(1000)
    tab.choose("whatIfPreset", "bert-large-uncased")
    tab.widget.refresh()
    assert tab.field("V").value() == 30522
    assert not tab.find(QPushButton, "whatIfReset").isEnabled()


def test_a_multiple_can_be_kept(tab: WhatIfHarness) -> None:
    keep, inner = tab.find(QCheckBox, "whatIfKeep"), tab.field("I")
    assert keep.text() == "Keep I = 4·D"
    assert not keep.isChecked()
    tab.field("D").setValue(1536)
    assert inner.value() == 3072
    for is_kept in (True, False):
        keep.setChecked(is_kept)
        assert inner.value() == 6144
        assert inner.isEnabled() != is_kept


def test_a_preset_sets_all_sizes(tab: WhatIfHarness) -> None:
    names = ["bert-large-uncased", "bert-base-chinese", "bert-large-chinese"]
    assert tab.items("whatIfPreset") == names
    tab.choose("whatIfPreset", names[0])
    assert tab.figures()["Parameters"] == ("109,482,240", "335,141,888", "× 3.06")
    tab.field("V").setValue(1000)
    assert tab.chosen("whatIfPreset") == ""


def test_arrows_go_to_valid_values(tab: WhatIfHarness, qtbot: QtBot) -> None:
    for symbol, key, value in (
        ("A", Qt.Key.Key_Up, 16),
        ("A", Qt.Key.Key_Down, 12),
        ("A", Qt.Key.Key_Down, 8),
        ("D", Qt.Key.Key_Up, 776),
    ):
        qtbot.keyClick(tab.field(symbol), key)
        assert tab.field(symbol).value() == value
    assert tab.message() == ""


def test_the_tab_key_goes_through_the_fields(tab: WhatIfHarness, qtbot: QtBot) -> None:
    tab.window.activateWindow()
    tab.field("V").setFocus()
    reached = []
    for _ in range(16):
        focused = tab.window.focusWidget()
        assert focused is not None
        reached.append(focused.objectName())
        qtbot.keyClick(focused, Qt.Key.Key_Tab)
    assert reached[:9] == [f"whatIf_{symbol}" for symbol in "VLTNADIBS"]
    assert "whatIfPreset" in reached


def test_symbols_without_a_formula(tab: WhatIfHarness) -> None:
    symbols = (replace(s, variable="") if s.name == "L" else s for s in bert().symbols)
    tab.open(replace(bert(), symbols=tuple(symbols)))
    assert not tab.field("L").isEnabled()
    assert tab.field("V").isEnabled()
    costs = bert().costs
    assert costs is not None
    tab.open(replace(bert(), costs=replace(costs, modules={}, peak=(), reason="it is too loud")))
    assert tab.widget.findChild(QSpinBox, "whatIf_S") is None
    note = "No formula found for the multiply-adds: it is too loud."
    assert tab.text("whatIfNote") == note


def test_without_formulas_there_are_no_fields_and_values_stay_when_more_are_derived(
    tab: WhatIfHarness,
) -> None:
    tab.open(plain("bert-base-uncased"))
    assert tab.text("whatIfNothing").startswith("No formulas were found")
    tab.workspace.architecture = bert()
    tab.widget.refresh()
    assert tab.text("whatIfNothing") == ""
    tab.field("N").setValue(24)
    # As after a run, which has no effect on formulas.
    tab.workspace.architecture = replace(bert())
    tab.widget.refresh()
    assert tab.field("N").value() == 24
    assert tab.figures()["Parameters"][1] == f"{109_482_240 + 12 * 7_087_872:,}"


def test_a_change_is_one_evaluation_without_model_and_worker(
    tab: WhatIfHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("too slow for typing")

    monkeypatch.setattr(torch.nn.Module, "__init__", fail)
    monkeypatch.setattr(tab.workspace.jobs.worker, "start", fail)
    evaluated: list[Scenario] = []

    def evaluate(scenario: Scenario) -> Outcome:
        evaluated.append(scenario)
        return evaluate_scenario(scenario)

    monkeypatch.setattr("bertviewer.ui.what_if.tab.evaluate_scenario", evaluate)
    tab.field("V").setValue(21128)  # in this event-loop turn
    assert tab.figures()["Parameters"][1] == "102,267,648"
    assert len(evaluated) == 1


def test_values_outside_the_range_of_the_formulas_are_built(
    tab: WhatIfHarness, open_model: Callable[..., object]
) -> None:
    open_model("electra-base-discriminator")
    tab.open(derived("electra-base-discriminator"))
    # With another width of embeddings there is a projection, which no formula describes.
    tab.field("E").setValue(128)
    tab.settle()
    assert not tab.is_outdated()
    assert tab.message() == ""
    projection = 128 * 768 + 768
    fewer = (30522 + 512 + 2 + 2) * (768 - 128)
    assert tab.figures()["Difference"][1].replace("−", "-") == f"{projection - fewer:,}"
    assert "the model was built with them" in tab.text("whatIfNote")
    tab.field("E").setValue(768)
    assert "built" not in tab.text("whatIfNote")
