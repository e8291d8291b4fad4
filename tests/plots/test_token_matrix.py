"""The large head: square cells, names on both sides, and looking into it from near."""

import io
import re
from itertools import pairwise

import numpy as np
import pypdf
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import GridChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import DARK, LIGHT, Theme
from bertviewer.plots import export
from bertviewer.plots.token_matrix import MatrixLayout, TokenMatrix
from tests.plots.looking import HIGHEST, LOWEST, click, colors_of, hover, leave


def chart_of(queries: int, keys: int | None = None, is_causal: bool = False) -> GridChart:
    """Return a head in which each token looks at itself, or at the last key."""
    keys = queries if keys is None else keys
    values = np.zeros((queries, keys), dtype=np.float32)
    values[np.arange(queries), np.minimum(np.arange(queries), keys - 1)] = 1
    rows = tuple(f"word{n}" for n in range(queries))
    columns = tuple(f"word{n}" for n in range(keys))
    later = np.triu(np.ones((queries, keys), dtype=np.bool_), 1)
    return GridChart(
        values,
        rows,
        columns,
        row_keys=tuple(SelectionKey(token=n) for n in range(queries)),
        x_title="Key",
        y_title="Query",
        value_title="Attention",
        is_top_down=True,
        levels=(0.0, 1.0),
        row_names=tuple(f"query {name}" for name in rows),
        column_names=tuple(f"key {name}" for name in columns),
        masked=later if is_causal else None,
        joint=" → ",
    )


@pytest.fixture
def plot(window: QWidget) -> TokenMatrix:
    plot = TokenMatrix(window)
    plot.resize(540, 270)
    plot.show()
    plot.show_chart(chart_of(16))
    return plot


def layout_of(plot: TokenMatrix) -> MatrixLayout:
    layout = plot.layout_of_cells()
    assert layout is not None
    return layout


def middle(plot: TokenMatrix, row: int, column: int) -> QPointF:
    return layout_of(plot).rect(row, column).center()


def color(plot: TokenMatrix, row: int, column: int) -> str:
    return plot.grab().toImage().pixelColor(middle(plot, row, column).toPoint()).name()


def words(plot: TokenMatrix, angle: int = 0) -> list[str]:
    """Return the words that are drawn turned by so many degrees."""
    page = pypdf.PdfReader(io.BytesIO(export.pdf(plot))).pages[0]
    return re.findall(r"word\d+", page.extract_text(orientations=(angle,)))


def turn(plot: TokenMatrix, position: QPointF, delta: int) -> None:
    event = QWheelEvent(
        position, plot.mapToGlobal(position), QPoint(), QPoint(0, delta),
        Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(plot, event)


@pytest.mark.parametrize("size", [(540, 270), (340, 150), (300, 900), (1200, 400)])
@pytest.mark.parametrize("shape", [(16, 16), (1, 1), (4, 20), (70, 70), (512, 512)])
def test_cells_are_squares_inside_of_the_plot(
    plot: TokenMatrix, size: tuple[int, int], shape: tuple[int, int]
) -> None:
    plot.resize(*size)
    plot.show_chart(chart_of(*shape))
    cells = layout_of(plot).cells
    assert cells.width() / shape[1] == pytest.approx(cells.height() / shape[0])
    assert plot.rect().toRectF().contains(cells)


def test_all_tokens_have_their_names_on_both_sides(plot: TokenMatrix) -> None:
    every = {f"word{n}" for n in range(16)}
    assert set(words(plot)) == set(words(plot, 90)) == every


@pytest.mark.parametrize("count", [70, 512])
def test_of_many_tokens_evenly_spaced_ones_are_named(plot: TokenMatrix, count: int) -> None:
    plot.show_chart(chart_of(count))
    for found in (words(plot), words(plot, 90)):
        numbers = sorted(int(word.removeprefix("word")) for word in found)
        assert len(numbers) > 10
        assert len({b - a for a, b in pairwise(numbers)}) == 1
    plot.mark(SelectionKey(token=33))
    assert "word33" in words(plot)


def test_the_wheel_goes_nearer_to_what_it_is_on(plot: TokenMatrix) -> None:
    plot.show_chart(chart_of(512))
    position = layout_of(plot).cells.center() + QPointF(20, -30)
    for _ in range(16):
        # Until all the room is taken, the matrix grows in the middle of it.
        is_wide = not layout_of(plot).across.is_whole
        before = layout_of(plot).cell_at(position)
        turn(plot, position, 120)
        after = layout_of(plot).cell_at(position)
        assert after[0] == pytest.approx(before[0])
        assert not is_wide or after[1] == pytest.approx(before[1])
    layout = layout_of(plot)
    assert layout.width > 10
    # All names that are in sight, and no others.
    first, last = layout.down.start, layout.down.end
    numbers = [int(word.removeprefix("word")) for word in words(plot)]
    assert set(range(int(first) + 1, int(last))) <= set(numbers) <= set(range(512))
    assert len(numbers) <= last - first + 1
    # From near there are more columns than rows: the plot is wider than high.
    assert layout.across.length > 1.2 * layout.down.length
    for _ in range(30):
        turn(plot, position, -120)
    assert layout_of(plot).across.is_whole
    assert layout_of(plot).down.is_whole


def test_a_drag_moves_it_and_a_double_click_shows_all(plot: TokenMatrix) -> None:
    plot.show_chart(chart_of(70))
    told: list[SelectionKey] = []
    plot.clicked.connect(told.append)
    whole = layout_of(plot)
    position = whole.cells.center()
    for _ in range(6):
        turn(plot, position, 120)
    there = plot.cell_at(position)
    end = position + QPointF(-40, -30)
    QTest.mousePress(plot, Qt.MouseButton.LeftButton, pos=position.toPoint())
    QTest.mouseMove(plot, end.toPoint())
    QTest.mouseRelease(plot, Qt.MouseButton.LeftButton, pos=end.toPoint())
    assert plot.cell_at(end) == pytest.approx(there, abs=1)
    assert told == []
    QTest.mouseDClick(plot, Qt.MouseButton.LeftButton, pos=end.toPoint())
    assert layout_of(plot) == whole


def test_keys_do_the_same(plot: TokenMatrix) -> None:
    plot.show_chart(chart_of(70))
    whole = layout_of(plot)
    told: list[SelectionKey] = []
    plot.clicked.connect(told.append)
    plot.clicked.connect(plot.mark)
    for _ in range(8):
        QTest.keyClick(plot, Qt.Key.Key_Plus)
    near = layout_of(plot)
    assert near.width > whole.width
    QTest.keyClick(plot, Qt.Key.Key_Right)
    assert layout_of(plot).across.start > near.across.start
    QTest.keyClick(plot, Qt.Key.Key_Home)
    QTest.keyClick(plot, Qt.Key.Key_Down)
    QTest.keyClick(plot, Qt.Key.Key_End)
    QTest.keyClick(plot, Qt.Key.Key_Up)
    assert [place.token for place in told] == [0, 1, 69, 68]
    assert layout_of(plot).down.start <= 68 < layout_of(plot).down.end
    QTest.keyClick(plot, Qt.Key.Key_Minus)
    assert layout_of(plot).width < near.width
    QTest.keyClick(plot, Qt.Key.Key_0)
    assert layout_of(plot) == whole


def test_the_same_tokens_are_seen_from_as_near(plot: TokenMatrix) -> None:
    turn(plot, layout_of(plot).cells.center(), 480)
    near = layout_of(plot)
    plot.show_chart(replace(chart_of(16), subject="another head"))
    assert layout_of(plot) == near
    plot.show_chart(chart_of(17))
    assert layout_of(plot).across.is_whole


def test_pointing_tells_cells_and_names(plot: TokenMatrix) -> None:
    told: list[str] = []
    plot.hovered.connect(told.append)
    layout = layout_of(plot)
    hover(plot, middle(plot, 2, 2).toPoint())
    hover(plot, QPointF(layout.cells.left() - 10, middle(plot, 3, 0).y()).toPoint())
    hover(plot, QPointF(middle(plot, 0, 4).x(), layout.cells.bottom() + 12).toPoint())
    leave(plot)
    assert told == ["query word2 → key word2: 1", "query word3", "key word4", ""]


def test_a_click_tells_the_row_or_the_token_of_a_name(plot: TokenMatrix, qtbot: QtBot) -> None:
    told: list[SelectionKey] = []
    plot.clicked.connect(told.append)
    layout = layout_of(plot)
    click(plot, middle(plot, 5, 1).toPoint())
    click(plot, QPointF(layout.cells.left() - 10, middle(plot, 3, 0).y()).toPoint())
    click(plot, QPointF(middle(plot, 0, 4).x(), layout.cells.bottom() + 12).toPoint())
    click(plot, QPoint(2, 2))
    click(plot, middle(plot, 5, 1).toPoint(), Qt.MouseButton.RightButton)
    assert [place.token for place in told] == [5, 3, 4]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_masked_cells_have_the_colour_of_no_value(plot: TokenMatrix, theme: Theme) -> None:
    plot.set_theme(theme)
    plot.show_chart(chart_of(4, is_causal=True))
    rect = layout_of(plot).rect(0, 2).adjusted(3, 3, -3, -3)
    hidden = colors_of(plot.grab().toImage().copy(rect.toRect()))
    assert LOWEST not in hidden
    assert theme.surface in hidden
    assert len(hidden) > 1  # its hatch
    assert color(plot, 2, 1) == LOWEST  # a measured 0
    assert color(plot, 2, 2) == HIGHEST
    assert plot.text_at(middle(plot, 0, 2)) == "query word0 → key word2: masked"
    assert plot.text_at(middle(plot, 2, 0)) == "query word2 → key word0: 0"
    assert plot.chart is not None
    assert plot.chart.table()[1][1] == ("query word1", 0.0, 1.0, None, None)
    page = pypdf.PdfReader(io.BytesIO(export.pdf(plot))).pages[0]
    assert "masked" in page.extract_text()


def test_hostile_names(plot: TokenMatrix) -> None:
    names = ("<b>x</b>", "\0", "שלום", "x" * 10_000)
    plot.show_chart(replace(chart_of(4), rows=names, columns=names))
    cells = layout_of(plot).cells
    assert cells.width() > 50
    assert "<b>x</b>" in pypdf.PdfReader(io.BytesIO(export.pdf(plot))).pages[0].extract_text()


def test_a_picture_without_a_chart(plot: TokenMatrix) -> None:
    plot.show_chart(None)
    assert colors_of(plot.grab().toImage()) == {LIGHT.surface}
    hover(plot, QPoint(50, 50))
    QTest.keyClick(plot, Qt.Key.Key_Plus)
    click(plot, QPoint(50, 50))
