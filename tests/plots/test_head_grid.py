"""The grid of heads: which is where, what it says, and thin lines that stay visible."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.plots.chart import HeadsChart, Place
from bertviewer.plots.head_grid import HeadGrid
from bertviewer.plots.theme import DARK, LIGHT, PlotTheme
from tests.plots.looking import HIGHEST, LOWEST, click, colors, colors_of, hover, leave


def chart(heads: int = 12, queries: int = 4, keys: int = 4) -> HeadsChart:
    """Each head's share goes to one key: its own number, as far as there are keys."""
    values = np.zeros((heads, queries, keys), dtype=np.float32)
    for head in range(heads):
        values[head, :, head % keys] = 1.0
    names = tuple(f"token {n}" for n in range(max(queries, keys)))
    captions = tuple(f"H {n}.5" for n in range(heads))
    return HeadsChart(values, captions, names[:queries], names[:keys])


@pytest.fixture
def grid(window: QWidget) -> HeadGrid:
    grid = HeadGrid(window)
    grid.resize(640, 320)
    grid.show()
    grid.show_chart(chart())
    return grid


def at(grid: HeadGrid, head: int, query: float, key: float) -> QPointF:
    """Return where a cell is; 0.5 is its middle."""
    assert grid.chart is not None
    _, rows, columns = grid.chart.values.shape
    rect = grid.head_rect(head)
    return rect.topLeft() + QPointF(rect.width() * key / columns, rect.height() * query / rows)


def color(grid: HeadGrid, head: int, query: float, key: float) -> str:
    return grid.grab().toImage().pixelColor(at(grid, head, query, key).toPoint()).name()


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
    assert grid.text_at(at(grid, 0, 0.5, 2.5)) == "head 0, query a, key z: 1"
    assert grid.text_at(at(grid, 0, 2.5, 0.5)) == "head 0, query c, key x: 0"


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
    grid.show_chart(chart(heads))
    assert not grid.grab().isNull()
    rects = [grid.head_rect(head) for head in range(heads)]
    for number, rect in enumerate(rects):
        assert rect.width() == pytest.approx(rect.height())
        assert not any(rect.intersects(other) for other in rects[number + 1 :])
        assert grid.place_at(rect.center()) == Place(head=number)
    if min(size) > 200:
        assert all(grid.rect().toRectF().contains(rect) for rect in rects)


def test_cells_are_squares_also_where_keys_are_more_than_queries(grid: HeadGrid) -> None:
    grid.show_chart(chart(6, queries=2, keys=8))
    rect = grid.head_rect(0)
    assert rect.width() == pytest.approx(4 * rect.height())
    assert color(grid, 5, 1.5, 5.5) == HIGHEST


def test_a_second_text_is_set_off(grid: HeadGrid) -> None:
    plain = grid.grab().toImage()
    grid.show_chart(replace(chart(), second_key=3, second_query=1))
    image = grid.grab().toImage()

    def is_changed(query: float, key: float) -> bool:
        point = at(grid, 5, query, key).toPoint()
        near = point.x() - 1, point.y() - 1, 3, 3
        return image.copy(*near) != plain.copy(*near)

    assert [is_changed(query, 0.5) for query in (1, 2, 3)] == [True, False, False]
    assert [is_changed(0.5, key) for key in (1, 2, 3)] == [False, False, True]


def test_a_neighbour_at_the_right_has_the_bar(grid: HeadGrid) -> None:
    taken, wide = grid.beside_cells(), grid.head_rect(0).width()
    grid.resize(300, 320)
    narrow = grid.head_rect(0).width()
    grid.share("right")
    assert grid.beside_cells() == 0 < taken
    assert grid.head_rect(0).width() > narrow
    # The last column of pixels of the bar's labels and the bar are gone.
    right = max(grid.head_rect(head).right() for head in range(12))
    rest = grid.grab().toImage().copy(int(right) + 4, 0, 300, 320)
    assert colors_of(rest) <= {LIGHT.background, "#000000"}
    grid.share("left")
    assert grid.beside_cells() == taken
    grid.resize(640, 320)
    assert grid.head_rect(0).width() == wide


def test_a_click_tells_the_head(grid: HeadGrid, qtbot: QtBot) -> None:
    with qtbot.waitSignal(grid.clicked, timeout=2000) as clicked:
        click(grid, at(grid, 7, 1.5, 1.5).toPoint())
    assert clicked.args == [Place(head=7)]
    with qtbot.waitSignal(grid.clicked, timeout=2000) as clicked:
        click(grid, (grid.head_rect(2).topLeft() + QPointF(8, -6)).toPoint())  # its title
    assert clicked.args == [Place(head=2)]
    told: list[Place] = []
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
    other = "head 6, query token 0, key token 1: 0"
    assert told == ["head 5, query token 3, key token 1: 1", other, "", other, ""]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_the_selected_head_is_framed(grid: HeadGrid, theme: PlotTheme) -> None:
    grid.set_theme(theme)
    before = grid.grab().toImage()

    def frame(head: int) -> str:
        left = grid.head_rect(head).topLeft() + QPointF(-2, 20)
        return grid.grab().toImage().pixelColor(left.toPoint()).name()

    assert frame(3) == theme.background
    grid.mark(Place("layer.0", head=3))
    assert frame(3) == theme.foreground
    assert frame(4) == theme.background
    grid.mark(Place(head=99))
    assert grid.grab().toImage() == before
    grid.mark(Place(token=3))
    assert frame(0) == theme.foreground


def test_a_thin_line_stays_visible(grid: HeadGrid) -> None:
    """A cell of 512 in a heatmap of some 100 pixels would be lost if pixels picked a cell."""
    for place in (0, 101, 257, 511):
        values = np.zeros((12, 512, 512), dtype=np.float32)
        values[:, :, place] = 1.0
        names = tuple(map(str, range(512)))
        grid.show_chart(HeadsChart(values, ("",) * 12, names, names))
        image = grid.grab().toImage()
        rect = grid.head_rect(5).toAlignedRect()
        assert rect.width() < 200
        row = image.copy(rect.x(), rect.center().y(), rect.width(), 1)
        assert HIGHEST in colors_of(row), place


def test_what_is_no_number_stays_empty(grid: HeadGrid) -> None:
    values = np.array([[[0.0, np.nan], [np.inf, 1.0]]])
    grid.show_chart(HeadsChart(values, ("",), ("a", "b"), ("c", "d")))
    assert color(grid, 0, 0.5, 1.5) == color(grid, 0, 1.5, 0.5) == LIGHT.background
    assert color(grid, 0, 1.5, 1.5) == HIGHEST
    assert grid.text_at(at(grid, 0, 0.5, 1.5)) == "head 0, query a, key d: nan"


def test_colours_begin_at_0(grid: HeadGrid) -> None:
    grid.show_chart(HeadsChart(np.array([[[0.25, 0.5]]]), ("",), ("a",), ("c", "d")))
    assert grid.levels == (0.0, 0.5)
    assert color(grid, 0, 0.5, 0.5) not in (LOWEST, HIGHEST)


def test_the_theme_changes_the_colours(grid: HeadGrid) -> None:
    assert {LIGHT.background, LIGHT.foreground} <= colors(grid)
    grid.set_theme(DARK)
    found = colors(grid)
    assert {DARK.background, DARK.foreground} <= found
    assert not {LIGHT.background, LIGHT.foreground} & found


def test_nothing_to_show(grid: HeadGrid) -> None:
    before = at(grid, 0, 0.5, 0.5)
    for empty in (None, chart(0), HeadsChart(np.zeros((2, 0, 0)), ("", ""), (), ())):
        grid.show_chart(empty)
        grid.mark(Place(head=0))
        assert colors(grid) == {LIGHT.background}
        assert grid.text_at(before) == ""
        assert grid.place_at(before) is None


def test_another_chart_is_drawn(grid: HeadGrid) -> None:
    assert color(grid, 0, 0.5, 0.5) == HIGHEST
    flipped: Sequence[HeadsChart] = [
        HeadsChart(1 - chart().values, chart().captions, chart().queries, chart().keys)
    ]
    grid.show_chart(flipped[0])
    assert color(grid, 0, 0.5, 0.5) == LOWEST


def test_differences_have_colours_about_0(grid: HeadGrid) -> None:
    values = np.array([[[-0.25, 0.5], [0.0, np.nan]]])
    grid.show_chart(HeadsChart(values, ("",), ("a", "b"), ("c", "d"), is_signed=True))
    assert grid.levels == (-0.5, 0.5)
    assert color(grid, 0, 0.5, 1.5) == LIGHT.diverging[-1]
    assert color(grid, 0, 1.5, 1.5) == LIGHT.background
    middle = QColor(color(grid, 0, 1.5, 0.5))
    assert middle.saturation() < 20


def test_a_decrease_stays_visible_too(grid: HeadGrid) -> None:
    values = np.zeros((12, 512, 512), dtype=np.float32)
    values[:, :, 100] = -1.0
    names = tuple(map(str, range(512)))
    grid.show_chart(HeadsChart(values, ("",) * 12, names, names, is_signed=True))
    rect = grid.head_rect(5).toAlignedRect()
    row = grid.grab().toImage().copy(rect.x(), rect.center().y(), rect.width(), 1)
    assert LIGHT.diverging[0] in colors_of(row)


def test_a_range_that_is_given(grid: HeadGrid) -> None:
    chart = HeadsChart(np.array([[[0.25, 0.5]]]), ("",), ("a",), ("c", "d"), levels=(0.0, 0.25))
    grid.show_chart(chart)
    assert grid.levels == (0.0, 0.25)
    assert color(grid, 0, 0.5, 0.5) == HIGHEST


def test_colours_of_square_roots(grid: HeadGrid) -> None:
    names = tuple("ab")
    shares = np.array([[[0.25, 0.01], [1.0, 0.0]]])
    plain = HeadsChart(shares, ("",), names, names)
    roots = replace(plain, is_root=True)
    grid.show_chart(replace(plain, values=np.sqrt(shares)))
    expected = [color(grid, 0, row, column) for row in (0.5, 1.5) for column in (0.5, 1.5)]
    grid.show_chart(roots)
    found = [color(grid, 0, row, column) for row in (0.5, 1.5) for column in (0.5, 1.5)]
    assert found == expected
    assert len(set(found)) == 4
    # What is told and taken along is the share itself.
    assert grid.text_at(at(grid, 0, 0.5, 1.5)) == "head 0, query a, key b: 0.01"
    assert roots.table() == plain.table()
    signed = HeadsChart(shares - 0.25, ("",), names, names, is_signed=True, is_root=True)
    grid.show_chart(signed)
    assert grid.levels == (-0.75, 0.75)
    rise, fall = QColor(color(grid, 0, 1.5, 0.5)), QColor(color(grid, 0, 1.5, 1.5))
    assert rise.red() > rise.blue()
    assert fall.blue() > fall.red()


def test_captions_come_and_go_with_the_room(grid: HeadGrid) -> None:
    def drawn() -> QImage:
        return grid.grab().toImage()

    def without() -> HeadsChart:
        shown = chart()
        return HeadsChart(shown.values, ("",) * 12, shown.queries, shown.keys)

    for size, is_shown in (((900, 500), True), ((560, 300), True), ((200, 150), False)):
        grid.resize(*size)
        grid.show_chart(chart())
        with_captions = drawn()
        grid.show_chart(without())
        assert (drawn() != with_captions) == is_shown, size
