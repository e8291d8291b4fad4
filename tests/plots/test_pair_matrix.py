"""A matrix of tokens by tokens: square cells, all named; a click or a key tells both of a pair."""

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import GridChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import LIGHT
from bertviewer.plots.token_matrix import TokenMatrix
from tests.plots.looking import click, colors_of
from tests.plots.test_token_matrix import layout_of, middle, words

Pairs = list[tuple[int, int]]


def cosines(count: int) -> GridChart:
    """Return what the similarities of so many tokens are drawn from."""
    names = tuple(f"word{n}" for n in range(count))
    values = np.arange(float(count * count)).reshape(count, count)
    places = tuple(SelectionKey(token=n) for n in range(count))
    return GridChart(values, names, names, (), places, "Token", "Token", "Cosine", is_top_down=True)


@pytest.fixture
def plot(window: QWidget) -> TokenMatrix:
    plot = TokenMatrix(window, selects_pairs=True)
    plot.resize(560, 230)
    plot.show()
    plot.show_chart(cosines(18))
    plot.clicked.connect(plot.mark)
    return plot


def follow(plot: TokenMatrix) -> Pairs:
    """Mark the row of what is told, as the view does; return all that is told."""
    told: Pairs = []
    plot.paired.connect(lambda row, column: told.append((row, column)))
    plot.paired.connect(lambda row, _column: plot.mark_row(row))
    return told


def test_in_a_low_pane_cells_are_squares_and_all_rows_and_columns_are_named(
    plot: TokenMatrix,
) -> None:
    cell = layout_of(plot).rect(3, 4)
    assert cell.width() == cell.height() > 7
    names = [f"word{n}" for n in range(18)]
    assert words(plot) == names
    assert sorted(words(plot, 90)) == sorted(names)


def test_a_click_tells_row_and_column_and_selects_the_column(plot: TokenMatrix) -> None:
    told = follow(plot)
    click(plot, middle(plot, 1, 2).toPoint())
    assert told == [(1, 2)]
    assert plot.selection == SelectionKey(token=2)
    click(plot, QPoint(1, 1))
    click(plot, middle(plot, 3, 3).toPoint(), Qt.MouseButton.RightButton)
    assert told == [(1, 2)]


def test_keys_go_from_cell_to_cell_and_tell_the_value(plot: TokenMatrix) -> None:
    told, texts = follow(plot), list[tuple[str, QPoint]]()
    plot.reached.connect(lambda text, at: texts.append((text, at)))
    click(plot, middle(plot, 1, 2).toPoint())
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Home, Qt.Key.Key_Up, Qt.Key.Key_Up):
        QTest.keyClick(plot, key)
    assert told == [(1, 2), (1, 3), (2, 3), (2, 0), (1, 0), (0, 0)]
    assert texts[0][0] == "word1, word3: 21"
    assert (texts[-1][1] - middle(plot, 0, 0).toPoint()).manhattanLength() <= 2
    QTest.keyClick(plot, Qt.Key.Key_Up)
    assert len(told) == 6


def test_keys_go_on_along_a_row_over_the_token_itself(plot: TokenMatrix) -> None:
    told: Pairs = []
    plot.paired.connect(lambda row, column: told.append((row, column)))

    def mark(row: int, column: int) -> None:
        # The view marks the token before where the two would be one.
        plot.mark_row(column - 1 if row == column else row)

    plot.paired.connect(mark)
    click(plot, middle(plot, 4, 2).toPoint())
    for _ in range(4):
        QTest.keyClick(plot, Qt.Key.Key_Right)
    assert told == [(4, 2), (4, 3), (4, 4), (4, 5), (4, 6)]


def test_a_cell_that_a_key_leads_to_comes_into_sight(plot: TokenMatrix) -> None:
    follow(plot)
    click(plot, middle(plot, 1, 2).toPoint())
    for _ in range(12):
        QTest.keyClick(plot, Qt.Key.Key_Plus)
    QTest.keyClick(plot, Qt.Key.Key_End)
    layout = layout_of(plot)
    assert layout.across.length < 18
    assert layout.cells.contains(middle(plot, 1, 17))


def test_the_selected_column_and_the_marked_row_are_framed(plot: TokenMatrix) -> None:
    plot.show_chart(cosines(6))

    def framed() -> tuple[list[int], list[int]]:
        """Return the rows and the columns that have a dark line above, or to the left."""
        image = plot.grab()

        def has_line(at: QPointF) -> bool:
            place = QRect(0, 0, 7, 7)
            place.moveCenter(at.toPoint())
            return LIGHT.text in colors_of(image.copy(place).toImage())

        cell = layout_of(plot).width / 2
        rows = [n for n in range(6) if has_line(middle(plot, n, 5) - QPointF(0, cell))]
        columns = [n for n in range(6) if has_line(middle(plot, 5, n) - QPointF(cell, 0))]
        return rows, columns

    assert framed() == ([], [])
    plot.mark(SelectionKey(token=2))
    assert framed() == ([], [2, 3])
    plot.mark_row(1)
    assert framed() == ([1, 2], [2, 3])
    plot.mark_row(9)  # there is no such row any more
    assert framed() == ([], [2, 3])


def test_large_cells_have_gaps_and_small_ones_have_none(plot: TokenMatrix) -> None:
    def has_gaps() -> bool:
        cells = layout_of(plot).cells.adjusted(2, 2, -2, -2).toRect()
        return LIGHT.surface in colors_of(plot.grab(cells).toImage())

    plot.show_chart(replace(cosines(18), values=np.ones((18, 18)), levels=(0.0, 1.0)))
    assert not has_gaps()
    plot.zoom_at(QPointF(plot.rect().center()), 5)
    assert has_gaps()


def test_titles_that_say_the_same_are_left_out(plot: TokenMatrix) -> None:
    plot.show_chart(replace(cosines(6), x_title="Key", y_title="Query"))
    titled = plot.grab().toImage()
    plot.show_chart(cosines(6))
    assert plot.grab().toImage() != titled


def test_an_empty_matrix_leads_nowhere(plot: TokenMatrix) -> None:
    told = follow(plot)
    plot.show_chart(None)
    QTest.keyClick(plot, Qt.Key.Key_Down)
    click(plot, QPoint(100, 100))
    assert told == []
