"""Top bar: back and forward, and the path of the selected module with menus of siblings."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QMenu, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.module_tree import fold
from bertviewer.ui.shell.breadcrumb import Breadcrumb, crumbs_of
from bertviewer.ui.shell.top_bar import HistoryButtons
from bertviewer.ui.state.selection import find as find_row
from bertviewer.ui.state.workspace import Workspace
from tests.core.opened import plain
from tests.ui.direct_worker import show_architecture
from tests.ui.finding import activate, find

BERT = plain("bert-base-uncased")
SELF = "encoder.layer.3.attention.self"


@pytest.mark.parametrize(
    ("key", "labels"),
    [
        ("", ["BertModel"]),
        (SELF, ["encoder", "layer 3", "attention", "self"]),
        ("encoder.layer[0–11]", ["encoder", "layer 0–11"]),
        ("encoder.layer", ["encoder", "layer"]),
    ],
)
def test_the_parts_of_a_path(key: str, labels: list[str]) -> None:
    tree = fold(BERT)
    row = find_row(tree, key)
    assert row is not None
    crumbs = crumbs_of(row)
    assert [crumb.label for crumb in crumbs] == labels
    assert crumbs[-1].key == key
    assert all(find_row(tree, crumb.key) is not None for crumb in crumbs)


@pytest.fixture
def bar(workspace: Workspace, qtbot: QtBot) -> QWidget:
    """Return a bar with the buttons and the path, over a model."""
    bar = QWidget()
    qtbot.addWidget(bar)
    line = QHBoxLayout(bar)
    line.addWidget(HistoryButtons(workspace.history, "Back", "Forward"))
    line.addWidget(Breadcrumb(workspace), 1)
    show_architecture(workspace, BERT)
    bar.resize(700, 46)
    bar.show()
    return bar


def shown(bar: QWidget) -> list[str]:
    crumbs = find(bar, Breadcrumb)
    buttons = [each for each in crumbs.findChildren(QToolButton) if each.isVisible()]
    return [each.text() for each in sorted(buttons, key=lambda each: each.x())]


def menu_of(bar: QWidget, name: str) -> dict[str, Callable[[], None]]:
    menu = find(bar, QToolButton, name).menu()
    assert isinstance(menu, QMenu)
    menu.aboutToShow.emit()
    return {action.text(): action.trigger for action in menu.actions()}


def test_the_path_follows_the_selection_and_each_part_selects(
    bar: QWidget, workspace: Workspace, qtbot: QtBot
) -> None:
    assert shown(bar) == ["", "BertModel"]
    workspace.selection.select(SELF)
    assert shown(bar) == ["", "encoder", "›", "layer 3", "›", "attention", "›", "self"]
    qtbot.mouseClick(find(bar, QToolButton, "crumb1"), Qt.MouseButton.LeftButton)
    assert workspace.selection.place.path == "encoder.layer.3"
    qtbot.keyClick(find(bar, QToolButton, "crumb0"), Qt.Key.Key_Space)
    assert workspace.selection.place.path == "encoder"
    assert shown(bar) == ["", "encoder"]


def test_the_menu_of_a_part_lists_its_siblings(bar: QWidget, workspace: Workspace) -> None:
    workspace.selection.select(SELF)
    layers = menu_of(bar, "crumbSign1")
    assert list(layers) == [f"layer {n}" for n in range(12)]
    layers["layer 11"]()
    assert workspace.selection.place.path == "encoder.layer.11"
    outermost = menu_of(bar, "crumbSign0")
    assert list(outermost) == ["BertModel", "embeddings", "encoder", "pooler"]
    outermost["BertModel"]()
    assert workspace.selection.place.path == ""


def test_parts_that_do_not_fit_are_in_a_menu(
    bar: QWidget, workspace: Workspace, qtbot: QtBot
) -> None:
    workspace.selection.select(SELF)
    bar.resize(260, 46)
    qtbot.waitUntil(lambda: shown(bar)[0] == "…")
    assert shown(bar)[-1] == "self"
    assert "encoder" not in shown(bar)
    menu_of(bar, "crumbsLeftOut")["encoder"]()
    assert workspace.selection.place.path == "encoder"
    bar.resize(700, 46)
    qtbot.waitUntil(lambda: shown(bar) == ["", "encoder"])


def test_back_and_forward_by_buttons_and_keys(
    bar: QWidget, workspace: Workspace, qtbot: QtBot
) -> None:
    back, forward = find(bar, QToolButton, "backButton"), find(bar, QToolButton, "forwardButton")
    assert not back.isEnabled()
    workspace.selection.select("encoder")
    activate(bar, qtbot)
    back.setFocus()
    qtbot.keyClick(back, Qt.Key.Key_Space)
    assert workspace.selection.place.path == ""
    assert back.hasFocus()  # a disabled button would lose it
    qtbot.mouseClick(forward, Qt.MouseButton.LeftButton)
    assert workspace.selection.place.path == "encoder"


def test_the_back_and_forward_buttons_of_the_mouse(bar: QWidget, workspace: Workspace) -> None:
    workspace.selection.select("encoder")
    for button, path in (
        (Qt.MouseButton.BackButton, ""),
        (Qt.MouseButton.LeftButton, ""),
        (Qt.MouseButton.ForwardButton, "encoder"),
    ):
        at, keys = QPointF(5, 5), Qt.KeyboardModifier.NoModifier
        kind = QEvent.Type.MouseButtonPress
        event = QMouseEvent(kind, at, bar.mapToGlobal(at), button, button, keys)
        QApplication.sendEvent(bar.windowHandle(), event)
        assert workspace.selection.place.path == path
