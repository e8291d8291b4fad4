"""The popup with made-up results: keys, mouse, focus and drawing."""

from collections.abc import Callable
from functools import partial

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QListView, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.ui.palette.popup import PalettePopup
from bertviewer.ui.palette.results import ROW_ROLE, HitRow
from bertviewer.ui.palette.search_index import SearchIndex
from bertviewer.ui.palette.sources import SEPARATOR, Item, Source
from tests.ui.finding import activate, find

MODULES = ("encoder.attention", "encoder.attention.self", "pooler")
COMMANDS = ("Pool attention", "Cancel attention")


class PopupHarness:
    """A popup over a window; ``chosen`` are the texts of the results that were chosen."""

    def __init__(self, qtbot: QtBot) -> None:
        self.window = QWidget()
        qtbot.addWidget(self.window)
        self.window.resize(800, 500)
        self.window.show()
        activate(self.window, qtbot)
        self.popup = PalettePopup(self.window)
        self.chosen: list[str] = []
        self.left: list[bool] = []
        self.popup.chosen.connect(lambda item: item.choose())
        self.popup.left.connect(self.left.append)
        self.field = find(self.popup, QLineEdit, "paletteEdit")
        self.list = find(self.popup, QListView, "paletteHits")
        self._qtbot = qtbot

    def open(self, typed: str = "") -> None:
        modules = Source("Modules", SearchIndex(MODULES), partial(self._item, MODULES))
        commands = Source("Commands", SearchIndex(COMMANDS), partial(self._item, COMMANDS), ">")
        recent = Source("Recent", SearchIndex(MODULES[2:]), partial(self._item, MODULES[2:]))
        self.popup.open_at(QPoint(400, 60), (modules, commands), (recent,), typed)
        self.wait()

    def wait(self) -> None:
        self._qtbot.waitUntil(lambda: not self.popup.is_searching)

    def _item(self, texts: tuple[str, ...], number: int) -> Item:
        reason = "nothing to cancel" if texts[number].startswith("Cancel") else ""
        return Item(partial(self.chosen.append, texts[number]), "Ctrl+X", reason)

    @property
    def rows(self) -> list[HitRow]:
        model = self.list.model()
        return [model.index(n, 0).data(ROW_ROLE) for n in range(model.rowCount())]

    @property
    def current(self) -> str:
        row: HitRow = self.list.currentIndex().data(ROW_ROLE)
        return row.text

    def press(self, *keys: Qt.Key) -> None:
        for key in keys:
            self._qtbot.keyClick(self.field, key)


@pytest.fixture
def palette(qtbot: QtBot) -> PopupHarness:
    return PopupHarness(qtbot)


def test_keys_move_over_headings_and_choose(palette: PopupHarness) -> None:
    palette.open("attention")
    texts = [row.text for row in palette.rows]
    assert texts == ["Modules", *MODULES[:2], "Commands", *COMMANDS]
    assert palette.current == MODULES[0]
    assert palette.field.hasFocus()
    palette.press(Qt.Key.Key_Down, Qt.Key.Key_Tab)
    assert palette.current == COMMANDS[0]
    palette.press(Qt.Key.Key_Up, Qt.Key.Key_Backtab)
    assert palette.current == MODULES[0]
    palette.press(Qt.Key.Key_Up)
    assert palette.current == COMMANDS[1]
    assert palette.field.accessibleDescription() == f"{COMMANDS[1]}, nothing to cancel"
    # A command that is not available cannot be chosen.
    palette.press(Qt.Key.Key_Return)
    assert palette.popup.isVisible()
    assert palette.chosen == []
    palette.press(Qt.Key.Key_Home, Qt.Key.Key_Down, Qt.Key.Key_Return)
    assert palette.chosen == [MODULES[0]]
    assert palette.left == [True]
    assert not palette.popup.isVisible()


def test_a_click_chooses(palette: PopupHarness, qtbot: QtBot) -> None:
    palette.open("pool")
    place = palette.list.visualRect(palette.list.model().index(3, 0)).center()
    qtbot.mouseClick(palette.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert palette.chosen == ["pooler"]


def test_before_and_without_a_result(palette: PopupHarness, qtbot: QtBot) -> None:
    palette.open()
    assert [row.text for row in palette.rows] == ["Recent", "pooler"]
    qtbot.keyClicks(palette.field, "qqqq")
    palette.wait()
    assert palette.rows == []
    assert find(palette.popup, QLabel, "paletteNothing").isVisible()
    palette.press(Qt.Key.Key_Return, Qt.Key.Key_Down)
    assert palette.popup.isVisible()
    palette.press(Qt.Key.Key_Escape)
    assert (palette.left, palette.chosen) == ([True], [])


def test_a_change_of_focus_closes_it(palette: PopupHarness) -> None:
    other = QLineEdit(palette.window)
    other.show()
    palette.open("pool")
    other.setFocus()
    assert not palette.popup.isVisible()
    assert palette.left == [False]
    assert QApplication.focusWidget() is other


def test_it_stays_inside_the_window(palette: PopupHarness) -> None:
    palette.open("e")
    for width, height in ((500, 200), (900, 600)):
        palette.window.resize(width, height)
        palette.popup.fit()
        assert palette.window.rect().contains(palette.popup.geometry())


def test_results_are_drawn(palette: PopupHarness, image: Callable[[str, QWidget], None]) -> None:
    results = {
        # A match far behind is scrolled into view, a long name is cut at its beginning.
        f"Layers{SEPARATOR}{'many other words ' * 20}and token norms by layer": Item(list),
        f"Token norms{SEPARATOR}{'of every token in all states, ' * 5}": Item(list, "Ctrl+1"),
        f"{'encoder.' * 15}token.norms{SEPARATOR}Linear": Item(list),
        f"Show token norms{SEPARATOR}in a view": Item(list, "", "No sentence has been run yet"),
        "Token norms: Dark": Item(list, is_chosen=True),
    }
    items = list(results.values())
    source = Source("Commands", SearchIndex(tuple(results)), items.__getitem__)
    palette.popup.open_at(QPoint(400, 60), (source,), (), "token norms")
    palette.wait()
    assert len(palette.rows) == 1 + len(results)
    image("results", palette.list)
