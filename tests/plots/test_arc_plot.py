"""One head as lines between two rows of tokens."""

import io
import re

import numpy as np
import pypdf
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from bertviewer.charts.arcs import arcs_text
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import DARK, LIGHT
from bertviewer.plots import export
from bertviewer.plots.arc_plot import ArcLayout, ArcPlot, Token
from tests.plots.looking import click, colors_of, hover, leave
from tests.plots.test_token_matrix import chart_of


@pytest.fixture
def plot(window: QWidget) -> ArcPlot:
    plot = ArcPlot(window)
    plot.resize(540, 270)
    plot.show()
    plot.show_chart(chart_of(16))
    return plot


def layout_of(plot: ArcPlot) -> ArcLayout:
    layout = plot.layout_of_arcs()
    assert layout is not None
    return layout


def above(plot: ArcPlot, index: int) -> QPoint:
    layout = layout_of(plot)
    return QPointF(layout.x(index, layout.rows), layout.top - 10).toPoint()


def below(plot: ArcPlot, index: int) -> QPoint:
    layout = layout_of(plot)
    return QPointF(layout.x(index, layout.columns), layout.bottom + 10).toPoint()


def is_drawn(plot: ArcPlot, row: int, column: int) -> bool:
    """Tell whether a line is in the picture, near its middle."""
    layout = layout_of(plot)
    x = (layout.x(row, layout.rows) + layout.x(column, layout.columns)) / 2
    y = (layout.top + layout.bottom) / 2
    part = plot.grab().toImage().copy(int(x) - 1, int(y) - 1, 3, 3)
    return colors_of(part) != {plot.theme.surface}


def words(plot: ArcPlot) -> tuple[str, list[int]]:
    """Return what stands flat, and the numbers of all tokens that are named."""
    page = pypdf.PdfReader(io.BytesIO(export.pdf(plot))).pages[0]
    upright = page.extract_text(orientations=(90,))
    flat = page.extract_text(orientations=(0,))
    return " ".join(flat.split()), [
        int(number) for number in re.findall(r"word(\d+)", f"{flat} {upright}")
    ]


def test_all_tokens_are_named_above_and_below(plot: ArcPlot) -> None:
    flat, numbers = words(plot)
    assert sorted(numbers) == sorted([*range(16), *range(16)])
    assert "Query" in flat
    assert "Key" in flat
    assert "Only weights ≥ 0.005 are shown." in flat


def test_names_lie_flat_where_there_is_room(plot: ArcPlot) -> None:
    plot.show_chart(chart_of(4))
    assert layout_of(plot).upright == (False, False)
    plot.show_chart(chart_of(2, 40))
    assert layout_of(plot).upright == (False, True)


def test_each_line_is_drawn(plot: ArcPlot) -> None:
    assert all(is_drawn(plot, token, token) for token in range(16))
    values = np.zeros((16, 16), dtype=np.float32)
    values[3, 12] = 1
    plot.show_chart(replace(chart_of(16), values=values))
    assert is_drawn(plot, 3, 12)
    assert not is_drawn(plot, 3, 3)


def test_a_token_that_is_pointed_at_shows_its_own_lines_alone(plot: ArcPlot) -> None:
    told: list[str] = []
    plot.hovered.connect(told.append)
    hover(plot, above(plot, 3))
    assert plot.hovered_token == Token(True, 3)
    assert is_drawn(plot, 3, 3)
    assert not is_drawn(plot, 9, 9)
    hover(plot, below(plot, 9))
    assert not is_drawn(plot, 3, 3)
    assert is_drawn(plot, 9, 9)
    leave(plot)
    assert is_drawn(plot, 3, 3)
    assert told == ["query word3 → key word3 1", "query word9 1 → key word9", ""]


def test_the_selected_row_has_its_weights_beside_it(plot: ArcPlot) -> None:
    assert "1.00" not in words(plot)[0]
    plot.mark(SelectionKey(token=5))
    assert "1.00" in words(plot)[0]


def test_a_click_tells_a_token(plot: ArcPlot) -> None:
    told: list[SelectionKey] = []
    plot.clicked.connect(told.append)
    click(plot, above(plot, 3))
    click(plot, below(plot, 11))
    assert [place.token for place in told] == [3, 11]


@pytest.mark.parametrize("count", [70, 512])
def test_many_tokens(plot: ArcPlot, count: int) -> None:
    plot.show_chart(chart_of(count))
    flat, numbers = words(plot)
    assert f"Only the {1200 // count} largest weights of each token" in flat
    assert len(set(numbers)) > 10
    # From near, all that are in sight are named.
    for _ in range(20):
        QTest.keyClick(plot, Qt.Key.Key_Plus)
    span = layout_of(plot).tokens(count)
    numbers = words(plot)[1]
    assert set(range(int(span.start) + 1, int(span.end))) <= set(numbers)
    QTest.keyClick(plot, Qt.Key.Key_0)
    assert layout_of(plot).span.is_whole


def test_keys_go_from_token_to_token_and_bring_them_into_sight(plot: ArcPlot) -> None:
    plot.show_chart(chart_of(70))
    plot.clicked.connect(plot.mark)
    told: list[SelectionKey] = []
    plot.clicked.connect(told.append)
    words: list[str] = []
    plot.reached.connect(lambda text, _at: words.append(text))
    for _ in range(10):
        QTest.keyClick(plot, Qt.Key.Key_Plus)
    for key in (Qt.Key.Key_Home, Qt.Key.Key_Right, Qt.Key.Key_End, Qt.Key.Key_Left):
        QTest.keyClick(plot, key)
    assert [place.token for place in told] == [0, 1, 69, 68]
    assert plot.chart is not None
    assert words == [arcs_text(plot.chart, token, True) for token in (0, 1, 69, 68)]
    span = layout_of(plot).tokens(70)
    assert span.start <= 68 < span.end


def test_a_drag_moves_it(plot: ArcPlot) -> None:
    for _ in range(4):
        QTest.keyClick(plot, Qt.Key.Key_Plus)
    before = layout_of(plot).span.start
    middle = plot.rect().center()
    QTest.mousePress(plot, Qt.MouseButton.LeftButton, pos=middle)
    QTest.mouseMove(plot, middle + QPoint(-50, 0))
    QTest.mouseRelease(plot, Qt.MouseButton.LeftButton, pos=middle + QPoint(-50, 0))
    assert layout_of(plot).span.start > before


def test_differences_have_a_colour_for_each_sign(plot: ArcPlot) -> None:
    values = np.zeros((16, 16), dtype=np.float32)
    values[2, 2], values[9, 9] = 1, -1
    plot.show_chart(replace(chart_of(16), values=values, is_signed=True, levels=(-1.0, 1.0)))
    found = []
    for token in (2, 9):
        hover(plot, above(plot, token))
        found.append(colors_of(plot.grab().toImage()))
    assert LIGHT.series[0] in found[0] - found[1]
    assert LIGHT.series[1] in found[1] - found[0]


def test_it_is_saved_in_colours_for_paper(plot: ArcPlot) -> None:
    plot.set_theme(DARK)
    assert b"<svg" in export.svg(plot)[:200]
    assert export.png(plot).startswith(b"\x89PNG")
    assert plot.theme == DARK
    plot.show_chart(None)
    assert colors_of(plot.grab().toImage()) == {DARK.surface}


def test_further_texts_are_set_off_above_and_below(plot: ArcPlot) -> None:
    def between(token: int, is_above: bool) -> set[str]:
        layout = layout_of(plot)
        y = layout.top - 8 if is_above else layout.bottom + 8
        x = layout.x(token - 0.5, 16)
        return colors_of(plot.grab().toImage().copy(int(x) - 1, int(y), 3, 1))

    plain = between(8, True), between(5, False)
    plot.show_chart(replace(chart_of(16), row_starts=(8,), column_starts=(5,)))
    assert between(8, True) != plain[0]
    assert between(5, False) != plain[1]
    assert between(8, False) != between(5, False)


def test_square_roots_bring_small_weights_out(plot: ArcPlot) -> None:
    values = np.full((16, 16), 0.02, dtype=np.float32)
    chart = replace(chart_of(16), values=values)

    def darkest() -> int:
        middle = plot.grab().toImage().copy(40, 100, 460, 70)
        return min(int(color[1:3], 16) for color in colors_of(middle))

    plot.show_chart(chart)
    before = darkest()
    plot.show_chart(replace(chart, is_root=True))
    assert darkest() < before
    assert "Square-root scale" in words(plot)[0]
    # What is told are the weights themselves.
    assert "0.02" in plot.text_at(QPointF(above(plot, 3)))


def test_what_a_mask_hides_is_hatched(plot: ArcPlot) -> None:
    values = np.zeros((16, 16), dtype=np.float32)
    values[4, 4] = 1
    plain = replace(chart_of(16), values=values)

    def foot(token: int) -> set[str]:
        """Return the colours where a token's lines end."""
        layout = layout_of(plot)
        x = int(layout.x(token, 16))
        return colors_of(plot.grab().toImage().copy(x - 8, int(layout.bottom) - 9, 16, 6))

    # A 0 that was measured has nothing.
    plot.show_chart(plain)
    plot.mark(SelectionKey(token=4))
    assert foot(12) == {LIGHT.surface}
    plot.show_chart(replace(plain, masked=np.triu(np.ones((16, 16), dtype=np.bool_), 1)))
    assert foot(12) != {LIGHT.surface}
    assert foot(2) == {LIGHT.surface}
    assert "Hatched: masked." in words(plot)[0]
    assert plot.text_at(QPointF(above(plot, 4))).endswith("11 masked")


def ink(plot: ArcPlot, row: int, column: int) -> float:
    """Return how dark the picture is around the beginning of a line, from 0 to 1."""
    layout = layout_of(plot)
    x, y = layout.x(row, layout.rows), layout.top
    part = plot.grab().toImage().copy(int(x) - 2, int(y) + 2, 5, 5)
    return 1 - sum(part.pixelColor(i, j).lightnessF() for i in range(5) for j in range(5)) / 25


def test_the_lines_of_the_selected_token_are_stronger_than_all_others(plot: ArcPlot) -> None:
    tokens = range(2, 14)
    before = {token: ink(plot, token, token) for token in tokens}
    plot.mark(SelectionKey(token=7))
    after = {token: ink(plot, token, token) for token in tokens}
    assert all(after[token] < before[token] for token in tokens if token != 7)
    assert after[7] > 1.5 * max(after[token] for token in tokens if token != 7)
