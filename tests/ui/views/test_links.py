"""Paths in a text: each selects its module, whatever it is called, and is shown as it is."""

import pytest
from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtWidgets import QLabel, QTabWidget, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.module_tree import fold
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.links import MAX_LINKS, Link, PathLink, links, show_tensor
from tests.core.opened import plain
from tests.ui.finding import activate, find


@pytest.fixture
def owner(qtbot: QtBot) -> QWidget:
    owner = QWidget()
    qtbot.addWidget(owner)
    return owner


@pytest.fixture
def workspace(worker: Worker, owner: QWidget) -> Workspace:
    workspace = Workspace(worker, owner)
    workspace.selection.set_tree(fold(plain("bert-base-uncased")))
    return workspace


def shown(found: list[Link], workspace: Workspace, qtbot: QtBot, after: str = "") -> QWidget:
    widget = links(found, workspace, after)
    qtbot.addWidget(widget)
    widget.resize(300, 200)
    widget.show()
    return widget


def test_a_click_selects(workspace: Workspace, qtbot: QtBot) -> None:
    widget = shown([Link("the pooler", "pooler"), Link("up", "")], workspace, qtbot)
    first, second = widget.findChildren(PathLink)
    qtbot.mouseClick(first, Qt.MouseButton.LeftButton)
    assert workspace.selection.place.path == "pooler"
    qtbot.mouseClick(second, Qt.MouseButton.LeftButton)
    assert workspace.selection.place.path == ""


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space])
def test_so_do_the_keys(workspace: Workspace, qtbot: QtBot, key: Qt.Key) -> None:
    widget = shown([Link("encoder", "encoder")], workspace, qtbot)
    activate(widget, qtbot)
    link = find(widget, PathLink)
    link.setFocus()
    qtbot.keyClick(link, key)
    assert workspace.selection.place.path == "encoder"


@pytest.mark.parametrize("name", ["<b>bold</b>", "a\0b\nc", "ש" * 30, "x" * 10_000, "R&D"])
def test_names_of_strangers(workspace: Workspace, qtbot: QtBot, name: str) -> None:
    widget = shown([Link(name, name)], workspace, qtbot)
    link = find(widget, PathLink)
    assert link.width() <= widget.width()
    assert "\n" not in link.text()
    assert len(link.toolTip()) < 1000
    assert "<b>" not in link.toolTip().removeprefix("<p>")
    assert not link.grab().isNull()


def test_they_stand_in_as_many_lines_as_they_need(workspace: Workspace, qtbot: QtBot) -> None:
    widget = shown([Link(f"layer {n}", f"encoder.layer.{n}") for n in range(12)], workspace, qtbot)
    made = widget.findChildren(PathLink)
    assert len({link.y() for link in made}) > 1
    assert all(widget.rect().contains(link.geometry()) for link in made)
    before = [link.geometry() for link in made]
    assert not any(a.intersects(b) for n, a in enumerate(before) for b in before[:n])
    height = widget.heightForWidth(300)
    assert max(link.geometry().bottom() for link in made) < height
    assert widget.heightForWidth(2000) < height


def test_of_very_many_the_rest_is_counted(workspace: Workspace, qtbot: QtBot) -> None:
    widget = shown(
        [Link(str(n), "pooler") for n in range(MAX_LINKS + 7)], workspace, qtbot, "(here)"
    )
    assert len(widget.findChildren(PathLink)) == MAX_LINKS
    assert find(widget, QLabel).text() == "and 7 more (here)"


def test_a_tensor_is_shown_where_it_is(demo_window: MainWindow) -> None:
    show_tensor(demo_window.workspace, "pooler.dense.bias")
    tabs = find(demo_window, QTabWidget, "detailTabs")
    assert tabs.tabText(tabs.currentIndex()) == "Tensors"
    assert demo_window.workspace.selection.place.path == "pooler.dense"


def test_the_module_pane_leads_on(demo_window: MainWindow, qtbot: QtBot) -> None:
    selection = demo_window.workspace.selection

    def link(text: str) -> PathLink:
        pane = find(demo_window, QObject, "inspector")
        (found,) = [each for each in pane.findChildren(PathLink) if each.text() == text]
        return found

    selection.select("encoder.layer.3.attention")
    qtbot.mouseClick(link("self"), Qt.MouseButton.LeftButton, pos=QPoint(3, 5))
    assert selection.place.path == "encoder.layer.3.attention.self"
    qtbot.mouseClick(link("encoder.layer.3.attention"), Qt.MouseButton.LeftButton)
    assert selection.place.path == "encoder.layer.3.attention"
