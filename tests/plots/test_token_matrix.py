"""Matrices of tokens by tokens: square cells, names, zoom, mouse and keys."""

import io
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pypdf
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import GridChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import DARK, LIGHT, Theme
from bertviewer.plots import export
from bertviewer.plots.token_matrix import MatrixLayout, TokenMatrix
from tests.plots.looking import click, drag, grab, hover, leave, press, sheet, wheel

Key = Qt.Key


def chart_of(queries: int, keys: int | None = None, is_causal: bool = False) -> GridChart:
    """Return a head in which each token attends to itself, or to the last key."""
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


def cosines(count: int) -> GridChart:
    """Return a chart of pairs of tokens."""
    names = tuple(f"word{n}" for n in range(count))
    values = np.arange(float(count * count)).reshape(count, count)
    keys = tuple(SelectionKey(token=n) for n in range(count))
    return GridChart(values, names, names, (), keys, "Token", "Token", "Cosine", is_top_down=True)


@pytest.fixture
def plot(window: QWidget) -> TokenMatrix:
    """Return a head of 16 tokens."""
    plot = TokenMatrix(window)
    plot.resize(540, 270)
    plot.show()
    plot.show_chart(chart_of(16))
    return plot


@pytest.fixture
def pairs(window: QWidget) -> TokenMatrix:
    """Return a matrix of pairs of 18 tokens, which selects what is clicked."""
    plot = TokenMatrix(window, selects_pairs=True)
    plot.resize(560, 230)
    plot.show()
    plot.show_chart(cosines(18))
    plot.clicked.connect(plot.mark)
    return plot


def layout_of(plot: TokenMatrix) -> MatrixLayout:
    layout = plot.layout_of_cells()
    assert layout is not None
    return layout


def middle(plot: TokenMatrix, row: int, column: int) -> QPointF:
    return layout_of(plot).rect(row, column).center()


def row_name(plot: TokenMatrix, row: int) -> QPoint:
    return QPointF(layout_of(plot).cells.left() - 10, middle(plot, row, 0).y()).toPoint()


def column_name(plot: TokenMatrix, column: int) -> QPoint:
    return QPointF(middle(plot, 0, column).x(), layout_of(plot).cells.bottom() + 12).toPoint()


def words(plot: TokenMatrix, angle: int = 0) -> list[str]:
    """Return the names that are drawn rotated by so many degrees."""
    page = pypdf.PdfReader(io.BytesIO(export.pdf(plot))).pages[0]
    return re.findall(r"word\d+", page.extract_text(orientations=(angle,)))


def numbers(plot: TokenMatrix, angle: int = 0) -> list[int]:
    return sorted(int(word.removeprefix("word")) for word in words(plot, angle))


def pairs_of(plot: TokenMatrix) -> list[tuple[int, int]]:
    """Mark the row of each emitted pair, as the view does; return all of them."""
    found: list[tuple[int, int]] = []
    plot.paired.connect(lambda row, column: found.append((row, column)))
    plot.paired.connect(lambda row, _column: plot.mark_row(row))
    return found


def test_masks_frames_names_and_zoom(window: QWidget, image: Callable[[str, Any], None]) -> None:
    def drawn(
        chart: GridChart,
        token: int | None = None,
        *,
        theme: Theme = LIGHT,
        row: int | None = None,
        zoom: float = 0,
        selects_pairs: bool = False,
    ) -> QImage:
        plot = TokenMatrix(window, selects_pairs=selects_pairs)
        plot.resize(260, 150)
        plot.set_theme(theme)
        plot.show_chart(chart)
        plot.mark(SelectionKey(token=token))
        plot.mark_row(row)
        plot.zoom_at(QPointF(135, 70), zoom)
        return grab(plot, 260, 150)

    heads = sheet(
        drawn(chart_of(10), 5),
        drawn(chart_of(4, is_causal=True), theme=DARK),  # masked is neither 0 nor empty
        drawn(chart_of(4, 12)),
        drawn(replace(chart_of(10), row_starts=(8,), column_starts=(5,)), zoom=2),
    )
    image("token matrices", heads)
    hostile = ("<b>x</b>", "\0", "שלום", "x" * 10_000)
    pairs = sheet(
        drawn(cosines(6), 2, row=1, selects_pairs=True),  # a row, a column, and where they meet
        drawn(cosines(6), 2, row=9, selects_pairs=True),  # there is no such row
        drawn(cosines(18), zoom=5, selects_pairs=True),  # gaps between large cells only
        drawn(chart_of(40), 33),  # evenly spaced names, and the selected one
        drawn(replace(chart_of(4), rows=hostile, columns=hostile)),
    )
    image("token matrices of pairs", pairs)


@pytest.mark.parametrize("size", [(540, 270), (340, 150), (300, 900)])
@pytest.mark.parametrize("shape", [(16, 16), (1, 1), (4, 20), (512, 512)])
def test_cells_are_squares_inside_of_the_plot(
    plot: TokenMatrix, size: tuple[int, int], shape: tuple[int, int]
) -> None:
    plot.resize(*size)
    plot.show_chart(chart_of(*shape))
    cells = layout_of(plot).cells
    assert cells.width() / shape[1] == pytest.approx(cells.height() / shape[0])
    assert plot.rect().toRectF().contains(cells)


def test_all_or_evenly_spaced_tokens_are_named_on_both_sides(plot: TokenMatrix) -> None:
    plot.mark(SelectionKey(token=5))  # the strong name is whole
    assert numbers(plot) == numbers(plot, 90) == list(range(16))
    for count in (70, 512):
        plot.mark(SelectionKey())
        plot.show_chart(chart_of(count))
        for found in (numbers(plot), numbers(plot, 90)):
            assert len(found) > 10
            assert len({b - a for a, b in pairwise(found)}) == 1
        plot.mark(SelectionKey(token=33))
        assert 33 in numbers(plot)


def test_the_wheel_zooms_at_the_pointer(plot: TokenMatrix) -> None:
    plot.show_chart(chart_of(512))
    position = layout_of(plot).cells.center() + QPointF(20, -30)
    for _ in range(16):
        # Until the matrix fills the width, it stays in its middle.
        is_wide = not layout_of(plot).across.is_whole
        before = layout_of(plot).cell_at(position)
        wheel(plot, position, 120)
        after = layout_of(plot).cell_at(position)
        assert after[0] == pytest.approx(before[0])
        assert not is_wide or after[1] == pytest.approx(before[1])
    layout = layout_of(plot)
    assert layout.width > 10
    # All visible tokens are named, and no others.
    first, last = layout.down.start, layout.down.end
    found = numbers(plot)
    assert set(range(int(first) + 1, int(last))) <= set(found)
    assert len(found) <= last - first + 1
    assert layout.across.length > 1.2 * layout.down.length  # the plot is wider than high
    for _ in range(30):
        wheel(plot, position, -120)
    assert layout_of(plot).across.is_whole
    assert layout_of(plot).down.is_whole


def test_a_drag_pans_and_a_double_click_shows_all(plot: TokenMatrix) -> None:
    plot.show_chart(chart_of(70))
    clicked: list[SelectionKey] = []
    plot.clicked.connect(clicked.append)
    whole = layout_of(plot)
    position = whole.cells.center()
    wheel(plot, position, 720)
    there = plot.cell_at(position)
    end = position + QPointF(-40, -30)
    drag(plot, position.toPoint(), end.toPoint())
    assert plot.cell_at(end) == pytest.approx(there, abs=1)
    assert clicked == []
    QTest.mouseDClick(plot, Qt.MouseButton.LeftButton, pos=end.toPoint())
    assert layout_of(plot) == whole


def test_keys_zoom_pan_and_select(plot: TokenMatrix) -> None:
    plot.show_chart(chart_of(70))
    whole = layout_of(plot)
    clicked: list[SelectionKey] = []
    plot.clicked.connect(clicked.append)
    plot.clicked.connect(plot.mark)
    press(plot, *[Key.Key_Plus] * 8)
    near = layout_of(plot)
    assert near.width > whole.width
    press(plot, Key.Key_Right)
    assert layout_of(plot).across.start > near.across.start
    press(plot, Key.Key_Home, Key.Key_Down, Key.Key_End, Key.Key_Up)
    assert [key.token for key in clicked] == [0, 1, 69, 68]
    assert layout_of(plot).down.start <= 68 < layout_of(plot).down.end
    press(plot, Key.Key_Minus)
    assert layout_of(plot).width < near.width
    press(plot, Key.Key_0)
    assert layout_of(plot) == whole


def test_the_zoom_stays_for_the_same_tokens(plot: TokenMatrix) -> None:
    wheel(plot, layout_of(plot).cells.center(), 480)
    near = layout_of(plot)
    plot.show_chart(replace(chart_of(16), subject="another head"))
    assert layout_of(plot) == near
    plot.show_chart(chart_of(17))
    assert layout_of(plot).across.is_whole


def test_hovering_describes_cells_and_names(plot: TokenMatrix) -> None:
    received: list[str] = []
    plot.hovered.connect(received.append)
    hover(plot, middle(plot, 2, 2).toPoint())
    hover(plot, row_name(plot, 3))
    hover(plot, column_name(plot, 4))
    leave(plot)
    assert received == ["query word2 → key word2: 1", "query word3", "key word4", ""]
    plot.show_chart(chart_of(4, is_causal=True))
    assert plot.text_at(middle(plot, 0, 2)) == "query word0 → key word2: masked"
    assert plot.text_at(middle(plot, 2, 0)) == "query word2 → key word0: 0"
    assert plot.chart is not None
    assert plot.chart.table()[1][1] == ("query word1", 0.0, 1.0, None, None)


def test_a_click_selects_the_row_or_the_named_token(plot: TokenMatrix) -> None:
    clicked: list[SelectionKey] = []
    plot.clicked.connect(clicked.append)
    click(plot, middle(plot, 5, 1).toPoint())
    click(plot, row_name(plot, 3))
    click(plot, column_name(plot, 4))
    assert [key.token for key in clicked] == [5, 3, 4]


def test_a_click_emits_the_pair_and_selects_the_column(pairs: TokenMatrix) -> None:
    found = pairs_of(pairs)
    click(pairs, middle(pairs, 1, 2).toPoint())
    assert found == [(1, 2)]
    assert pairs.selection == SelectionKey(token=2)
    click(pairs, QPoint(1, 1))
    assert found == [(1, 2)]


def test_keys_go_from_pair_to_pair_and_describe_them(pairs: TokenMatrix) -> None:
    found, texts = pairs_of(pairs), list[tuple[str, QPoint]]()
    pairs.reached.connect(lambda text, at: texts.append((text, at)))
    click(pairs, middle(pairs, 1, 2).toPoint())
    press(pairs, Key.Key_Right, Key.Key_Down, Key.Key_Home, Key.Key_Up, Key.Key_Up)
    assert found == [(1, 2), (1, 3), (2, 3), (2, 0), (1, 0), (0, 0)]
    assert texts[0][0] == "word1, word3: 21"
    assert (texts[-1][1] - middle(pairs, 0, 0).toPoint()).manhattanLength() <= 2
    press(pairs, Key.Key_Up)
    assert len(found) == 6


def test_keys_cross_the_pair_of_a_token_with_itself(pairs: TokenMatrix) -> None:
    found: list[tuple[int, int]] = []
    pairs.paired.connect(lambda row, column: found.append((row, column)))

    def mark(row: int, column: int) -> None:
        # The view marks the token before where the two would be the same.
        pairs.mark_row(column - 1 if row == column else row)

    pairs.paired.connect(mark)
    click(pairs, middle(pairs, 4, 2).toPoint())
    press(pairs, *[Key.Key_Right] * 4)
    assert found == [(4, 2), (4, 3), (4, 4), (4, 5), (4, 6)]


def test_a_pair_that_a_key_leads_to_is_brought_into_view(pairs: TokenMatrix) -> None:
    pairs_of(pairs)
    click(pairs, middle(pairs, 1, 2).toPoint())
    press(pairs, *[Key.Key_Plus] * 12, Key.Key_End)
    layout = layout_of(pairs)
    assert layout.across.length < 18
    assert layout.cells.contains(middle(pairs, 1, 17))
