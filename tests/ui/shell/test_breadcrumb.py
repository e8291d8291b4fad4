"""Back, forward and the path above everything, by mouse and by keys."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QMenu, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.module_tree import fold
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.breadcrumb import Breadcrumb
from bertviewer.ui.shell.top_bar import HistoryButtons
from bertviewer.ui.state.workspace import Workspace
from tests.core.opened import plain
from tests.ui.finding import activate, find

SELF = "encoder.layer.3.attention.self"
Made = tuple[QWidget, Workspace]


@pytest.fixture
def made(worker: Worker, qtbot: QtBot) -> Made:
    """Return a bar with both over a model that is open."""
    bar = QWidget()
    qtbot.addWidget(bar)
    workspace = Workspace(worker, bar)
    line = QHBoxLayout(bar)
    line.addWidget(HistoryButtons(workspace.history, "Back", "Forward"))
    line.addWidget(Breadcrumb(workspace), 1)
    workspace.architecture = plain("bert-base-uncased")
    workspace.source = parse_source("bert-base-uncased")
    workspace.selection.set_tree(fold(workspace.architecture))
    workspace.selection.row_changed.emit()
    bar.resize(700, 46)
    bar.show()
    return bar, workspace


def shown(bar: QWidget) -> list[str]:
    crumbs = find(bar, Breadcrumb)
    buttons = [each for each in crumbs.findChildren(QToolButton) if each.isVisible()]
    return [each.text() for each in sorted(buttons, key=lambda each: each.x())]


def menu_of(bar: QWidget, name: str) -> dict[str, Callable[[], None]]:
    menu = find(bar, QToolButton, name).menu()
    assert isinstance(menu, QMenu)
    menu.aboutToShow.emit()
    return {action.text(): action.trigger for action in menu.actions()}


def test_the_path_follows_the_selection(made: Made) -> None:
    bar, workspace = made
    assert shown(bar) == ["", "BertModel"]
    workspace.selection.select(SELF)
    assert shown(bar) == ["", "encoder", "›", "layer 3", "›", "attention", "›", "self"]
    workspace.selection.select("pooler")
    assert shown(bar) == ["", "pooler"]


def test_each_part_selects(made: Made, qtbot: QtBot) -> None:
    bar, workspace = made
    workspace.selection.select(SELF)
    qtbot.mouseClick(find(bar, QToolButton, "crumb1"), Qt.MouseButton.LeftButton)
    assert workspace.selection.place.path == "encoder.layer.3"
    qtbot.keyClick(find(bar, QToolButton, "crumb0"), Qt.Key.Key_Space)
    assert workspace.selection.place.path == "encoder"


def test_the_sign_offers_what_stands_beside(made: Made) -> None:
    bar, workspace = made
    workspace.selection.select(SELF)
    layers = menu_of(bar, "crumbSign1")
    assert list(layers) == [f"layer {n}" for n in range(12)]
    layers["layer 11"]()
    assert workspace.selection.place.path == "encoder.layer.11"
    outer = menu_of(bar, "crumbSign0")
    assert list(outer) == ["BertModel", "embeddings", "encoder", "pooler"]
    outer["BertModel"]()
    assert workspace.selection.place.path == ""


def test_without_room_the_outer_parts_are_behind_an_ellipsis(made: Made, qtbot: QtBot) -> None:
    bar, workspace = made
    workspace.selection.select(SELF)
    bar.resize(260, 46)
    qtbot.waitUntil(lambda: shown(bar)[0] == "…")
    assert shown(bar)[-1] == "self"
    assert "encoder" not in shown(bar)
    left_out = menu_of(bar, "crumbsLeftOut")
    assert "encoder" in left_out
    left_out["encoder"]()
    assert workspace.selection.place.path == "encoder"
    bar.resize(700, 46)
    qtbot.waitUntil(lambda: shown(bar) == ["", "encoder"])


def test_buttons_go_back_and_forward(made: Made, qtbot: QtBot) -> None:
    bar, workspace = made
    back, forward = find(bar, QToolButton, "backButton"), find(bar, QToolButton, "forwardButton")
    assert not back.isEnabled()
    workspace.selection.select("encoder")
    qtbot.mouseClick(back, Qt.MouseButton.LeftButton)
    assert workspace.selection.place.path == ""
    qtbot.mouseClick(forward, Qt.MouseButton.LeftButton)
    assert workspace.selection.place.path == "encoder"


def test_a_button_in_use_keeps_the_focus(made: Made, qtbot: QtBot) -> None:
    bar, workspace = made
    workspace.selection.select("encoder")
    back = find(bar, QToolButton, "backButton")
    activate(bar, qtbot)
    back.setFocus()
    qtbot.keyClick(back, Qt.Key.Key_Space)
    assert workspace.selection.place.path == ""
    assert back.hasFocus()


def test_the_mouse_has_buttons_of_its_own(made: Made) -> None:
    bar, workspace = made
    workspace.selection.select("encoder")

    def press(button: Qt.MouseButton) -> None:
        at = QPointF(5, 5)
        keys = Qt.KeyboardModifier.NoModifier
        kind = QEvent.Type.MouseButtonPress
        event = QMouseEvent(kind, at, bar.mapToGlobal(at), button, button, keys)
        QApplication.sendEvent(bar.windowHandle(), event)

    press(Qt.MouseButton.BackButton)
    assert workspace.selection.place.path == ""
    press(Qt.MouseButton.ForwardButton)
    assert workspace.selection.place.path == "encoder"
    press(Qt.MouseButton.LeftButton)
    assert workspace.selection.place.path == "encoder"
