"""The fields of the What-if tab: what they offer, take and refuse."""

from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLabel,
    QPushButton,
    QSpinBox,
)
from pytestqt.qtbot import QtBot

from bertviewer.ui.what_if.tab import WhatIfTab
from bertviewer.ui.widgets.labels import ElidedLabel
from tests.ui.finding import find
from tests.ui.what_if.looking import (
    bert,
    demo,
    figures,
    message,
    offers,
    open_in,
    results_are_grey,
    spin,
)


def test_what_mends_it_is_offered(tab: WhatIfTab, qtbot: QtBot) -> None:
    open_in(tab, demo())
    spin(tab, "D").setValue(1024)
    assert message(tab) == "D must be divisible by A: 1,024 is not a multiple of 12."
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


def test_a_number_that_no_formula_follows_cannot_be_changed(tab: WhatIfTab) -> None:
    symbols = (replace(s, variable="") if s.name == "L" else s for s in bert().symbols)
    open_in(tab, replace(bert(), symbols=tuple(symbols)))
    assert not spin(tab, "L").isEnabled()
    assert spin(tab, "V").isEnabled()


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
    assert note == "No formula found for the multiply-adds: it is too loud."


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
