"""The walk's tab: every step, its module at a click, and the groups."""

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
from bertviewer.ui.shell.main_window import MainWindow
from tests.core.opened import plain
from tests.core.walkthrough.small_walkthroughs import flowing
from tests.ui.finding import find, is_drawn, show_tab

STEP, INPUT, OUTPUT, TRAINABLE, COUNTED = 1, 2, 3, 4, 5


@pytest.fixture
def tab(demo_window: MainWindow) -> WalkTab:
    """Return the demo's walk, in sight."""
    show_tab(demo_window, "Walk")
    return find(demo_window, WalkTab, "walkTab")


def table(tab: WalkTab, name: str = "walkTable") -> QTableView:
    return find(tab, QTableView, name)


def column(view: QTableView, number: int) -> list[str]:
    model = view.model()
    return [model.index(row, number).data() for row in range(model.rowCount())]


def row_of(tab: WalkTab, step: str) -> int:
    return column(table(tab), STEP).index(step)


def click(view: QTableView, row: int, qtbot: QtBot) -> None:
    index = view.model().index(row, STEP)
    view.scrollTo(index)
    qtbot.mouseClick(
        view.viewport(), Qt.MouseButton.LeftButton, pos=view.visualRect(index).center()
    )


def test_the_tables_are_sound_models(qtmodeltester: ModelTester) -> None:
    architecture = plain("bert-large-chinese")
    walk = build_walkthrough(architecture)
    steps = StepTableModel()
    qtmodeltester.check(steps)
    steps.set_walkthrough(walk, subtotal(walk, architecture))
    qtmodeltester.check(steps)
    groups = ComponentTableModel()
    groups.set_counts(count_components(walk, architecture, usual_relations(architecture.symbols)))
    qtmodeltester.check(groups)


def test_before_formulas_there_are_numbers() -> None:
    model = StepTableModel()
    architecture = flowing("bert-large-chinese")
    walk = build_walkthrough(architecture)
    model.set_walkthrough(walk, subtotal(walk, architecture))
    cells = [[model.index(row, c).data() for c in range(6)] for row in range(model.rowCount())]
    assert cells[0] == ["", "Embeddings", "", "", "22,163,456 ✓", ""]
    assert cells[3] == [
        "3", "Token embedding", "[B, S]", "[B, S, 1024]", "21,635,072", "21128·1024",
    ]  # fmt: skip
    assert cells[9][:2] == ["", "One layer, of 24"]
    assert cells[-2] == [
        "", "Subtotal: embeddings and layers", "", "", "324,472,832", "without pooler 1,049,600",
    ]  # fmt: skip
    assert cells[-1][TRAINABLE] == "325,522,432 ✓"
    assert model.is_heading(len(cells) - 2)


def test_the_demos_walk(tab: WalkTab) -> None:
    view = table(tab)
    steps = column(view, STEP)
    assert steps[0] == "Embeddings"
    assert steps[9] == "One layer, of N = 6"
    assert steps[-1] == "Total"
    row = row_of(tab, "Multi-head self-attention")
    cells = [view.model().index(row, number).data() for number in range(6)]
    assert cells[OUTPUT].startswith("[B, S, D]\n[1, ")
    assert cells[TRAINABLE:] == ["591,360", "4·(D·D+D)\n4·(384·384+384)"]
    # The tip is that of the whole row.
    tips = {
        view.model().index(row, number).data(Qt.ItemDataRole.ToolTipRole) for number in range(6)
    }
    assert len(tips) == 1
    assert "encoder.layer.0.attention" in tips.pop()


def test_a_click_selects_the_module_and_back(
    tab: WalkTab, demo_window: MainWindow, qtbot: QtBot
) -> None:
    workspace = demo_window.workspace
    view = table(tab)
    click(view, row_of(tab, "Multi-head self-attention"), qtbot)
    assert workspace.selection.row is not None
    assert workspace.selection.row.key == "encoder.layer.0.attention"
    # An addition has no module; the selection in the tree stays.
    click(view, row_of(tab, "Add"), qtbot)
    assert workspace.selection.row.key == "encoder.layer.0.attention"
    workspace.selection.select("embeddings.LayerNorm")
    assert view.currentIndex().row() == row_of(tab, "Embedding norm")
    workspace.selection.select("")
    assert not view.currentIndex().isValid()
    # What is inside of a step marks it, and stays selected.
    for path, name in (
        ("encoder.layer.0.attention.self.query", "Multi-head self-attention"),
        ("encoder.layer.0.output.dense", "Feed-forward network"),
        ("encoder.layer.3.attention.self", "Layers 1–5"),
    ):
        workspace.selection.select(path)
        assert view.currentIndex().row() == row_of(tab, name)
        assert workspace.selection.row.key == path
    # The same step once more, after the tree has been elsewhere.
    click(view, row_of(tab, "Embedding norm"), qtbot)
    assert workspace.selection.row.key == "embeddings.LayerNorm"


def test_the_path_of_a_step_can_be_copied(tab: WalkTab, qtbot: QtBot) -> None:
    view = table(tab)
    click(view, row_of(tab, "Token embedding"), qtbot)
    find(view, QAction, "copyRowPython").trigger()
    assert QApplication.clipboard().text() == "model.embeddings.word_embeddings"
    view.selectRow(0)  # a heading
    assert not find(view, QAction, "copyRowPath").isVisible()


def test_the_ids_of_the_last_run(tab: WalkTab, demo_window: MainWindow, qtbot: QtBot) -> None:
    demo_window.workspace.run_sentence(Sentence("a test", "the cat"), random_weights=False)
    qtbot.waitUntil(lambda: is_drawn(demo_window))
    assert column(table(tab), COUNTED)[1:3] == ["101 1037 3231 102 1996 4937 102", "0 0 0 0 1 1 1"]
    assert column(table(tab), OUTPUT)[3] == "[B, S, D]\n[1, 7, 384]"


def test_the_groups(tab: WalkTab) -> None:
    find(tab, QTabBar, "walkSwitch").setCurrentIndex(1)
    groups = table(tab, "groupTable")
    assert groups.isVisible()
    assert not table(tab).isVisible()
    assert column(groups, 0) == ["Embedding", "Blocks", "Pooler", "Total"]
    assert column(groups, 1)[-1] == "22,713,216 ✓"
    assert column(groups, 2)[1] == (
        "N·(4·(D·D+D) + 2·D + D·4D + 4D + 4D·D + D + 2·D)\n= N·(12·D² + 13·D)"
    )


def widths(view: QTableView) -> list[int]:
    return [view.columnWidth(number) for number in range(6)]


def test_nothing_is_cut(tab: WalkTab, demo_window: MainWindow) -> None:
    """Rows are high enough for their sums and names, in a wide and in a narrow pane."""
    view = table(tab)
    for width in (1600, 1000):
        demo_window.resize(width, 700)
        QApplication.processEvents()
        metrics = view.fontMetrics()
        for number in (STEP, COUNTED):
            for row, text in enumerate(column(view, number)):
                if view.columnSpan(row, number) > 1:
                    continue
                lines = sum(
                    1 + metrics.horizontalAdvance(line) // view.columnWidth(number)
                    for line in text.split("\n")
                )
                assert view.rowHeight(row) >= lines * metrics.height() * (text != "")


def test_names_break_before_the_table_scrolls_to_the_side(
    tab: WalkTab, demo_window: MainWindow, qtbot: QtBot
) -> None:
    view, window = table(tab), demo_window
    demo_window.workspace.run_sentence(Sentence("a test", "the cat"), random_weights=False)
    qtbot.waitUntil(lambda: is_drawn(window))
    window.resize(1600, 800)
    QApplication.processEvents()
    whole = view.columnWidth(STEP)
    assert whole > view.fontMetrics().horizontalAdvance("Multi-head self-attention")
    window.resize(1180, 800)
    QApplication.processEvents()
    assert sum(widths(view)) == view.viewport().width()
    view.setFixedWidth(view.width() - 10)
    QApplication.processEvents()
    assert sum(widths(view)) == view.viewport().width()
    assert view.columnWidth(STEP) < whole
    view.setFixedWidth(260)
    QApplication.processEvents()
    assert view.columnWidth(STEP) >= view.fontMetrics().horizontalAdvance("Embedding-")
    assert sum(widths(view)) > view.viewport().width()
    view.setFixedWidth(900)
    QApplication.processEvents()
    assert view.columnWidth(STEP) == whole
    assert sum(widths(view)) == view.viewport().width()
