"""The grid of heads: which is where, and what it says."""

import io

import numpy as np
import pypdf
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import HeadsChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import DARK, LIGHT, Theme
from bertviewer.plots import export
from bertviewer.plots.head_grid import HeadGrid
from tests.plots.heads import at, color, head_grid_in, one_key_each
from tests.plots.looking import HIGHEST, LOWEST, click, colors, colors_of, hover, leave


@pytest.fixture
def grid(window: QWidget) -> HeadGrid:
    return head_grid_in(window)


def area(rect: QRectF) -> float:
    return rect.width() * rect.height()


def test_every_head_has_its_cells(grid: HeadGrid) -> None:
    for head in range(12):
        for key in range(4):
            expected = HIGHEST if key == head % 4 else LOWEST
            assert color(grid, head, 1.5, key + 0.5) == expected, (head, key)


def test_query_0_is_at_the_top(grid: HeadGrid) -> None:
    values = np.zeros((1, 3, 3))
    values[0, 0, 2] = 1
    grid.show_chart(HeadsChart(values, ("",), tuple("abc"), tuple("xyz")))
    assert color(grid, 0, 0.5, 2.5) == HIGHEST
    assert grid.text_at(at(grid, 0, 0.5, 2.5)) == "head 0, query a → key z: 1"
    assert grid.text_at(at(grid, 0, 2.5, 0.5)) == "head 0, query c → key x: 0"


@pytest.mark.parametrize(
    ("heads", "size"),
    [
        (1, (300, 200)),
        (12, (640, 320)),
        (16, (900, 300)),
        (64, (500, 500)),
        (12, (161, 121)),
        (13, (200, 900)),
    ],
)
def test_heads_stand_apart_and_inside(grid: HeadGrid, heads: int, size: tuple[int, int]) -> None:
    grid.resize(*size)
    grid.show_chart(one_key_each(heads))
    assert not grid.grab().isNull()
    rects = [grid.head_rect(head) for head in range(heads)]
    for number, rect in enumerate(rects):
        assert rect.size() == rects[0].size()
        assert not any(rect.intersects(other) for other in rects[number + 1 :])
        assert grid.key_at(rect.center()) == SelectionKey(head=number)
    if min(size) > 200:
        assert all(grid.rect().toRectF().contains(rect) for rect in rects)


def test_keys_may_be_more_than_queries(grid: HeadGrid) -> None:
    grid.show_chart(one_key_each(6, queries=2, keys=8))
    rect = grid.head_rect(0)
    assert rect.width() >= 4 * rect.height() - 1e-9
    assert color(grid, 5, 1.5, 5.5) == HIGHEST


@pytest.mark.parametrize(
    ("start", "key", "head"),
    [
        (0, Qt.Key.Key_Right, 1),
        (5, Qt.Key.Key_Left, 4),
        (1, Qt.Key.Key_Down, 7),
        (8, Qt.Key.Key_Up, 2),
        (3, Qt.Key.Key_End, 11),
        (3, Qt.Key.Key_Home, 0),
        (0, Qt.Key.Key_Left, None),
        (10, Qt.Key.Key_Down, None),
        (99, Qt.Key.Key_Left, 10),
        (3, Qt.Key.Key_A, None),
    ],
)
def test_heads_are_gone_to_by_keys(
    grid: HeadGrid, qtbot: QtBot, start: int, key: Qt.Key, head: int | None
) -> None:
    # Six in a row.
    assert grid.head_rect(5).y() == grid.head_rect(0).y() < grid.head_rect(6).y()
    grid.mark(SelectionKey(head=start))
    told: list[SelectionKey] = []
    grid.clicked.connect(told.append)
    qtbot.keyClick(grid, key)
    assert told == ([] if head is None else [SelectionKey(head=head)])


def test_a_second_text_is_set_off(grid: HeadGrid) -> None:
    plain = grid.grab().toImage()
    grid.show_chart(replace(one_key_each(), key_starts=(3,), query_starts=(1,)))
    image = grid.grab().toImage()

    def is_changed(query: float, key: float) -> bool:
        point = at(grid, 5, query, key).toPoint()
        near = point.x() - 1, point.y() - 1, 3, 3
        return image.copy(*near) != plain.copy(*near)

    assert [is_changed(query, 0.5) for query in (1, 2, 3)] == [True, False, False]
    assert [is_changed(0.5, key) for key in (1, 2, 3)] == [False, False, True]


def test_a_neighbour_at_the_right_has_the_bar(grid: HeadGrid) -> None:
    taken, wide = grid.reserved_width(), grid.head_rect(0).width()
    grid.resize(300, 320)
    narrow = area(grid.head_rect(0))
    grid.share("right")
    assert grid.reserved_width() == 0 < taken
    assert area(grid.head_rect(0)) > narrow
    # The last column of pixels of the bar's labels and the bar are gone.
    right = max(grid.head_rect(head).right() for head in range(12))
    rest = grid.grab().toImage().copy(int(right) + 4, 0, 300, 320)
    assert colors_of(rest) <= {LIGHT.surface, "#000000"}
    grid.share("left")
    assert grid.reserved_width() == taken
    grid.resize(640, 320)
    assert grid.head_rect(0).width() == wide


def test_a_click_tells_the_head(grid: HeadGrid, qtbot: QtBot) -> None:
    with qtbot.waitSignal(grid.clicked) as clicked:
        click(grid, at(grid, 7, 1.5, 1.5).toPoint())
    assert clicked.args == [SelectionKey(head=7)]
    with qtbot.waitSignal(grid.clicked) as clicked:
        click(grid, (grid.head_rect(2).topLeft() + QPointF(8, -6)).toPoint())  # its title
    assert clicked.args == [SelectionKey(head=2)]
    told: list[SelectionKey] = []
    grid.clicked.connect(told.append)
    click(grid, QPoint(grid.width() - 2, grid.height() - 2))
    click(grid, at(grid, 7, 1.5, 1.5).toPoint(), Qt.MouseButton.RightButton)
    assert told == []


def test_hovering_tells_the_cell(grid: HeadGrid) -> None:
    told: list[str] = []
    grid.hovered.connect(told.append)
    hover(grid, at(grid, 5, 3.5, 1.5).toPoint())
    hover(grid, at(grid, 6, 0.5, 1.5).toPoint())
    hover(grid, QPoint(1, 1))
    hover(grid, at(grid, 6, 0.5, 1.5).toPoint())
    leave(grid)
    other = "head 6, query token 0 → key token 1: 0"
    assert told == ["head 5, query token 3 → key token 1: 1", other, "", other, ""]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_the_selected_head_is_framed(grid: HeadGrid, theme: Theme) -> None:
    grid.set_theme(theme)

    def frame(head: int) -> str:
        left = grid.head_rect(head).topLeft() + QPointF(-2, 20)
        return grid.grab().toImage().pixelColor(left.toPoint()).name()

    assert frame(3) == theme.surface
    grid.mark(SelectionKey("layer.0", head=3))
    assert frame(3) == theme.text
    assert frame(4) == theme.surface
    # As the large one is, of a layer that has fewer heads than another.
    grid.mark(SelectionKey(head=99))
    assert frame(11) == theme.text
    grid.mark(SelectionKey(token=3))
    assert frame(0) == theme.text


def test_that_keys_go_to_it_is_seen(window: QWidget, grid: HeadGrid, qtbot: QtBot) -> None:
    other = QLineEdit(window)
    other.show()
    with qtbot.waitActive(window):
        window.activateWindow()
    other.setFocus()
    calm = grid.grab().toImage()
    qtbot.keyClick(other, Qt.Key.Key_Tab)
    assert grid.hasFocus()
    seen = grid.grab().toImage()
    assert seen.pixelColor(0, 100) != calm.pixelColor(0, 100)
    inside = grid.rect().adjusted(2, 2, -2, -2)
    assert seen.copy(inside) == calm.copy(inside), "colours stay those of their values"
    qtbot.keyClick(grid, Qt.Key.Key_Tab)
    assert other.hasFocus()
    assert grid.grab().toImage() == calm


def test_nothing_to_show(grid: HeadGrid) -> None:
    before = at(grid, 0, 0.5, 0.5)
    for empty in (None, one_key_each(0), HeadsChart(np.zeros((2, 0, 0)), ("", ""), (), ())):
        grid.show_chart(empty)
        grid.mark(SelectionKey(head=0))
        assert colors(grid) == {LIGHT.surface}
        assert grid.text_at(before) == ""
        assert grid.key_at(before) is None


def test_another_chart_is_drawn(grid: HeadGrid) -> None:
    assert color(grid, 0, 0.5, 0.5) == HIGHEST
    shown = one_key_each()
    grid.show_chart(replace(shown, values=1 - np.asarray(shown.values)))
    assert color(grid, 0, 0.5, 0.5) == LOWEST


def test_captions_come_and_go_with_the_room(grid: HeadGrid) -> None:
    def drawn() -> QImage:
        return grid.grab().toImage()

    def without() -> HeadsChart:
        shown = one_key_each()
        return HeadsChart(shown.values, ("",) * 12, shown.queries, shown.keys)

    for size, is_shown in (((900, 500), True), ((560, 300), True), ((200, 150), False)):
        grid.resize(*size)
        grid.show_chart(one_key_each())
        with_captions = drawn()
        grid.show_chart(without())
        assert (drawn() != with_captions) == is_shown, size


def test_masked_cells_are_hatched_and_said_to_be(grid: HeadGrid) -> None:
    later = np.broadcast_to(np.triu(np.ones((4, 4), dtype=np.bool_), 1), (12, 4, 4))
    room = grid.reserved_width()
    grid.show_chart(replace(one_key_each(), masked=later))
    cell = at(grid, 5, 0.5, 2.5).toPoint()
    near = colors_of(grid.grab().toImage().copy(cell.x() - 6, cell.y() - 6, 12, 12))
    assert LOWEST not in near
    assert LIGHT.surface in near
    assert color(grid, 5, 2.5, 0.5) == LOWEST
    assert grid.text_at(at(grid, 5, 0.5, 2.5)) == "head 5, query token 0 → key token 2: masked"
    assert grid.reserved_width() >= room
    assert "masked" in pypdf.PdfReader(io.BytesIO(export.pdf(grid))).pages[0].extract_text()


def test_it_is_told_whether_there_is_room_for_captions(grid: HeadGrid) -> None:
    told = [grid.has_captions]
    grid.captions_changed.connect(lambda: told.append(grid.has_captions))
    for size in ((150, 120), (160, 130), (640, 320)):
        grid.resize(*size)
    assert told == [True, False, True]
