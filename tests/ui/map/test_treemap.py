"""The treemap beside the flow."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLabel, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.charts.map.treemap import Cell
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.map.treemap import TreemapView
from bertviewer.ui.state.workspace import Workspace
from tests.core.walkthrough.small_walkthroughs import small
from tests.ui.finding import find
from tests.ui.map.conftest import ShowMap
from tests.ui.map.map_hands import canvas_of, strip_of


@pytest.fixture
def view(show_map: ShowMap, qtbot: QtBot) -> TreemapView:
    """Return the treemap of a small BERT, in sight."""
    tab = show_map(small("bert"))
    qtbot.mouseClick(find(tab, QToolButton, "mapAreas"), Qt.MouseButton.LeftButton)
    return find(tab, TreemapView, "mapTreemap")


def tab_of(view: TreemapView) -> MapTab:
    parent = view.parent()
    while not isinstance(parent, MapTab):
        assert parent is not None
        parent = parent.parent()
    return parent


def cell(view: TreemapView, path: str) -> Cell:
    assert view.cell is not None
    return next(each for each in view.cell.all_cells() if each.area.path == path)


def middle(found: Cell) -> QPoint:
    rect = found.rect
    return QPoint(round(rect.x + rect.width / 2), round(rect.y + rect.height / 2))


def test_it_takes_the_place_of_the_flow_and_gives_it_back(view: TreemapView, qtbot: QtBot) -> None:
    tab = tab_of(view)
    assert view.isVisible()
    assert not canvas_of(tab).isVisible()
    qtbot.keyClick(view, Qt.Key.Key_T)
    assert canvas_of(tab).isVisible()
    qtbot.keyClick(canvas_of(tab), Qt.Key.Key_T)
    assert view.isVisible()


def test_a_click_selects_and_what_is_selected_is_marked(
    view: TreemapView, workspace: Workspace, qtbot: QtBot
) -> None:
    path = "embeddings.word_embeddings"
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=middle(cell(view, path)))
    assert workspace.selection.place.path == path
    assert path in view.accessibleDescription()
    workspace.selection.select("encoder.layer.1.output.dense")
    assert view.selected == "encoder.layer.1.output.dense"
    assert "Linear" in view.accessibleDescription()


def test_enter_opens_and_backspace_leaves(
    view: TreemapView, workspace: Workspace, qtbot: QtBot
) -> None:
    title = find(tab_of(view), QLabel, "mapTitle")
    assert title.text() == "BertModel"
    workspace.selection.select("encoder.layer.1")
    qtbot.keyClick(view, Qt.Key.Key_Return)
    assert title.text() == "layer 1"
    assert view.cell is not None
    assert view.cell.area.path == "encoder.layer.1"
    for name in ("layer", "encoder", "BertModel"):
        qtbot.keyClick(view, Qt.Key.Key_Backspace)
        assert title.text() == name


def test_arrow_keys_go_to_what_is_beside(
    view: TreemapView, workspace: Workspace, qtbot: QtBot
) -> None:
    workspace.selection.select("encoder.layer.0")
    here, there = cell(view, "encoder.layer.0").rect, cell(view, "encoder.layer.1").rect
    key = Qt.Key.Key_Right if there.x > here.right - 1 else Qt.Key.Key_Down
    qtbot.keyClick(view, key)
    assert workspace.selection.place.path == "encoder.layer.1"


def test_areas_can_be_of_other_things(view: TreemapView) -> None:
    choice = find(tab_of(view), QToolButton, "mapArea")
    assert choice.isVisible()
    before = cell(view, "pooler").rect
    for action in choice.menu().actions()[1:]:
        action.trigger()
        assert action.text().lower() in choice.text().lower()
        assert view.cell is not None
        assert view.cell.area.value > 0
        assert "pooler" in view.area_tooltip(cell(view, "pooler").area)
    assert before.width > 0


def test_a_block_of_the_strip_opens_in_the_treemap(view: TreemapView, qtbot: QtBot) -> None:
    strip = strip_of(tab_of(view))
    rect = next(seat.rect for seat in strip.placed_blocks() if seat.block.name == "layer 1")
    place = QPoint(round(rect.x + rect.width / 2), round(rect.y + rect.height / 2))
    qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=place)
    assert view.cell is not None
    assert view.cell.area.path == "encoder.layer.1"
