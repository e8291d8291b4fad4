"""Figures of a run that is not what would be run now are marked wherever they are shown."""

import pytest
from PySide6.QtGui import QColor, QPixmap
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.ui.map.card import MapCard
from bertviewer.ui.module.inspector_page import InspectorPage
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.theme.appearance import WARNING
from tests.ui.finding import find, is_drawn

TEXT = "The bank by the river was closed."


@pytest.fixture
def ran(demo_window: MainWindow, qtbot: QtBot) -> MainWindow:
    """Return a window with a run, and what was run as what is typed."""
    demo_window.set_sentence(TEXT, None)
    demo_window.workspace.run_sentence(Sentence(TEXT), random_weights=False)
    qtbot.waitUntil(lambda: is_drawn(demo_window))
    return demo_window


def edge(widget: QWidget) -> QColor:
    """Return the colour at a widget's left edge."""
    picture = QPixmap(widget.size())
    widget.render(picture)
    return picture.toImage().pixelColor(1, widget.height() // 2)


def marked(window: MainWindow) -> list[bool]:
    """Tell of the map and of the inspector whether they are marked."""
    places = find(window, MapCard), find(window, InspectorPage)
    names = "mapStale", "staleModule"
    found = []
    for place, name in zip(places, names, strict=True):
        label = find(window, QLabel, name)
        is_marked = edge(place) == window.palette().color(WARNING)
        assert is_marked == bool(label.text()) == bool(place.accessibleDescription())
        assert label.isVisible() == is_marked
        found.append(is_marked)
    return found


def test_another_text_marks_map_and_inspector_until_it_is_typed_again(ran: MainWindow) -> None:
    edit = find(ran, QLineEdit, "sentenceEdit")
    assert marked(ran) == [False, False]
    edit.setText(f"{TEXT}!")
    assert marked(ran) == [True, True]
    assert find(ran, QLabel, "mapStale").text() == "Results are for an earlier sentence"
    edit.setText(TEXT)
    assert marked(ran) == [False, False]


def test_a_new_run_is_of_what_is_typed(ran: MainWindow, qtbot: QtBot) -> None:
    ran.set_sentence("another one", None)
    assert marked(ran) == [True, True]
    ran.run()
    qtbot.waitUntil(lambda: marked(ran) == [False, False])


def test_without_a_run_nothing_is_marked(demo_window: MainWindow) -> None:
    demo_window.set_sentence("a text", None)
    assert find(demo_window, QLabel, "mapStale").text() == ""
