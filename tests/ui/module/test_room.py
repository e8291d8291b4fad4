"""What of the inspector is seen without scrolling, and that nothing of it is beside its pane."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLabel, QScrollArea
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.ui.module.inspector import Inspector
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.widgets.facts import FactsView
from bertviewer.ui.widgets.formula_view import FormulaView
from tests.ui.finding import find, is_drawn

USUAL = (
    "",
    "embeddings",
    "encoder.layer.3",
    "encoder.layer.3.attention.self",
    "encoder.layer.3.attention.self.query",
    "encoder.layer.3.intermediate",
    "pooler",
)
LARGEST = 3


@pytest.fixture
def ran(demo_window: MainWindow, qtbot: QtBot) -> MainWindow:
    """Return a window of 1440 × 900 pixels after a run."""
    demo_window.resize(1440, 900)
    sentence = Sentence("The bank by the river was closed, so she walked to the other bank.")
    demo_window.workspace.run_sentence(sentence, random_weights=False)
    qtbot.waitUntil(lambda: is_drawn(demo_window))
    return demo_window


@pytest.fixture
def large(demo_window: MainWindow, qtbot: QtBot) -> Iterator[MainWindow]:
    """Return a window with the largest type."""
    demo_window.workspace.selection.select("encoder.layer.3.attention.self")
    qtbot.waitUntil(lambda: bool(find(demo_window, Inspector).findChildren(FormulaView)))
    for _ in range(LARGEST):
        find(demo_window, QAction, "largerText").trigger()
    qtbot.waitUntil(lambda: not demo_window.workspace.deferred.pending)
    yield demo_window
    find(demo_window, QAction, "usualText").trigger()


def area_of(window: MainWindow) -> QScrollArea:
    return find(window, QScrollArea, "inspectorPage")


@pytest.mark.parametrize("path", USUAL)
def test_sentence_figures_and_formula_are_in_sight(
    ran: MainWindow, qtbot: QtBot, path: str
) -> None:
    ran.workspace.selection.select(path)
    area = area_of(ran)

    def end() -> int:
        formulas = area.findChildren(FormulaView)
        if len(formulas) != 1 or not formulas[0].height() or ran.workspace.deferred.pending:
            return 10_000
        return formulas[0].mapTo(area.viewport(), QPoint(0, formulas[0].height())).y()

    qtbot.waitUntil(lambda: end() < 10_000)
    qtbot.waitUntil(lambda: end() <= area.viewport().height())


@pytest.mark.parametrize("width", [1440, 1024])
def test_the_largest_type_makes_no_page_wider_than_its_pane(
    large: MainWindow, qtbot: QtBot, width: int
) -> None:
    area = area_of(large)
    page = area.widget()
    assert page is not None
    large.resize(width, 720)
    qtbot.waitUntil(lambda: large.width() <= width)
    qtbot.waitUntil(lambda: page.width() == area.viewport().width())
    assert page.minimumSizeHint().width() <= find(large, Inspector).minimumWidth()


def test_names_of_facts_are_read_whole_after_a_change_of_type(
    large: MainWindow, qtbot: QtBot
) -> None:
    views = large.findChildren(FactsView)

    def cut() -> list[str]:
        every = [label for view in views for label in view.findChildren(QLabel)]
        labels = [label for label in every if label.isVisible()]
        return [
            label.text()
            for label in labels
            if not label.wordWrap() and label.width() < label.sizeHint().width()
        ]

    qtbot.waitUntil(lambda: not cut())
