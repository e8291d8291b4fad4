"""Walkthrough tab: every step with its module, and the count by component."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QTabBar, QTableView
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.walkthrough.build import build_walkthrough
from bertviewer.core.walkthrough.counts import count_components, subtotal, usual_relations
from bertviewer.ui.module.walkthrough_tab import ComponentTableModel, StepTableModel, WalkTab
from bertviewer.ui.state.workspace import Workspace
from tests.core.opened import plain
from tests.core.walkthrough.small_walkthroughs import flowing
from tests.ui.direct_worker import settle
from tests.ui.finding import find

STEP, INPUT, OUTPUT, TRAINABLE, CALCULATION = 1, 2, 3, 4, 5


def test_the_models_are_consistent(qtmodeltester: ModelTester) -> None:
    architecture = plain("bert-large-chinese")
    walkthrough = build_walkthrough(architecture)
    steps, components = StepTableModel(), ComponentTableModel()
    qtmodeltester.check(steps)
    steps.set_walkthrough(walkthrough, subtotal(walkthrough, architecture))
    qtmodeltester.check(steps)
    relations = usual_relations(architecture.symbols)
    components.set_counts(count_components(walkthrough, architecture, relations))
    qtmodeltester.check(components)


def test_without_formulas_there_are_numbers() -> None:
    model = StepTableModel()
    architecture = flowing("bert-large-chinese")
    walkthrough = build_walkthrough(architecture)
    model.set_walkthrough(walkthrough, subtotal(walkthrough, architecture))
    cells = [[model.index(row, c).data() for c in range(6)] for row in range(model.rowCount())]
    assert cells[0] == ["", "Embeddings", "", "", "22,163,456 ✓", ""]
    embedding = ["3", "Token embedding", "[B, S]", "[B, S, 1024]", "21,635,072", "21128·1024"]
    assert cells[3] == embedding
    assert cells[9][:2] == ["", "One layer, of 24"]
    title, without = "Subtotal: embeddings and layers", "without pooler 1,049,600"
    assert cells[-2] == ["", title, "", "", "324,472,832", without]
    assert cells[-1][TRAINABLE] == "325,522,432 ✓"
    assert model.is_heading(len(cells) - 2)


@pytest.fixture
def tab(demo_workspace: Workspace, qtbot: QtBot) -> WalkTab:
    """Return the walkthrough of the demo."""
    tab = WalkTab(demo_workspace)
    for signal in (demo_workspace.selection.row_changed, demo_workspace.runs.run_changed):
        signal.connect(tab.refresh)
    qtbot.addWidget(tab)
    tab.resize(1200, 700)
    tab.show()
    tab.refresh()
    return tab


@pytest.fixture
def table(tab: WalkTab) -> QTableView:
    return find(tab, QTableView, "walkTable")


def column(view: QTableView, number: int) -> list[str]:
    model = view.model()
    return [model.index(row, number).data() for row in range(model.rowCount())]


def row_of(table: QTableView, step: str) -> int:
    return column(table, STEP).index(step)


def click(table: QTableView, step: str, qtbot: QtBot) -> None:
    index = table.model().index(row_of(table, step), STEP)
    table.scrollTo(index)
    place = table.visualRect(index).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)


def test_steps_of_the_demo(table: QTableView) -> None:
    steps = column(table, STEP)
    assert (steps[0], steps[9], steps[-1]) == ("Embeddings", "One layer, of N = 6", "Total")
    model, row = table.model(), row_of(table, "Multi-head self-attention")
    cells = [model.index(row, number).data() for number in range(6)]
    assert cells[OUTPUT].startswith("[B, S, D]\n[1, ")
    assert cells[TRAINABLE:] == ["591,360", "4·(D·D+D)\n4·(384·384+384)"]
    (tip,) = {model.index(row, n).data(Qt.ItemDataRole.ToolTipRole) for n in range(6)}
    assert "encoder.layer.0.attention" in tip


def test_a_step_selects_its_module_and_a_module_marks_its_step(
    table: QTableView, demo_workspace: Workspace, qtbot: QtBot
) -> None:
    selection = demo_workspace.selection
    click(table, "Multi-head self-attention", qtbot)
    assert selection.place.path == "encoder.layer.0.attention"
    click(table, "Add", qtbot)  # has no module
    assert selection.place.path == "encoder.layer.0.attention"
    for path, step in (
        ("embeddings.LayerNorm", "Embedding norm"),
        ("encoder.layer.0.attention.self.query", "Multi-head self-attention"),
        ("encoder.layer.0.output.dense", "Feed-forward network"),
        ("encoder.layer.3.attention.self", "Layers 1–5"),
    ):
        selection.select(path)
        assert table.currentIndex().row() == row_of(table, step)
        assert selection.place.path == path
    selection.select("")
    assert not table.currentIndex().isValid()
    click(table, "Embedding norm", qtbot)
    assert selection.place.path == "embeddings.LayerNorm"


def test_the_path_of_a_step_can_be_copied(table: QTableView, qtbot: QtBot) -> None:
    click(table, "Token embedding", qtbot)
    find(table, QAction, "copyRowPython").trigger()
    assert QApplication.clipboard().text() == "model.embeddings.word_embeddings"
    table.selectRow(0)  # a heading
    assert not find(table, QAction, "copyRowPath").isVisible()


def test_ids_and_shapes_of_the_last_run(table: QTableView, demo_workspace: Workspace) -> None:
    demo_workspace.run_sentence(Sentence("a test", "the cat"), random_weights=False)
    settle(demo_workspace)
    ids = ["101 1037 3231 102 1996 4937 102", "0 0 0 0 1 1 1"]
    assert column(table, CALCULATION)[1:3] == ids
    assert column(table, OUTPUT)[3] == "[B, S, D]\n[1, 7, 384]"


def test_counts_by_component(tab: WalkTab, table: QTableView) -> None:
    find(tab, QTabBar, "walkSwitch").setCurrentIndex(1)
    components = find(tab, QTableView, "groupTable")
    assert (components.isVisible(), table.isVisible()) == (True, False)
    assert column(components, 0) == ["Embedding", "Blocks", "Pooler", "Total"]
    assert column(components, 1)[-1] == "22,713,216 ✓"
    assert column(components, 2)[1] == (
        "N·(4·(D·D+D) + 2·D + D·4D + 4D + 4D·D + D + 2·D)\n= N·(12·D² + 13·D)"
    )


def test_names_and_calculations_are_wrapped_before_the_table_scrolls(
    tab: WalkTab, table: QTableView, demo_workspace: Workspace
) -> None:
    demo_workspace.run_sentence(Sentence("a test", "the cat"), random_weights=False)
    settle(demo_workspace)
    metrics, widths = table.fontMetrics(), []
    for width in (1200, 500, 260):
        tab.resize(width, 700)
        QApplication.processEvents()
        widths.append(table.columnWidth(STEP))
        total = sum(table.columnWidth(number) for number in range(6))
        assert (total == table.viewport().width()) == (width > 260)
        for number in (STEP, CALCULATION):
            for row, text in enumerate(column(table, number)):
                if text and table.columnSpan(row, number) == 1:
                    lines = sum(
                        1 + metrics.horizontalAdvance(line) // table.columnWidth(number)
                        for line in text.split("\n")
                    )
                    assert table.rowHeight(row) >= lines * metrics.height()
    assert widths[0] > metrics.horizontalAdvance("Multi-head self-attention") > widths[1]
    assert widths[2] >= metrics.horizontalAdvance("Embedding-")
