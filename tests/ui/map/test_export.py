"""Images of the map and the treemap in files and on the clipboard."""

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QContextMenuEvent, QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.map.values import PARAMETERS
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.map.treemap import TreemapView
from bertviewer.ui.state.workspace import Workspace
from tests.ui.finding import find
from tests.ui.map.helpers import LAYER, canvas_of, center, choose

pytestmark = pytest.mark.qt_log_ignore("is undefined", "path truncated")  # outlines of blanks
BEGINNINGS = {"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF"}


@pytest.fixture
def treemap(layer: MapTab) -> TreemapView:
    find(layer, QToolButton, "mapAreas").click()
    return find(layer, TreemapView, "mapTreemap")


@pytest.fixture(autouse=True)
def _closed_menus(monkeypatch: pytest.MonkeyPatch) -> None:
    # The offscreen platform cannot give a menu the keyboard.
    monkeypatch.setattr(QMenu, "popup", lambda _menu, _place: None)


def menu_of(view: QWidget, place: QPoint | None = None) -> QMenu:
    """Return the menu that the keyboard requests, or a click at a position."""
    by_keys, by_mouse = QContextMenuEvent.Reason.Keyboard, QContextMenuEvent.Reason.Mouse
    place, reason = (QPoint(5, 5), by_keys) if place is None else (place, by_mouse)
    QApplication.sendEvent(view, QContextMenuEvent(reason, place, place))
    return view.findChildren(QMenu, "mapMenu")[-1]


def trigger(view: QWidget, name: str) -> None:
    """Trigger an action of the context menu."""
    actions = menu_of(view).actions()
    next(action for action in actions if action.objectName() == name).trigger()


@pytest.mark.parametrize("ending", BEGINNINGS)
@pytest.mark.parametrize("is_treemap", [False, True], ids=["flow", "treemap"])
def test_images_are_saved_by_menu_and_action(
    layer: MapTab,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_treemap: bool,
    ending: str,
) -> None:
    dialogs: list[tuple[str, str]] = []
    path = tmp_path / f"image.{ending}"

    def answer(_parent: object, _title: str, proposal: str, kinds: str) -> tuple[str, str]:
        dialogs.append((proposal, kinds))
        return str(path), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", answer)
    view: QWidget = canvas_of(layer)
    if is_treemap:
        find(layer, QToolButton, "mapAreas").click()
        view = find(layer, TreemapView, "mapTreemap")
    for is_menu in (True, False):
        if is_menu:
            trigger(view, "saveMap")
        else:
            layer.export_image()
        assert path.read_bytes().startswith(BEGINNINGS[ending])
        assert path.stat().st_size > 1000
        path.unlink()
    name = "treemap-bertmodel.png" if is_treemap else "map-layer-1.png"
    assert dialogs == [(name, "PNG (*.png);;SVG (*.svg);;PDF (*.pdf)")] * 2


def test_a_copied_image_has_the_colours_of_the_measure(layer: MapTab, qtbot: QtBot) -> None:
    def copied() -> QImage:
        QApplication.clipboard().clear()
        trigger(canvas_of(layer), "copyMap")
        qtbot.waitUntil(lambda: not QApplication.clipboard().image().isNull())
        return QApplication.clipboard().image()

    first = copied()
    choose(layer, PARAMETERS)
    second = copied()
    assert first.size() == second.size()
    assert first != second


def test_the_menu_of_the_treemap_is_about_the_module_under_the_mouse(
    treemap: TreemapView, workspace: Workspace
) -> None:
    assert treemap.cell is not None
    path = "embeddings.word_embeddings"
    found = next(cell for cell in treemap.cell.all_cells() if cell.area.path == path)
    menu_of(treemap, center(found.rect))
    assert workspace.selection.place.path == path
    workspace.selection.select(LAYER)
    trigger(treemap, "openPart")
    assert treemap.cell.area.path == LAYER
    trigger(treemap, "upFromPart")
    assert treemap.cell.area.path == "encoder.layer"


def test_a_copied_treemap_has_the_shape_of_the_view(treemap: TreemapView, qtbot: QtBot) -> None:
    QApplication.clipboard().clear()
    trigger(treemap, "copyMap")
    qtbot.waitUntil(lambda: not QApplication.clipboard().image().isNull())
    image = QApplication.clipboard().image()
    assert image.width() / image.height() == pytest.approx(treemap.width() / treemap.height(), 0.02)
    colors = {image.pixel(x, image.height() // 2) for x in range(0, image.width(), 7)}
    assert len(colors) > 3
