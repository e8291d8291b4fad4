"""The comparison as a person sees it: filtered, sorted, saved, and followed into the tree."""

import csv
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import (
    QApplication,
    QFileDialog,
    QLabel,
    QLineEdit,
    QPushButton,
    QTableView,
    QTabWidget,
    QToolButton,
)
from pytestqt.qtbot import QtBot

from bertviewer.core.comparison.comparison import (
    Change,
    Comparison,
    State,
    compare_architectures,
)
from bertviewer.plots.heatmap import Heatmap
from bertviewer.ui.compare.tensor_table import (
    CHANGED,
    COSINE,
    LEFT,
    MAX,
    NAME,
    RELATIVE,
    RIGHT,
    STATE,
)
from bertviewer.ui.compare.window import ComparisonWindow
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.value_tooltip import ValueTooltip
from tests.core.opened import plain
from tests.ui.finding import find

TENSORS, CONFIGURATION = 1, 2


def compared(changed: int, right: str = "bert-base-uncased") -> Comparison:
    """Return a comparison in which the first tensors moved, each one further than the last."""
    found = compare_architectures(plain("bert-base-uncased"), plain(right))
    tensors = tuple(
        replace(
            tensor,
            change=Change(0, 8, number + 1.0, 0.25, 1 / (number + 1), 0.5)
            if number < changed
            else Change(8, 8, 0.0, 0.0, 0.0, 1.0),
        )
        for number, tensor in enumerate(found.tensors)
    )
    return replace(found, tensors=tensors)


def shown(comparison: Comparison, worker: Worker, qtbot: QtBot) -> ComparisonWindow:
    window = ComparisonWindow(comparison, Workspace(worker))
    qtbot.addWidget(window)
    window.show()
    find(window, QTabWidget, "comparisonTabs").setCurrentIndex(TENSORS)
    return window


def table_of(window: ComparisonWindow) -> QTableView:
    return find(window, QTableView, "comparedTensors")


def column(window: ComparisonWindow, number: int) -> list[str]:
    model = table_of(window).model()
    return [model.index(row, number).data() for row in range(model.rowCount())]


def column_title(table: QTableView, number: int) -> str:
    return str(table.model().headerData(number, Qt.Orientation.Horizontal))


def column_tip(table: QTableView, number: int) -> str:
    tip = Qt.ItemDataRole.ToolTipRole
    return str(table.model().headerData(number, Qt.Orientation.Horizontal, tip))


def button(window: ComparisonWindow, state: State) -> QToolButton:
    return find(window, QToolButton, f"state {state}")


def test_what_changed_is_shown_first(worker: Worker, qtbot: QtBot) -> None:
    comparison = compared(5)
    window = shown(comparison, worker, qtbot)
    assert column(window, NAME) == [tensor.name for tensor in comparison.tensors[:5]]
    assert column(window, MAX) == ["1", "2", "3", "4", "5"]
    assert button(window, "changed").text() == "changed 5"
    assert not button(window, "only left").isVisible()
    button(window, "same").click()
    assert len(column(window, NAME)) == 199
    button(window, "changed").click()
    assert len(column(window, NAME)) == 194


def test_equal_models_show_what_is_the_same(worker: Worker, qtbot: QtBot) -> None:
    window = shown(compared(0), worker, qtbot)
    assert len(column(window, NAME)) == 199
    assert column(window, RELATIVE) == ["0"] * 199


def test_names_are_filtered_and_columns_sorted(worker: Worker, qtbot: QtBot) -> None:
    window = shown(compared(5), worker, qtbot)
    table_of(window).sortByColumn(RELATIVE, Qt.SortOrder.AscendingOrder)
    assert column(window, MAX) == ["5", "4", "3", "2", "1"]
    table_of(window).sortByColumn(NAME, Qt.SortOrder.AscendingOrder)
    qtbot.keyClicks(find(window, QLineEdit, "tensorFilter"), " LayerNorm ")
    assert column(window, NAME) == ["embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias"]


def test_other_sizes_and_keys(worker: Worker, qtbot: QtBot) -> None:
    comparison = compare_architectures(plain("bert-base-uncased"), plain("bert-large-uncased"))
    window = shown(comparison, worker, qtbot)
    assert button(window, "other shape").text() == "other shape 199"
    assert button(window, "only right").text() == "only right 192"
    tabs = find(window, QTabWidget, "comparisonTabs")
    assert tabs.tabText(CONFIGURATION) == f"Configuration ({len(comparison.keys)})"
    keys = find(window, QTableView, "comparedKeys").model()
    rows = [[keys.index(row, c).data() for c in range(3)] for row in range(keys.rowCount())]
    assert ["hidden_size", "768", "1024"] in rows


def test_a_double_click_leads_to_the_module(worker: Worker, qtbot: QtBot) -> None:
    window = shown(compared(5), worker, qtbot)
    with qtbot.waitSignal(window.chosen) as signal:
        table_of(window).activated.emit(table_of(window).model().index(3, 0))
    assert signal.args == ["embeddings.LayerNorm"]
    table_of(window).selectRow(3)
    actions = {action.objectName(): action for action in table_of(window).actions()}
    actions["copyRowPath"].trigger()
    assert QApplication.clipboard().text().rpartition(".")[0] == "embeddings.LayerNorm"


def test_what_is_shown_is_saved(
    worker: Worker, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = shown(compared(5), worker, qtbot)
    file = tmp_path / "comparison.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(file), ""))
    find(window, QPushButton, "saveComparison").click()
    with file.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.reader(opened))
    assert rows[0][0] == "Tensor"
    assert [row[0] for row in rows[1:]] == column(window, NAME)
    assert [float(row[RELATIVE]) for row in rows[1:]] == [1 / n for n in range(1, 6)]


def test_it_says_why_there_are_no_values(worker: Worker, qtbot: QtBot) -> None:
    found = compare_architectures(plain("bert-base-uncased"), plain("bert-base-uncased"))
    lacking = replace(found.left, weights="pretrained", random_tensors=("pooler.dense.bias",))
    pickled = replace(found.right, kind="pickle")
    window = shown(replace(found, left=lacking, right=pickled), worker, qtbot)
    told = [label.text() for label in window.findChildren(QLabel)]
    assert any(text.endswith(" · tensors missing from the checkpoint: 1") for text in told)
    assert any(text.endswith(" · pickled weights, not read") for text in told)
    cell = table_of(window).model().index(0, STATE)
    assert cell.data() == "not compared"
    tip = cell.data(Qt.ItemDataRole.ToolTipRole)
    assert tip == "The values are not in both checkpoints"


def test_a_narrow_window_scrolls_before_names_are_cut(worker: Worker, qtbot: QtBot) -> None:
    window = shown(compared(5), worker, qtbot)
    table = table_of(window)
    header = table.horizontalHeader()
    for width, is_scrolled in ((1180, False), (800, True), (1000, False)):
        window.resize(width, 640)
        QApplication.processEvents()
        assert bool(table.horizontalScrollBar().maximum()) == is_scrolled
        assert header.sectionSize(NAME) >= 200
        for number in range(1, header.count()):
            needed = max(table.sizeHintForColumn(number), header.sectionSizeHint(number))
            assert header.sectionSize(number) >= needed, column_title(table, number)
    assert header.length() == table.viewport().width()
    cell = table.model().index(0, NAME)
    assert cell.data(Qt.ItemDataRole.ToolTipRole) == cell.data()
    assert "Norm of the difference" in column_tip(table, RELATIVE)
    # The user may choose another width.
    table.setColumnWidth(STATE, 300)
    assert table.columnWidth(STATE) == 300


def test_figures_that_nobody_has_take_no_room(worker: Worker, qtbot: QtBot) -> None:
    found = compare_architectures(plain("bert-base-uncased"), plain("bert-large-uncased"))
    window = shown(found, worker, qtbot)
    window.resize(800, 640)
    QApplication.processEvents()
    table = table_of(window)
    shown_columns = [n for n in range(CHANGED + 1) if not table.isColumnHidden(n)]
    assert shown_columns == [NAME, STATE, LEFT, RIGHT]
    assert table.horizontalScrollBar().maximum() == 0
    assert table.columnWidth(NAME) >= 200
    other = shown(compared(1), worker, qtbot)
    assert not any(table_of(other).isColumnHidden(n) for n in range(CHANGED))


def test_a_form_is_said_once(worker: Worker, qtbot: QtBot) -> None:
    window = shown(compared(1), worker, qtbot)
    left, right = (table_of(window).model().index(0, number) for number in (LEFT, RIGHT))
    assert (left.data(), right.data()) == ("[30522, 768] float32", "same")
    assert right.data(Qt.ItemDataRole.ToolTipRole) == left.data()
    other = shown(compared(0, "bert-large-uncased"), worker, qtbot)
    button(other, "other shape").setChecked(True)
    assert column(other, RIGHT)[0] == "[30522, 1024] float32"


def test_a_minus_is_as_wide_as_a_plus(worker: Worker, qtbot: QtBot) -> None:
    found = compared(1)
    change = Change(0, 8, 1.5e-5, 0.25, 0.5, -0.25)
    window = shown(
        replace(found, tensors=(replace(found.tensors[0], change=change), *found.tensors[1:])),
        worker,
        qtbot,
    )
    assert column(window, MAX) == ["1.5e−05"]
    assert column(window, COSINE) == ["−0.2500000"]
    cosine = table_of(window).model().index(0, COSINE)
    assert cosine.data(Qt.ItemDataRole.ToolTipRole) == "-0.25"  # to be typed anywhere


def test_a_filter_keeps_the_selected_row(worker: Worker, qtbot: QtBot) -> None:
    window = shown(compared(5), worker, qtbot)
    table_of(window).selectRow(3)
    field = find(window, QLineEdit, "tensorFilter")
    qtbot.keyClicks(field, "LayerNorm")
    assert table_of(window).currentIndex().siblingAtColumn(NAME).data().endswith("LayerNorm.weight")
    qtbot.keyClicks(field, ".bias")
    assert not table_of(window).currentIndex().isValid()


def test_keys_go_from_tensor_to_tensor(worker: Worker, qtbot: QtBot) -> None:
    window = shown(compared(5), worker, qtbot)
    find(window, QTabWidget, "comparisonTabs").setCurrentIndex(0)
    plot, told = find(window, Heatmap, "changePlot"), find(window, QLabel, "pickedTensor")
    readout = find(window, ValueTooltip)
    qtbot.keyClick(plot, Qt.Key.Key_Down)
    first = told.text()
    assert readout.isVisible()
    assert plot.accessibleDescription() == readout.text()
    # All figures are told, with all of their digits.
    assert "max |Δ| = " in readout.text()
    assert first.split(" · ")[0] == readout.text().splitlines()[0]
    qtbot.keyClick(plot, Qt.Key.Key_Right)
    assert told.text() != first
    assert find(window, QPushButton, "showInTable").isEnabled()
    QApplication.sendEvent(plot, QFocusEvent(QEvent.Type.FocusOut))
    assert not readout.isVisible()
