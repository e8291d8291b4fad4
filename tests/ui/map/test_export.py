"""A picture of the map is taken along: into files, and to the clipboard."""

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.map.values import PARAMETERS
from bertviewer.ui.map.header import MeasureButton
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.map.treemap import TreemapView
from bertviewer.ui.state.workspace import Workspace
from tests.core.walkthrough.small_walkthroughs import small
from tests.ui.finding import find
from tests.ui.map.conftest import ShowMap
from tests.ui.map.map_hands import canvas_of

pytestmark = pytest.mark.qt_log_ignore("is undefined", "path truncated")  # outlines of blanks


@pytest.fixture
def layer(show_map: ShowMap, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> MapTab:
    """Return the map of a BERT with its second layer opened."""
    # The offscreen platform cannot give a menu all keys.
    monkeypatch.setattr(QMenu, "popup", lambda _menu, _place: None)
    tab = show_map(small("bert"))
    workspace.selection.select("encoder.layer.1")
    return tab


def menu_of(picture: QWidget, place: QPoint | None = None) -> QMenu:
    """Return the menu that keys bring up, or a click at a place."""
    by_keys, by_mouse = QContextMenuEvent.Reason.Keyboard, QContextMenuEvent.Reason.Mouse
    place, reason = (QPoint(5, 5), by_keys) if place is None else (place, by_mouse)
    QApplication.sendEvent(picture, QContextMenuEvent(reason, place, place))
    return picture.findChildren(QMenu, "mapMenu")[-1]


def act(menu: QMenu, name: str) -> None:
    next(action for action in menu.actions() if action.objectName() == name).trigger()


def choose(tab: MapTab, name: str) -> None:
    """Choose something of the menu that keys bring up."""
    act(menu_of(canvas_of(tab)), name)


@pytest.mark.parametrize(
    ("ending", "begin"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF")]
)
def test_the_opened_part_is_saved(
    layer: MapTab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, begin: bytes
) -> None:
    asked = []

    def answer(_parent: object, _title: str, proposal: str, kinds: str) -> tuple[str, str]:
        asked.append((proposal, kinds))
        return str(tmp_path / f"layer.{ending}"), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", answer)
    choose(layer, "saveMap")
    assert asked == [("map-layer-1.png", "PNG (*.png);;SVG (*.svg);;PDF (*.pdf)")]
    assert (tmp_path / f"layer.{ending}").read_bytes().startswith(begin)


def test_an_action_of_the_window_saves_it_too(
    layer: MapTab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "layer.svg"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    layer.export_image()
    assert "</svg>" in path.read_text(encoding="utf-8")


def test_the_copied_picture_has_the_colours_that_are_chosen(layer: MapTab, qtbot: QtBot) -> None:
    def copied() -> QImage:
        choose(layer, "copyMap")
        qtbot.waitUntil(lambda: not QApplication.clipboard().image().isNull())
        return QApplication.clipboard().image()

    first = copied()
    measure = find(layer, MeasureButton, "mapMeasure")
    measure.choose(PARAMETERS)
    measure.chosen.emit(PARAMETERS)
    second = copied()
    assert first.size() == second.size()
    assert first != second


@pytest.fixture
def areas(layer: MapTab, qtbot: QtBot) -> TreemapView:
    """Return the treemap in place of the opened part."""
    qtbot.mouseClick(find(layer, QToolButton, "mapAreas"), Qt.MouseButton.LeftButton)
    view = find(layer, TreemapView, "mapTreemap")
    qtbot.waitUntil(lambda: view.cell is not None)
    return view


def test_the_treemap_offers_the_same_for_what_is_pointed_at(
    areas: TreemapView, workspace: Workspace
) -> None:
    assert areas.cell is not None
    found = next(c for c in areas.cell.all_cells() if c.area.path == "embeddings.word_embeddings")
    rect = found.rect
    menu = menu_of(areas, QPoint(round(rect.x + rect.width / 2), round(rect.y + rect.height / 2)))
    assert workspace.selection.place.path == "embeddings.word_embeddings"
    assert menu.isVisible() or menu.actions()
    workspace.selection.select("encoder.layer.1")
    act(menu_of(areas), "openPart")
    assert areas.cell.area.path == "encoder.layer.1"
    act(menu_of(areas), "upFromPart")
    assert areas.cell.area.path == "encoder.layer"


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_treemap_is_saved(
    areas: TreemapView,
    layer: MapTab,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ending: str,
) -> None:
    asked = []

    def answer(_parent: object, _title: str, proposal: str, _kinds: str) -> tuple[str, str]:
        asked.append(proposal)
        return str(tmp_path / f"areas.{ending}"), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", answer)
    act(menu_of(areas), "saveMap")
    layer.export_image()
    assert asked == ["treemap-bertmodel.png"] * 2
    assert (tmp_path / f"areas.{ending}").stat().st_size > 1000


def test_the_treemap_is_copied(areas: TreemapView, qtbot: QtBot) -> None:
    QApplication.clipboard().clear()
    act(menu_of(areas), "copyMap")
    qtbot.waitUntil(lambda: not QApplication.clipboard().image().isNull())
    image = QApplication.clipboard().image()
    assert image.width() / image.height() == pytest.approx(areas.width() / areas.height(), 0.02)
    colors = {image.pixel(x, image.height() // 2) for x in range(0, image.width(), 7)}
    assert len(colors) > 3
