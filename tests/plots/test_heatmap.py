"""Heatmaps: which cell is where, its colour and description, marks, labels, mouse and keys."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.change_grid import CellNote, MarkedGrid
from bertviewer.charts.chart import GridChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.tensor_charts import map_chart
from bertviewer.charts.theme import DARK, LIGHT, Theme
from bertviewer.charts.token_charts import norms_chart
from bertviewer.core.tensors.reduction import tensor_map
from bertviewer.core.util.text import isolated
from bertviewer.plots.canvas_plot import Point, Side
from bertviewer.plots.export import svg
from bertviewer.plots.heatmap import Heatmap, next_cell
from bertviewer.plots.region_heatmap import RegionHeatmap
from tests.charts.runs import make_run
from tests.core.tensors.made_up import matrix
from tests.plots.grids import grid_in, square
from tests.plots.looking import (
    HIGHEST,
    LOWEST,
    box,
    click,
    color,
    colors,
    colors_of,
    hover,
    leave,
    pixel,
    position,
)
from tests.plots.test_svg import texts

VALUES = [[0.0, 0.125, 0.25], [1.0, 1.125, 1.25], [2.0, 2.125, 2.25]]


@pytest.fixture
def plot(window: QWidget) -> Heatmap:
    return grid_in(window)


def words(plot: Heatmap) -> list[str]:
    """Return the texts that are drawn."""
    return texts(svg(plot).decode())


def test_descriptions_of_cells(plot: Heatmap) -> None:
    for x, y, text in (
        (0.5, 0.5, "embeddings, [CLS] (token 0): 1"),
        (1.5, 0.02, "embeddings, it's (token 1): 1.25"),
        (1.02, 1.5, "layer 0, it's (token 1): 2.123457"),
        (2.98, 2.98, "layer 1, [SEP] (token 2): 9"),
        (0.02, 2.02, "layer 1, [CLS] (token 0): 3"),
        (-0.02, 0.5, ""),
        (3.02, 0.5, ""),
        (0.5, -0.02, ""),
        (0.5, 3.02, ""),
    ):
        assert plot.text_at(position(plot, x, y)) == text, (x, y)


def test_hovering_describes_the_cell(plot: Heatmap) -> None:
    told: list[str] = []
    plot.hovered.connect(told.append)
    for place in (pixel(plot, 2.5, 2.5), pixel(plot, 0.5, 0.5), QPoint(3, 3)):
        hover(plot, place)
    leave(plot)
    first = "embeddings, [CLS] (token 0): 1"
    assert told == ["layer 1, [SEP] (token 2): 9", first, "", ""]


def test_a_click_selects_row_and_column(plot: Heatmap) -> None:
    told: list[SelectionKey] = []
    plot.clicked.connect(told.append)
    chart = norms_chart(make_run())
    plot.show_chart(replace(chart, row_keys=tuple(SelectionKey(f"layer.{n}") for n in range(3))))
    click(plot, pixel(plot, 1.5, 2.5))
    click(plot, pixel(plot, 3.2, 1.5))
    click(plot, pixel(plot, 1.5, 2.5), Qt.MouseButton.RightButton)
    plot.show_chart(replace(chart, row_keys=(), column_keys=()))
    click(plot, pixel(plot, 1.5, 2.5))
    assert told == [SelectionKey("layer.2", token=1)]
    plot.show_chart(square([[1.0, 2.0, 3.0]] * 3))
    assert plot.key_at(position(plot, 0.5, 2.5)) == SelectionKey(token=2)


def test_row_0_is_at_the_bottom_or_at_the_top(plot: Heatmap) -> None:
    assert pixel(plot, 0.5, 0.5).y() > pixel(plot, 0.5, 2.5).y()
    assert color(plot, 0.5, 0.5) == LOWEST
    assert color(plot, 2.5, 2.5) == HIGHEST
    assert color(plot, 0.5, 2.5) not in (LOWEST, HIGHEST, LIGHT.surface)
    plot.show_chart(square([[0.0, 1.0], [2.0, 3.0]]))
    assert pixel(plot, 0.5, 0.5).y() < pixel(plot, 0.5, 1.5).y()
    assert (color(plot, 0.5, 0.5), color(plot, 1.5, 1.5)) == (LOWEST, HIGHEST)
    assert plot.text_at(position(plot, 0.5, 1.5)) == "t1, t0: 2"


def test_a_missing_value_stays_empty(plot: Heatmap) -> None:
    plot.show_chart(norms_chart(make_run(norms=((1.0, 2.0, 3.0), (None, 4.0, None)))))
    assert color(plot, 0.5, 1.5) == LIGHT.surface
    assert color(plot, 1.5, 1.5) == HIGHEST
    assert plot.text_at(position(plot, 0.5, 1.5)) == "layer 0, [CLS] (token 0): nan"
    plot.show_chart(square([[float("nan")]]))
    assert color(plot, 0.5, 0.5) == LIGHT.surface


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_signed_colours_are_symmetric_about_0(plot: Heatmap, theme: Theme) -> None:
    plot.set_theme(theme)
    plot.show_chart(square([[-2.0, 0.0, 1.0], [-1.0, float("nan"), 0.0], [0.5, -0.5, 0.0]], True))
    assert plot.levels == (-2.0, 2.0)
    assert color(plot, 0.5, 0.5) == theme.diverging[0]
    zero = color(plot, 1.5, 0.5)
    assert zero == color(plot, 2.5, 1.5) == color(plot, 2.5, 2.5)
    # Almost the background, but no empty cell.
    assert zero != color(plot, 1.5, 1.5) == theme.surface
    assert abs(QColor(zero).lightness() - QColor(theme.surface).lightness()) < 40
    minus, plus = QColor(color(plot, 0.5, 1.5)), QColor(color(plot, 2.5, 0.5))
    assert minus.blue() > minus.red()
    assert plus.red() > plus.blue()


def test_a_range_that_is_given(plot: Heatmap) -> None:
    chart = replace(square([[1.0, 2.0], [3.0, 4.0]]), levels=(0.0, 8.0))
    plot.show_chart(chart)
    assert plot.levels == (0.0, 8.0)
    assert color(plot, 0.5, 0.5) != LOWEST
    assert color(plot, 1.5, 1.5) != HIGHEST
    plot.show_chart(replace(chart, levels=(2.0, 3.0)))
    assert (color(plot, 0.5, 0.5), color(plot, 1.5, 1.5)) == (LOWEST, HIGHEST)


def test_colours_of_square_roots(plot: Heatmap) -> None:
    chart = replace(square([[0.25, -0.015625], [0.0625, -1.0]], True), is_root=True)
    plot.show_chart(square([[0.5, -0.125], [0.25, -1.0]], True))
    cells = [(0.5, 0.5), (1.5, 0.5), (0.5, 1.5), (1.5, 1.5)]
    expected = [color(plot, *cell) for cell in cells]
    plot.show_chart(chart)
    assert [color(plot, *cell) for cell in cells] == expected
    assert plot.text_at(position(plot, 0.5, 0.5)) == "t0, t0: 0.25"


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_a_line_separates_texts(plot: Heatmap, theme: Theme) -> None:
    def near(x: float, y: float) -> set[str]:
        place = QRect(0, 0, 5, 5)
        place.moveCenter(pixel(plot, x, y))
        return colors_of(plot.grab().toImage().copy(place))

    plot.set_theme(theme)
    chart = square([[1.0] * 4] * 4)
    plot.show_chart(chart)
    plain = plot.grab().toImage()
    plot.show_chart(replace(chart, column_starts=(1,), row_starts=(3,)))
    assert theme.muted in near(2.5, 3.0) & near(1.0, 2.5)
    assert theme.muted not in near(2.5, 1.0) | near(3.0, 2.5)
    # A text that begins at an end is not separated.
    plot.show_chart(replace(chart, column_starts=(0,), row_starts=(4,)))
    assert plot.grab().toImage() == plain


def test_a_neighbour_has_the_title_or_the_bar(plot: Heatmap) -> None:
    chart = replace(norms_chart(make_run()), value_title="B · Norm")

    def shown(side: Side | None) -> tuple[bool, str | None, float]:
        plot.share(side, "Norm")
        plot.show_chart(chart)
        bar = plot.color_bar
        return box(plot).left() > 40, None if bar is None else bar.title, box(plot).width()

    has_title, title, alone = shown(None)
    assert (has_title, title) == (True, "B · Norm")
    taken = plot.reserved_width()
    for side, expected in (("left", (False, "Norm")), ("right", (True, None))):
        has_title, title, wide = shown(side)  # type: ignore[arg-type]
        assert (has_title, title) == expected
        assert wide - alone == pytest.approx(taken - plot.reserved_width(), abs=1)
    assert shown(None)[2] == alone


def test_the_theme_and_another_chart_replace_everything(plot: Heatmap) -> None:
    before = plot.grab().toImage()
    plot.set_theme(DARK)
    assert LIGHT.surface not in colors(plot)
    assert color(plot, 2.5, 2.5) == HIGHEST
    plot.show_chart(norms_chart(make_run(["a", "b"], [[1.0, 2.0]] * 5)))
    assert plot.levels == (1.0, 2.0)
    assert plot.text_at(position(plot, 1.5, 4.5)) == "layer 3, b (token 1): 2"
    plot.set_theme(LIGHT)
    plot.show_chart(norms_chart(make_run()))
    assert plot.grab().toImage() == before


def test_nothing_to_show(plot: Heatmap) -> None:
    before = position(plot, 1.5, 1.5)
    for empty in (None, norms_chart(make_run(norms=())), norms_chart(make_run((), ()))):
        plot.show_chart(empty)
        plot.mark(SelectionKey(token=0))
        QTest.keyClick(plot, Qt.Key.Key_Down)
        assert plot.text_at(before) == ""
        assert plot.key_at(before) is None
        assert colors(plot) == {LIGHT.surface}


def test_one_cell(plot: Heatmap) -> None:
    plot.show_chart(square([[3.0]]))
    plot.mark(SelectionKey(token=0))
    assert color(plot, 0.5, 0.5) not in (LIGHT.surface, LIGHT.text)
    assert plot.levels[0] < 3 < plot.levels[1]


# Frames.


def test_frames(plot: Heatmap) -> None:
    chart = norms_chart(make_run())
    plot.show_chart(replace(chart, row_keys=tuple(SelectionKey(f"layer.{n}") for n in range(3))))
    row, column = (1, 0, 1, 3), (0, 2, 3, 1)
    for selection, thin, thick in (
        (SelectionKey("layer.1"), [row], []),
        (SelectionKey("layer.1.output"), [row], []),
        (SelectionKey(token=2), [column], []),
        (SelectionKey("layer.1", token=2), [row, column], [(1, 2, 1, 1)]),
        (SelectionKey("pooler", token=7), [], []),
        (SelectionKey(), [], []),
    ):
        plot.mark(selection)
        assert plot.framed_cells() == (thin, thick), selection


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_a_frame_is_around_its_cells_and_not_on_them(plot: Heatmap, theme: Theme) -> None:
    plot.set_theme(theme)
    plot.show_chart(square([[0.0, 1.0, 2.0]] * 3))
    before = plot.grab().toImage()
    plot.mark(SelectionKey(token=1))
    after = plot.grab().toImage()
    middle, corner = pixel(plot, 1.5, 1.5), pixel(plot, 1, 1)
    assert before.pixelColor(middle) == after.pixelColor(middle)
    near = after.copy(corner.x() - 5, corner.y() - 5, 7, 7)
    assert {theme.text, theme.surface} <= colors_of(near)
    plot.mark(SelectionKey())
    assert plot.grab().toImage() == before


def test_the_last_of_many_is_framed_inside_of_the_plot(plot: Heatmap) -> None:
    plot.show_chart(square(np.eye(400).tolist()))
    before = plot.grab().toImage()
    plot.mark(SelectionKey(token=399))
    after = plot.grab().toImage()
    rect, y = box(plot), int(box(plot).center().y()) + 20
    width = range(after.width())
    changed = [x for x in width if before.pixelColor(x, y) != after.pixelColor(x, y)]
    assert rect.right() - 8 <= min(changed) <= max(changed) <= rect.right() + 1


def test_pairs(window: QWidget) -> None:
    plot = Heatmap(window, selects_pairs=True)
    plot.resize(400, 300)
    plot.show_chart(replace(square([[1.0] * 4] * 4), row_keys=()))
    told: list[object] = []
    plot.paired.connect(lambda row, column: told.append((row, column)))
    plot.clicked.connect(told.append)
    click(plot, pixel(plot, 2.5, 1.5))
    click(plot, pixel(plot, 2.5, 1.5), Qt.MouseButton.RightButton)
    assert told == [(1, 2), SelectionKey(token=2)]
    row, column = (1, 0, 1, 4), (0, 2, 4, 1)
    plot.mark(SelectionKey(token=2))
    assert plot.framed_cells() == ([column], [])
    plot.mark_row(1)
    assert plot.framed_cells() == ([row, column], [(1, 2, 1, 1)])
    QTest.keyClick(plot, Qt.Key.Key_Up)
    assert told[2:] == [(0, 2), SelectionKey(token=2)]
    plot.mark_row(3)
    plot.show_chart(square([[1.0]]))
    plot.mark(SelectionKey())
    assert plot.framed_cells() == ([], [])


def test_a_spot_marks_a_cell(plot: Heatmap) -> None:
    before = plot.grab().toImage()
    plot.mark_spot((1, 2))
    corner = pixel(plot, 3, 2) + QPoint(-6, 6)
    assert plot.grab().toImage().pixelColor(corner).name() == LIGHT.text
    plot.mark_spot(None)
    assert plot.grab().toImage() == before


# Cells with notes.


def marked_grid(value: float) -> MarkedGrid:
    """Return a cell with a value, if it is finite, an equal cell, and a missing one."""
    sign = "" if np.isfinite(value) else "?"
    return MarkedGrid(
        np.array([[value, np.nan, np.nan]]),
        ("a",),
        ("b", "c", "d"),
        levels=(0.01, 1.0),
        notes={(0, 0): CellNote("n", "n", sign), (0, 1): CellNote("m", "m", "=", "equal")},
        is_log=True,
    )


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_an_equal_cell_is_neither_a_value_nor_empty(plot: Heatmap, theme: Theme) -> None:
    def inside(column: int) -> set[str]:
        corners = pixel(plot, column + 0.3, 0.7), pixel(plot, column + 0.7, 0.3)
        return colors_of(plot.grab().toImage().copy(QRect(*corners)))

    plot.set_theme(theme)
    plot.show_chart(marked_grid(0.1))
    value, equal, empty = map(inside, range(3))
    assert len(value) == 1
    assert theme.line in equal
    assert len(equal) > 1  # its letter
    assert empty == {theme.surface}
    assert plot.color_bar is not None
    plot.show_chart(marked_grid(np.nan))
    assert plot.color_bar is None


@pytest.mark.parametrize(
    ("start", "key", "end"),
    [
        ((0, 0), Qt.Key.Key_Down, (1, 0)),
        ((1, 0), Qt.Key.Key_Up, (0, 0)),
        ((0, 0), Qt.Key.Key_Up, None),
        ((0, 1), Qt.Key.Key_Right, None),
        ((1, 0), Qt.Key.Key_Right, (1, 2)),  # over an empty cell
        ((1, 2), Qt.Key.Key_Home, (1, 0)),
        ((0, 0), Qt.Key.Key_End, (0, 1)),
        (None, Qt.Key.Key_Left, (0, 0)),
        ((0, 0), Qt.Key.Key_A, None),
    ],
)
def test_a_key_leads_to_the_next_cell_with_a_description(
    start: Point | None, key: Qt.Key, end: Point | None
) -> None:
    values = np.array([[1.0, 2.0, np.nan], [3.0, np.nan, 4.0]])
    notes = {
        (int(row), int(column)): CellNote(f"t{row}{column}", f"tensor {row}{column}")
        for row, column in np.argwhere(np.isfinite(values))
    }
    chart = MarkedGrid(values, ("a", "b"), ("a", "b", "c"), is_top_down=True, notes=notes)
    assert next_cell(chart, start, key) == end


def test_keys_select_like_clicks_and_describe_the_cell(plot: Heatmap) -> None:
    plot.show_chart(square(VALUES))
    places: list[SelectionKey] = []
    cells: list[Point] = []
    told: list[tuple[str, QPoint]] = []
    plot.clicked.connect(places.append)
    plot.clicked.connect(plot.mark)
    plot.cell_clicked.connect(lambda row, column: cells.append((row, column)))
    plot.reached.connect(lambda text, at: told.append((text, at)))
    click(plot, pixel(plot, 0.5, 0.5))
    assert not told
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_End):
        QTest.keyClick(plot, key)
    assert cells == [(0, 0), (0, 1), (1, 1), (1, 2)]
    assert [text for text, _ in told] == ["t0, t1: 0.125", "t1, t1: 1.125", "t1, t2: 1.25"]
    assert len(places) == 4
    assert (told[-1][1] - pixel(plot, 2.5, 1.5)).manhattanLength() <= 2
    assert plot.framed_cells()[1] == [(1, 2, 1, 1)]


def test_wheel_and_drag_ask_for_another_region(window: QWidget, qtbot: QtBot) -> None:
    plot = RegionHeatmap(window)
    plot.resize(400, 300)
    whole = matrix(np.random.default_rng(2).normal(size=(40, 30)))
    plot.show_chart(map_chart(tensor_map(whole, (0, 40), (0, 30)), whole, "mean"))
    zooms: list[tuple[float, float, int]] = []
    drags: list[tuple[float, float]] = []
    plot.zoomed.connect(lambda x, y, notches: zooms.append((x, y, notches)))
    plot.dragged.connect(lambda x, y: drags.append((x, y)))
    rect = box(plot)
    middle = rect.center().toPoint()
    for delta in (60, 60, -240):
        event = QWheelEvent(
            QPointF(middle), QPointF(plot.mapToGlobal(middle)), QPoint(), QPoint(0, delta),
            Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        plot.wheelEvent(event)
    assert [zoom[2] for zoom in zooms] == [1, -2]
    assert zooms[0][:2] == pytest.approx((0.5, 0.5), abs=0.02)
    there = middle + QPoint(int(rect.width() / 4), 0)
    qtbot.mousePress(plot, Qt.MouseButton.LeftButton, pos=middle)
    qtbot.mouseMove(plot, there)
    qtbot.mouseRelease(plot, Qt.MouseButton.LeftButton, pos=there)
    assert drags == [pytest.approx((0.25, 0), abs=0.02)]


# Labels.


HOSTILE = (
    "<b>bold</b>",
    "<img src=x>",
    "&lt;&amp;",
    "注意力机制是什么意思呢",
    "x" * 200,
    "שלום עולם",
    "مرحبا",
    "\u202eabc",
    "a\nb\tc",
    "",
    "😀👩‍👩‍👧",
    "$x$",
    "\0",
)


def test_texts_of_any_kind_are_drawn_as_they_are(plot: Heatmap) -> None:
    plot.show_chart(norms_chart(make_run(HOSTILE, [[float(n) for n in range(len(HOSTILE))]] * 3)))
    for size in ((120, 90), (2000, 300)):
        plot.resize(*size)
        assert not plot.grab().isNull()
    drawn = words(plot)
    assert {"<b>bold</…", "<img src=…", "&lt;&amp;", "注意力机制是什么意…", "xxxxxxxxx…"} <= set(
        drawn
    )
    for column, text in enumerate(HOSTILE):
        told = plot.text_at(position(plot, column + 0.5, 0.5))
        assert told.startswith(f"embeddings, {isolated(text)} (token {column}): ")


def test_many_tokens_on_both_axes(plot: Heatmap) -> None:
    plot.show_chart(square(np.eye(512).tolist()))
    names = [word for word in words(plot) if word.startswith("t")]
    assert 20 < len(names) < 120
    assert names.count("t0") == 2
    assert plot.text_at(position(plot, 511.5, 510.5)) == "t510, t511: 0"


def test_aligned_plots_have_labels_of_the_same_height(window: QWidget) -> None:
    plots = [Heatmap(window) for _ in range(2)]
    for plot, names in zip(plots, (["a", "b", "c"], ["one", "another", "third"]), strict=True):
        plot.resize(200, 300)
        plot.show_chart(norms_chart(make_run(names)))
    high, low = (box(plot).height() for plot in plots)
    assert low < high
    for plot, other in zip(plots, reversed(plots), strict=True):
        plot.align(other)
    assert [box(plot).height() for plot in plots] == [low, low]
    for plot in plots:
        plot.align(None)
    assert [box(plot).height() for plot in plots] == [high, low]


def shown(plot: Heatmap, texts: Sequence[str]) -> None:
    plot.show_chart(norms_chart(make_run(texts, [range(len(texts))] * 2)))


@pytest.mark.parametrize(("count", "width"), [(18, 700), (18, 300), (512, 700)])
def test_without_titles_labels_are_flat_and_say_that_some_are_missing(
    plot: Heatmap, count: int, width: int
) -> None:
    plot.is_titled = False
    plot.resize(width, 200)
    shown(plot, [f"token{number}" for number in range(count)])
    rect = box(plot)
    below = QPointF(rect.center().x(), rect.bottom() + 8)
    assert rect.bottom() > 175  # one line of labels
    assert bool(plot.name_at(below)) == (rect.width() / count < 30)
    assert "Token" in words(plot)  # on paper titles are not elsewhere
    gaps = [b - a for a, b in pairwise(x for x, _ in plot.column_labels().labels)]
    assert min(gaps) > 0


def test_a_chart_that_is_not_square_is_not_masked(plot: Heatmap) -> None:
    masked = np.zeros((2, 3), dtype=np.bool_)
    masked[0, 2] = True
    plot.show_chart(GridChart(np.ones((2, 3)), ("a", "b"), ("c", "d", "e"), masked=masked))
    assert plot.text_at(position(plot, 2.5, 0.5)) == "a, e: masked"
    assert "masked" in words(plot)
