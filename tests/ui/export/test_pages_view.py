"""Pages are scrolled by keys, and images are requested for the visible ones."""

from collections.abc import Sequence

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QImage
from pytestqt.qtbot import QtBot

from bertviewer.ui.export.pages_view import MAX_IMAGES, PagesView, page_size

A4 = (595.0, 842.0)
COUNT = 40


class Painter:
    """Draws the images that a view requests."""

    def __init__(self, view: PagesView) -> None:
        self.requested: list[int] = []
        self.pixels_per_inch = 0.0
        self._view = view
        view.images_wanted.connect(self.draw)

    def draw(self, numbers: Sequence[int], pixels_per_inch: float) -> None:
        self.requested += numbers
        self.pixels_per_inch = pixels_per_inch
        width, height = (round(side * pixels_per_inch / 72) for side in A4)
        image = QImage(width, height, QImage.Format.Format_RGB32)
        image.fill(Qt.GlobalColor.white)
        self._view.show_images(dict.fromkeys(numbers, image))


@pytest.fixture
def view(qtbot: QtBot) -> PagesView:
    view = PagesView()
    qtbot.addWidget(view)
    view.resize(600, 640)
    view.show()
    return view


def test_keys_move_between_pages(view: PagesView, qtbot: QtBot) -> None:
    painter = Painter(view)
    view.show_pages([A4] * COUNT)
    described = []
    for key in (Qt.Key.Key_PageDown, Qt.Key.Key_End, Qt.Key.Key_Home):
        qtbot.keyClick(view, key)
        qtbot.waitUntil(lambda: view.is_drawn)
        interface = QAccessible.queryAccessibleInterface(view)
        described.append(interface.text(QAccessible.Text.Description))
    assert described == [f"Page {n} of {COUNT}" for n in (2, COUNT, 1)]
    assert {0, 1, COUNT - 1} <= set(painter.requested)
    view.show_message("no pages")
    assert view.accessibleDescription() == "no pages"
    assert not view.is_drawn


def test_images_of_distant_pages_are_dropped(view: PagesView, qtbot: QtBot) -> None:
    painter = Painter(view)
    view.show_pages([A4] * COUNT)
    qtbot.waitUntil(lambda: view.is_drawn and 1 in painter.requested)
    # Neighbours of the visible pages are drawn, too, but no others.
    assert max(painter.requested) < 3
    painter.draw(range(COUNT), painter.pixels_per_inch)
    painter.requested.clear()
    drawn = []
    for number in (0, MAX_IMAGES // 2, COUNT - 1):
        view.go_to(number)
        drawn.append(view.is_drawn)
    assert drawn == [True, True, False]
    qtbot.waitUntil(lambda: view.is_drawn)
    assert COUNT - 1 in painter.requested


def test_a_resized_view_requests_other_images(view: PagesView, qtbot: QtBot) -> None:
    painter = Painter(view)
    view.show_pages([A4, A4])
    qtbot.waitUntil(lambda: view.is_drawn)
    painter.requested.clear()
    view.resize(500, 640)
    qtbot.waitUntil(lambda: view.is_drawn and 0 in painter.requested)
    assert page_size(b'<svg viewBox="0 0 595.5 842">') == (595.5, 842.0)
