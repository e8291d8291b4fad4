"""While another model is compared, tree and map show how far modules are from its."""

import pytest
from msgspec.structs import replace
from PySide6.QtGui import QAction
from pytestqt.qtbot import QtBot

from bertviewer.charts.map.values import PART
from bertviewer.core.comparison.comparison import Change, Comparison, compare_architectures
from bertviewer.ui.map.header import MeasureButton
from bertviewer.ui.map.legend import LegendBar
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tree.columns import CHANGE
from bertviewer.ui.tree.header import TreeHeader
from bertviewer.ui.tree.model import ModuleTreeModel
from bertviewer.ui.tree.panel import ModuleTreePanel
from bertviewer.ui.tree.view import ModuleTreeView
from tests.ui.finding import find


@pytest.fixture
def comparison(demo_workspace: Workspace) -> Comparison:
    """Return a comparison with a model whose query of the second layer differs."""
    architecture = demo_workspace.architecture
    assert architecture is not None
    found = compare_architectures(architecture, architecture)
    tensors = []
    for tensor in found.tensors:
        far = 0.5 if tensor.name.startswith("encoder.layer.1.attention.self.query") else 0.0
        change = Change(8 - int(far * 8), 8, far, far, far / 2, 1.0, far, 2.0)
        tensors.append(replace(tensor, change=change))
    return replace(found, tensors=tuple(tensors))


def test_the_tree_has_a_column_of_changes(
    demo_workspace: Workspace, comparison: Comparison, qtbot: QtBot
) -> None:
    panel = ModuleTreePanel(demo_workspace)
    qtbot.addWidget(panel)
    demo_workspace.selection.row_changed.emit()
    tree = find(panel, ModuleTreeView, "moduleTree")
    if tree.model().rowCount() == 0:
        demo_workspace.architecture_changed.emit(demo_workspace.architecture)

    def change_of(path: str) -> str:
        model = tree.model()
        assert isinstance(model, ModuleTreeModel)
        return str(model.index_of(path).siblingAtColumn(CHANGE).data())

    assert tree.isColumnHidden(CHANGE)
    demo_workspace.comparison.keep(comparison, "tuned")
    assert not tree.isColumnHidden(CHANGE)
    assert change_of("encoder.layer.1.attention.self.query") == "0.25"
    assert change_of("encoder.layer.0") == "0"
    assert change_of("encoder.layer.1.attention.self.dropout") == ""
    # The next comparison shows it again, also if the user has hidden it.
    menu = panel.findChildren(TreeHeader)[0].menu(tree)
    find(menu, QAction, "column-change").trigger()
    assert tree.isColumnHidden(CHANGE)
    demo_workspace.comparison.close()
    demo_workspace.comparison.keep(comparison, "tuned")
    assert not tree.isColumnHidden(CHANGE)
    demo_workspace.comparison.close()
    assert tree.isColumnHidden(CHANGE)
    assert change_of("encoder.layer.0") == ""


def test_the_map_can_be_coloured_by_changes(
    demo_workspace: Workspace, comparison: Comparison, qtbot: QtBot
) -> None:
    tab = MapTab(demo_workspace)
    qtbot.addWidget(tab)
    tab.resize(900, 600)
    tab.show()
    tab.refresh()
    choice = find(tab, MeasureButton, "mapMeasure")
    action = find(choice, QAction, "measure-change")
    assert not action.isVisible()
    for name, title in (("/home/me/tuned", "tuned"), ("a & b", "a & b")):
        demo_workspace.comparison.keep(comparison, name)
        tab.refresh()
        assert action.isVisible()
        assert action.text() == f"Difference from {title}".replace("&", "&&")
        action.trigger()
        legend = find(tab, LegendBar, "mapLegend").legend
        assert legend.title == f"difference from {title}"
        assert legend.scale is not None
        assert legend.scale.most == "0.25"
        demo_workspace.comparison.close()
        tab.refresh()
        assert not action.isVisible()
        assert choice.measure == PART
