"""Window of a comparison: tensors filtered, sorted and saved, configurations, and the chart."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAction, QFocusEvent
from PySide6.QtWidgets import (
    QApplication,
    QFileDialog,
    QLabel,
    QLineEdit,
    QTableView,
    QTabWidget,
    QToolButton,
)
from pytestqt.qtbot import QtBot

from bertviewer.core.comparison.comparison import Change, Comparison, State, compare_architectures
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
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.value_tooltip import ValueTooltip
from tests.core.opened import plain
from tests.ui.finding import find
from tests.ui.harness import Harness

TENSORS, CONFIGURATION = 1, 2
TOOLTIP = Qt.ItemDataRole.ToolTipRole


def architectures(right: str = "bert-base-uncased") -> Comparison:
    """Return a comparison of BERT base with another model, without values."""
    return compare_architectures(plain("bert-base-uncased"), plain(right))


def compared(changed: int, right: str = "bert-base-uncased") -> Comparison:
    """Return a comparison in which the first tensors differ, each one more than the last."""
    found = architectures(right)
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


class WindowHarness(Harness):
    """The window, on its page of tensors."""

    def __init__(self, comparison: Comparison, workspace: Workspace, qtbot: QtBot) -> None:
        super().__init__(ComparisonWindow(comparison, workspace), workspace, qtbot)
        self.tabs = self.find(QTabWidget, "comparisonTabs")
        self.tabs.setCurrentIndex(TENSORS)
        self.tensors = self.find(QTableView, "comparedTensors")

    def cells(self, number: int) -> list[str]:
        model = self.tensors.model()
        return [model.index(row, number).data() for row in range(model.rowCount())]

    def button(self, state: State) -> QToolButton:
        return self.find(QToolButton, f"state {state}")


Show = Callable[[Comparison], WindowHarness]


@pytest.fixture
def show(workspace: Workspace, qtbot: QtBot) -> Show:
    return lambda comparison: WindowHarness(comparison, workspace, qtbot)


def test_changed_tensors_are_shown_first(show: Show) -> None:
    comparison = compared(5)
    window = show(comparison)
    assert window.cells(NAME) == [tensor.name for tensor in comparison.tensors[:5]]
    assert window.cells(MAX) == ["1", "2", "3", "4", "5"]
    assert window.button("changed").text() == "changed 5"
    assert not window.button("only left").isVisible()
    window.button("same").click()
    assert len(window.cells(NAME)) == 199
    window.button("changed").click()
    assert len(window.cells(NAME)) == 194
    # Of equal models, all tensors are shown.
    assert show(compared(0)).cells(RELATIVE) == ["0"] * 199


def test_names_are_filtered_and_columns_sorted(show: Show, qtbot: QtBot) -> None:
    window = show(compared(5))
    window.tensors.sortByColumn(RELATIVE, Qt.SortOrder.AscendingOrder)
    assert window.cells(MAX) == ["5", "4", "3", "2", "1"]
    window.tensors.sortByColumn(NAME, Qt.SortOrder.AscendingOrder)
    window.tensors.selectRow(window.cells(NAME).index("embeddings.LayerNorm.weight"))
    field = window.find(QLineEdit, "tensorFilter")
    qtbot.keyClicks(field, " LayerNorm ")
    assert window.cells(NAME) == ["embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias"]
    # The selection stays as long as the filter shows it.
    assert window.tensors.currentIndex().siblingAtColumn(NAME).data().endswith("LayerNorm.weight")
    qtbot.keyClicks(field, ".bias")
    assert not window.tensors.currentIndex().isValid()


def test_other_shapes_and_configurations(show: Show) -> None:
    comparison = architectures("bert-large-uncased")
    window = show(comparison)
    assert window.button("other shape").text() == "other shape 199"
    assert window.button("only right").text() == "only right 192"
    title = window.tabs.tabText(CONFIGURATION)
    assert title == f"Configuration ({len(comparison.keys)})"
    keys = window.find(QTableView, "comparedKeys").model()
    rows = [[keys.index(row, c).data() for c in range(3)] for row in range(keys.rowCount())]
    assert ["hidden_size", "768", "1024"] in rows
    # Columns without a value are hidden.
    window.resize(800, 640)
    visible = [n for n in range(CHANGED + 1) if not window.tensors.isColumnHidden(n)]
    assert visible == [NAME, STATE, LEFT, RIGHT]
    assert window.tensors.horizontalScrollBar().maximum() == 0
    assert window.tensors.columnWidth(NAME) >= 200
    other = show(compared(1))
    assert not any(other.tensors.isColumnHidden(n) for n in range(CHANGED))


def test_rows_lead_to_their_modules(show: Show, qtbot: QtBot) -> None:
    window = show(compared(5))
    assert isinstance(window.widget, ComparisonWindow)
    with qtbot.waitSignal(window.widget.chosen) as signal:
        window.tensors.activated.emit(window.tensors.model().index(3, 0))
    assert signal.args == ["embeddings.LayerNorm"]
    window.tensors.selectRow(3)
    find(window.tensors, QAction, "copyRowPath").trigger()
    assert QApplication.clipboard().text().rpartition(".")[0] == "embeddings.LayerNorm"


def test_visible_rows_are_saved_with_all_digits(
    show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, file = show(compared(5)), tmp_path / "comparison.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(file), ""))
    window.click("saveComparison")
    with file.open(encoding="utf-8", newline="") as opened:
        header, *rows = csv.reader(opened)
    assert header[0] == "Tensor"
    assert [row[0] for row in rows] == window.cells(NAME)
    assert [float(row[RELATIVE]) for row in rows] == [1 / n for n in range(1, 6)]


def test_why_values_are_not_compared(show: Show) -> None:
    found = architectures()
    random = replace(found.left, weights="pretrained", random_tensors=("pooler.dense.bias",))
    pickled = replace(found.right, kind="pickle")
    window = show(replace(found, left=random, right=pickled))
    for ending in (" · tensors missing from the checkpoint: 1", " · pickled weights, not read"):
        assert any(text.endswith(ending) for text in window.texts())
    cell = window.tensors.model().index(0, STATE)
    assert cell.data() == "not compared"
    assert cell.data(TOOLTIP) == "The values are not in both checkpoints"


def test_texts_of_cells(show: Show) -> None:
    found = compared(1)
    change = Change(0, 8, 1.5e-5, 0.25, 0.5, -0.25)
    first = replace(found.tensors[0], change=change)
    window = show(replace(found, tensors=(first, *found.tensors[1:])))
    left, right, cosine = (window.tensors.model().index(0, n) for n in (LEFT, RIGHT, COSINE))
    assert (left.data(), right.data()) == ("[30522, 768] float32", "same")
    assert right.data(TOOLTIP) == left.data()
    assert window.cells(MAX) == ["1.5e−05"]
    # A minus sign for readers, and a hyphen to copy.
    assert (cosine.data(), cosine.data(TOOLTIP)) == ("−0.2500000", "-0.25")
    other = show(compared(0, "bert-large-uncased"))
    other.button("other shape").setChecked(True)
    assert other.cells(RIGHT)[0] == "[30522, 1024] float32"


def test_a_narrow_table_scrolls_before_texts_are_cut(show: Show) -> None:
    window = show(compared(5))
    table, header = window.tensors, window.tensors.horizontalHeader()
    for width, is_scrolled in ((1180, False), (800, True), (1000, False)):
        window.resize(width, 640)
        assert bool(table.horizontalScrollBar().maximum()) == is_scrolled
        assert header.sectionSize(NAME) >= 200
        for number in range(1, header.count()):
            needed = max(table.sizeHintForColumn(number), header.sectionSizeHint(number))
            assert header.sectionSize(number) >= needed
    assert header.length() == table.viewport().width()
    assert table.model().index(0, NAME).data(TOOLTIP) == window.cells(NAME)[0]
    hint = table.model().headerData(RELATIVE, Qt.Orientation.Horizontal, TOOLTIP)
    assert "Norm of the difference" in hint
    table.setColumnWidth(STATE, 300)  # the user may resize columns
    assert table.columnWidth(STATE) == 300


def test_arrow_keys_go_from_tensor_to_tensor(show: Show, qtbot: QtBot) -> None:
    window = show(compared(5))
    window.tabs.setCurrentIndex(0)
    plot, picked = window.find(Heatmap, "changePlot"), window.find(QLabel, "pickedTensor")
    tooltip = window.find(ValueTooltip)
    qtbot.keyClick(plot, Qt.Key.Key_Down)
    first = picked.text()
    assert tooltip.isVisible()
    assert plot.accessibleDescription() == tooltip.text()
    assert "max |Δ| = " in tooltip.text()
    assert first.split(" · ")[0] == tooltip.text().splitlines()[0]
    qtbot.keyClick(plot, Qt.Key.Key_Right)
    assert picked.text() != first
    assert window.is_enabled("showInTable")
    QApplication.sendEvent(plot, QFocusEvent(QEvent.Type.FocusOut))
    assert not tooltip.isVisible()
