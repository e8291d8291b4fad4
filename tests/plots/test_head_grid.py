"""Grids of attention heads: layout, colours, captions, mouse and keys."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import HeadsChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import DARK, LIGHT, Theme
from bertviewer.plots.head_grid import HeadGrid, HeadLayout, Words, lay_out_heads
from tests.plots.looking import HIGHEST, click, colors_of, grab, hover, leave, press, sheet

WORDS = Words(name_width=50, name_height=15, caption_width=64, caption_height=13)


def one_key_each(heads: int = 12, queries: int = 4, keys: int = 4) -> HeadsChart:
    """Return heads whose attention is on one key: their own number, modulo the keys."""
    values = np.zeros((heads, queries, keys), dtype=np.float32)
    for head in range(heads):
        values[head, :, head % keys] = 1.0
    names = tuple(f"token {n}" for n in range(max(queries, keys)))
    captions = tuple(f"H {n}.5" for n in range(heads))
    return HeadsChart(values, captions, names[:queries], names[:keys])


def lines_at(place: int, value: float = 1.0) -> HeadsChart:
    """Return twelve heads of 512 tokens with all weight on one key."""
    values = np.zeros((12, 512, 512), dtype=np.float32)
    values[:, :, place] = value
    names = tuple(map(str, range(512)))
    return HeadsChart(values, ("",) * 12, names, names, is_signed=value < 0)


@pytest.fixture
def grid(window: QWidget) -> HeadGrid:
    grid = HeadGrid(window)
    grid.resize(640, 320)
    grid.show()
    grid.show_chart(one_key_each())
    return grid


def at(grid: HeadGrid, head: int, query: float, key: float) -> QPointF:
    """Return the position of a cell; 0.5 is its middle."""
    assert grid.chart is not None
    _, rows, columns = grid.chart.values.shape
    rect = grid.head_rect(head)
    return rect.topLeft() + QPointF(rect.width() * key / columns, rect.height() * query / rows)


def picture(grid: HeadGrid) -> QImage:
    """Return the complete picture; paint events draw large heads one by one."""
    image = QImage(grid.size(), QImage.Format.Format_RGB32)
    painter = QPainter(image)
    grid.draw_on(painter)
    painter.end()
    return image


# Images.


def test_heads_captions_masks_and_frames(
    window: QWidget, image: Callable[[str, Any], None]
) -> None:
    def drawn(
        chart: HeadsChart,
        head: int = 0,
        *,
        theme: Theme = LIGHT,
        size: tuple[int, int] = (260, 160),
    ) -> QImage:
        grid = HeadGrid(window)
        grid.resize(*size)
        grid.set_theme(theme)
        grid.show_chart(chart)
        grid.mark(SelectionKey(head=head))
        return picture(grid)

    later = np.broadcast_to(np.triu(np.ones((4, 4), dtype=np.bool_), 1), (6, 4, 4))
    shares = np.array([[[0.25, 0.01, np.nan], [1.0, np.inf, 0.0]]])
    two, three = ("a", "b"), ("c", "d", "e")
    changes = np.array([[[-0.5, 0.5]], [[-0.01, 0.01]]])
    own = ((-0.5, 0.5), (-0.01, 0.01))
    each = HeadsChart(changes, ("±0.5", "±0.01"), ("a",), ("c", "d"), is_signed=True)
    layouts = sheet(
        drawn(one_key_each(), 3),
        drawn(one_key_each(), 99, theme=DARK),  # the last one where there are fewer
        drawn(one_key_each(6, queries=2, keys=8)),
        drawn(replace(one_key_each(6), masked=later), 5),
        drawn(replace(one_key_each(4), key_starts=(3,), query_starts=(1,))),
        drawn(one_key_each(40)),
    )
    image("heads", layouts)
    named = replace(
        one_key_each(5, 6, 6),
        query_labels=("[CLS]", "the", "##ing", "中文", "a" * 40, "[SEP]"),
        key_labels=("[CLS]", "the", "##ing", "中文", "a" * 40, "[SEP]"),
    )
    labels = sheet(
        drawn(named, size=(420, 300)),
        drawn(named, size=(260, 160), theme=DARK),  # no room for labels
        drawn(replace(named, captions=("",) * 5), size=(300, 260)),
    )
    image("labels of tokens", labels)
    colours = sheet(
        drawn(HeadsChart(shares, ("",), two, three)),  # no colour for what is not finite
        drawn(HeadsChart(shares, ("",), two, three, is_root=True)),
        drawn(HeadsChart(shares - 0.25, ("",), two, three, is_signed=True, is_root=True)),
        drawn(one_key_each(2), size=(260, 120)),
        drawn(each),
        drawn(replace(each, levels=(-1.0, 1.0), head_levels=own)),
    )
    image("colours of heads", colours)


@pytest.mark.parametrize("value", [1.0, -1.0])
def test_a_thin_line_stays_visible(grid: HeadGrid, value: float) -> None:
    # A heatmap of some 100 pixels would lose a cell of 512 if pixels picked one.
    wanted = HIGHEST if value > 0 else LIGHT.diverging[0]
    for place in (0, 101, 257, 511):
        grid.show_chart(lines_at(place, value))
        rect = grid.head_rect(5).toAlignedRect()
        assert rect.width() < 200
        row = picture(grid).copy(rect.x(), rect.center().y(), rect.width(), 1)
        assert wanted in colors_of(row), place


def test_large_heads_are_drawn_in_several_paint_events(grid: HeadGrid, qtbot: QtBot) -> None:
    grid.show_chart(replace(lines_at(5), levels=(0.0, 1.0)))
    whole = picture(grid)
    grid.set_theme(grid.theme)  # clears the images
    assert grid.grab().toImage().convertToFormat(whole.format()) != whole
    qtbot.waitUntil(lambda: grid.grab().toImage().convertToFormat(whole.format()) == whole)


def test_levels_begin_at_0_or_are_symmetric_or_given(grid: HeadGrid) -> None:
    def levels(values: list[float], **options: Any) -> tuple[float, float]:
        grid.show_chart(HeadsChart(np.array([[values]]), ("",), ("a",), ("c", "d"), **options))
        return grid.levels

    assert levels([0.25, 0.5]) == (0.0, 0.5)
    assert levels([-0.25, 0.5], is_signed=True) == (-0.5, 0.5)
    assert levels([0.25, 0.5], levels=(0.0, 0.25)) == (0.0, 0.25)


# Layout.


def laid_out(width: float, height: float, words: Words = WORDS) -> HeadLayout:
    return lay_out_heads((12, 10, 10), width, height, words)


def test_captions_are_beside_names_or_below_them_or_omitted() -> None:
    wide, low, small = laid_out(900, 600), laid_out(500, 240), laid_out(300, 200)
    assert (wide.captions, low.captions, small.captions) == ("beside", "below", "")
    assert wide.has_names
    assert wide.rects[0].width() >= WORDS.name_width + WORDS.caption_width
    assert low.rects[0].width() >= WORDS.caption_width
    assert low.rects[0].top() >= low.title_height >= WORDS.name_height + WORDS.caption_height
    # Heatmaps are not made smaller for captions.
    assert small.rects == laid_out(300, 200, Words(50, 15, 0, 13)).rects
    assert not laid_out(120, 100).has_names


@pytest.mark.parametrize("size", [(540, 300), (320, 190), (200, 500)])
def test_heads_use_the_whole_width_or_height(size: tuple[int, int]) -> None:
    for heads in (1, 2, 4, 6, 8, 12, 16):
        bounds = lay_out_heads((heads, 10, 10), *size, WORDS).bounds
        ends = bounds.right(), bounds.bottom()
        assert max(end - whole for end, whole in zip(ends, size, strict=True)) == pytest.approx(-6)


@pytest.mark.parametrize("size", [(900, 200), (300, 300), (200, 900)])
@pytest.mark.parametrize("shape", [(1, 10, 10), (12, 5, 20), (12, 20, 5)])
def test_cells_are_squares(shape: tuple[int, int, int], size: tuple[int, int]) -> None:
    _, rows, columns = shape
    rect = lay_out_heads(shape, *size, WORDS).rects[0]
    assert (rect.width() / columns) / (rect.height() / rows) == pytest.approx(1)


@pytest.mark.parametrize(
    ("heads", "size"), [(1, (300, 200)), (16, (900, 300)), (12, (161, 121)), (13, (200, 900))]
)
def test_heads_do_not_overlap(grid: HeadGrid, heads: int, size: tuple[int, int]) -> None:
    grid.resize(*size)
    grid.show_chart(one_key_each(heads))
    rects = [grid.head_rect(head) for head in range(heads)]
    for number, rect in enumerate(rects):
        assert rect.size() == rects[0].size()
        assert not any(rect.intersects(other) for other in rects[number + 1 :])
        assert grid.key_at(rect.center()) == SelectionKey(head=number)
    if min(size) > 200:
        assert all(grid.rect().toRectF().contains(rect) for rect in rects)


def test_a_neighbour_at_the_right_has_the_colour_bar(grid: HeadGrid) -> None:
    def area(rect: QRectF) -> float:
        return rect.width() * rect.height()

    grid.resize(300, 320)
    taken, narrow = grid.reserved_width(), area(grid.head_rect(0))
    grid.share("right")
    assert grid.reserved_width() == 0 < taken
    assert area(grid.head_rect(0)) > narrow
    assert grid.color_bar is None
    grid.share("left")
    assert grid.reserved_width() == taken


def test_a_signal_reports_whether_there_is_room_for_captions(grid: HeadGrid) -> None:
    received = [grid.has_captions]
    grid.captions_changed.connect(lambda: received.append(grid.has_captions))
    for size in ((150, 120), (160, 130), (640, 320)):
        grid.resize(*size)
    assert received == [True, False, True]


def test_charts_without_cells_draw_nothing(grid: HeadGrid) -> None:
    for empty in (one_key_each(0), HeadsChart(np.zeros((2, 0, 0)), ("", ""), (), ())):
        grid.show_chart(empty)
        assert colors_of(grab(grid, 200, 100)) == {LIGHT.surface}


# Mouse and keys.


def test_texts_of_cells(grid: HeadGrid) -> None:
    values = np.array([[[0.0, 0.01, np.nan]], [[np.inf, 1.0, 0.0]]])
    masked = np.zeros((2, 1, 3), dtype=np.bool_)
    masked[1, 0, 2] = True
    grid.show_chart(HeadsChart(values, ("", ""), ("a",), tuple("xyz"), masked=masked, is_root=True))
    assert grid.text_at(at(grid, 0, 0.5, 1.5)) == "head 0, query a → key y: 0.01"
    assert grid.text_at(at(grid, 0, 0.5, 2.5)) == "head 0, query a → key z: nan"
    assert grid.text_at(at(grid, 1, 0.5, 2.5)) == "head 1, query a → key z: masked"


def test_hovering_describes_the_cell(grid: HeadGrid) -> None:
    received: list[str] = []
    grid.hovered.connect(received.append)
    hover(grid, at(grid, 5, 3.5, 1.5).toPoint())
    hover(grid, at(grid, 6, 0.5, 1.5).toPoint())
    hover(grid, QPoint(1, 1))
    leave(grid)
    other = "head 6, query token 0 → key token 1: 0"
    assert received == ["head 5, query token 3 → key token 1: 1", other, "", ""]


def test_a_click_on_a_head_or_its_title_selects_it(grid: HeadGrid) -> None:
    received: list[SelectionKey] = []
    grid.clicked.connect(received.append)
    click(grid, at(grid, 7, 1.5, 1.5).toPoint())
    click(grid, (grid.head_rect(2).topLeft() + QPointF(8, -6)).toPoint())
    click(grid, QPoint(grid.width() - 2, grid.height() - 2))
    assert received == [SelectionKey(head=7), SelectionKey(head=2)]


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
        (99, Qt.Key.Key_Left, 10),  # of a layer that has fewer heads than another
    ],
)
def test_keys_go_from_head_to_head(
    grid: HeadGrid, start: int, key: Qt.Key, head: int | None
) -> None:
    # Six in a row.
    assert grid.head_rect(5).y() == grid.head_rect(0).y() < grid.head_rect(6).y()
    grid.mark(SelectionKey(head=start))
    received: list[SelectionKey] = []
    texts: list[str] = []
    grid.clicked.connect(received.append)
    grid.reached.connect(lambda text, _at: texts.append(text))
    press(grid, key)
    assert received == ([] if head is None else [SelectionKey(head=head)])
    assert texts == ([] if head is None else [f"head {head} · H {head}.5"])
