"""The treemap in place of the data flow: selection, opening, and what areas show."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QToolButton

from bertviewer.charts.map.treemap import Cell
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.map.treemap import TreemapView
from bertviewer.ui.state.workspace import Workspace
from tests.plots.looking import click, press
from tests.ui.finding import find
from tests.ui.map.helpers import LAYER, canvas_of, center, selected, strip_of


@pytest.fixture
def view(tab: MapTab) -> TreemapView:
    """Return the visible treemap of a small BERT."""
    button = find(tab, QToolButton, "mapAreas")
    click(button, button.rect().center())
    return find(tab, TreemapView, "mapTreemap")


def cell(view: TreemapView, path: str) -> Cell:
    assert view.cell is not None
    return next(each for each in view.cell.all_cells() if each.area.path == path)


def shown(view: TreemapView) -> str:
    """Return the path of the opened module."""
    assert view.cell is not None
    return view.cell.area.path


def test_t_switches_between_treemap_and_flow(view: TreemapView, tab: MapTab) -> None:
    assert view.isVisible()
    assert not canvas_of(tab).isVisible()
    press(view, Qt.Key.Key_T)
    assert canvas_of(tab).isVisible()
    press(canvas_of(tab), Qt.Key.Key_T)
    assert view.isVisible()


def test_a_click_selects_and_the_selection_is_described(
    view: TreemapView, workspace: Workspace
) -> None:
    path = "embeddings.word_embeddings"
    click(view, center(cell(view, path).rect))
    assert selected(workspace) == path
    assert path in view.accessibleDescription()
    workspace.selection.select(f"{LAYER}.output.dense")
    assert view.selected == f"{LAYER}.output.dense"
    assert "Linear" in view.accessibleDescription()


def test_enter_opens_and_backspace_leaves(
    view: TreemapView, tab: MapTab, workspace: Workspace
) -> None:
    title = find(tab, QLabel, "mapTitle")
    assert title.text() == "BertModel"
    workspace.selection.select(LAYER)
    press(view, Qt.Key.Key_Return)
    assert title.text() == "layer 1"
    assert shown(view) == LAYER
    assert "of the model" in find(tab, QLabel, "mapFacts").text()
    for name in ("layer", "encoder", "BertModel"):
        press(view, Qt.Key.Key_Backspace)
        assert title.text() == name


def test_arrow_keys_go_to_the_next_cell(view: TreemapView, workspace: Workspace) -> None:
    workspace.selection.select("encoder.layer.0")
    here, there = cell(view, "encoder.layer.0").rect, cell(view, LAYER).rect
    press(view, Qt.Key.Key_Right if there.x > here.right - 1 else Qt.Key.Key_Down)
    assert selected(workspace) == LAYER


def test_areas_and_figures_show_the_chosen_kind(view: TreemapView, tab: MapTab) -> None:
    choice = find(tab, QToolButton, "mapArea")
    assert choice.isVisible()
    figures = []
    for action, unit in zip(
        choice.menu().actions(), ("parameters", "multiply-adds", "bytes"), strict=True
    ):
        action.trigger()
        assert action.text().lower() in choice.text().lower()
        assert view.cell is not None
        assert view.cell.area.value > 0
        assert unit in view.area_tooltip(cell(view, "pooler").area)
        figures.append(view.color("embeddings").figure)
    assert [figure[-1:] == "B" for figure in figures] == [False, False, True]


def test_a_block_of_the_strip_opens_in_the_treemap(view: TreemapView, tab: MapTab) -> None:
    strip = strip_of(tab)
    found = next(each for each in strip.placed_blocks() if each.block.name == "layer 1")
    click(strip, center(found.rect))
    assert shown(view) == LAYER
