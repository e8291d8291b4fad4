"""While another model is compared, the tree and the map show how far modules are from its."""

import pytest
from msgspec.structs import replace
from PySide6.QtGui import QAction
from pytestqt.qtbot import QtBot

from bertviewer.charts.map.values import PART
from bertviewer.core.comparison.comparison import Change, Comparison, compare_architectures
from bertviewer.ui.map.header import MeasureButton
from bertviewer.ui.map.legend import LegendBar
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.pages import Page
from bertviewer.ui.tree.columns import CHANGE
from bertviewer.ui.tree.header import TreeHeader
from bertviewer.ui.tree.model import ModuleTreeModel
from bertviewer.ui.tree.view import ModuleTreeView
from tests.ui.finding import find


def moved(window: MainWindow) -> Comparison:
    """Return a comparison of the open model in which the second layer's query moved."""
    architecture = window.workspace.architecture
    assert architecture is not None
    found = compare_architectures(architecture, architecture)
    tensors = []
    for tensor in found.tensors:
        far = 0.5 if tensor.name.startswith("encoder.layer.1.attention.self.query") else 0.0
        change = Change(8 - int(far * 8), 8, far, far, far / 2, 1.0, far, 2.0)
        tensors.append(replace(tensor, change=change))
    return replace(found, tensors=tuple(tensors))


def change_of(window: MainWindow, path: str) -> str:
    """Return what the tree says of a module's change."""
    model = find(window, ModuleTreeView, "moduleTree").model()
    assert isinstance(model, ModuleTreeModel)
    return str(model.index_of(path).siblingAtColumn(CHANGE).data())


def test_the_tree_has_a_column_of_changes(demo_window: MainWindow) -> None:
    tree = find(demo_window, ModuleTreeView, "moduleTree")
    kept = demo_window.workspace.comparison
    assert tree.isColumnHidden(CHANGE)
    kept.keep(moved(demo_window), "tuned")
    assert not tree.isColumnHidden(CHANGE)
    assert change_of(demo_window, "encoder.layer.1.attention.self.query") == "0.25"
    assert change_of(demo_window, "encoder.layer.0") == "0"
    assert change_of(demo_window, "encoder.layer.1.attention.self.dropout") == ""
    menu = demo_window.findChildren(TreeHeader)[0].menu(tree)
    find(menu, QAction, "column-change").trigger()
    assert tree.isColumnHidden(CHANGE)
    kept.close()
    kept.keep(moved(demo_window), "tuned")
    assert not tree.isColumnHidden(CHANGE)
    kept.close()
    assert tree.isColumnHidden(CHANGE)
    assert change_of(demo_window, "encoder.layer.0") == ""


@pytest.mark.parametrize("other", ["/home/me/tuned", "a & b"])
def test_the_map_is_coloured_by_changes(demo_window: MainWindow, qtbot: QtBot, other: str) -> None:
    del qtbot
    kept = demo_window.workspace.comparison
    demo_window.workspace.show_page(Page.MAP)
    choice = find(demo_window, MeasureButton, "mapMeasure")
    action = find(choice, QAction, "measure-change")
    assert not action.isVisible()
    kept.keep(moved(demo_window), other)
    assert action.isVisible()
    assert action.text() == f"Difference from {kept.title}".replace("&", "&&")
    action.trigger()
    legend = find(demo_window, LegendBar, "mapLegend").legend
    assert legend.title == f"difference from {kept.title}"
    assert legend.scale is not None
    assert legend.scale.most == "0.25"
    kept.close()
    assert not action.isVisible()
    assert choice.measure == PART
