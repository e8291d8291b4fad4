"""A picture of the map is taken along: into files, and to the clipboard."""

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QContextMenuEvent, QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu
from pytestqt.qtbot import QtBot

from bertviewer.charts.map.measures import PARAMETERS
from bertviewer.ui.map.measure_choice import MeasureChoice
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.workspace import Workspace
from tests.core.walk.walked import small
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


def choose(tab: MapTab, name: str) -> None:
    """Choose something of the menu that keys bring up."""
    canvas = canvas_of(tab)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(5, 5), QPoint(5, 5))
    QApplication.sendEvent(canvas, event)
    menu = canvas.findChildren(QMenu, "mapMenu")[-1]
    next(action for action in menu.actions() if action.objectName() == name).trigger()


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
    layer: MapTab, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "layer.svg"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    workspace.map_picture_wanted.emit()
    assert "</svg>" in path.read_text(encoding="utf-8")


def test_the_copied_picture_has_the_colours_that_are_chosen(layer: MapTab, qtbot: QtBot) -> None:
    def copied() -> QImage:
        choose(layer, "copyMap")
        qtbot.waitUntil(lambda: not QApplication.clipboard().image().isNull())
        return QApplication.clipboard().image()

    first = copied()
    measure = find(layer, MeasureChoice, "mapMeasure")
    measure.choose(PARAMETERS)
    measure.chosen.emit(PARAMETERS)
    second = copied()
    assert first.size() == second.size()
    assert first != second
