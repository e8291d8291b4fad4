"""The grid: which cell is where, and what it says."""

import gc
import weakref

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import DARK, LIGHT, Theme
from bertviewer.charts.token_charts import norms_chart
from bertviewer.plots.cells import Cells
from bertviewer.plots.color_bar import ColorBar
from bertviewer.plots.grid_plot import GridPlot
from bertviewer.plots.paper import lay_out
from bertviewer.plots.plot import Side
from tests.charts.runs import make_run
from tests.plots.grids import grid_in, square
from tests.plots.looking import (
    HIGHEST,
    LOWEST,
    click,
    color,
    colors,
    colors_of,
    hover,
    leave,
    pixel,
    scene,
)


@pytest.fixture
def plot(window: QWidget) -> GridPlot:
    return grid_in(window)


CELLS = (
    (0.5, 0.5, "embeddings, [CLS] (token 0): 1"),
    (1.5, 0.01, "embeddings, it's (token 1): 1.25"),
    (1.01, 1.5, "layer 0, it's (token 1): 2.123457"),
    (2.99, 2.99, "layer 1, [SEP] (token 2): 9"),
    (0.01, 2.01, "layer 1, [CLS] (token 0): 3"),
    (-0.01, 0.5, ""),
    (3.01, 0.5, ""),
    (0.5, -0.01, ""),
    (0.5, 3.01, ""),
)


def test_text_of_a_cell(plot: GridPlot) -> None:
    for x, y, text in CELLS:
        assert plot.text_at(scene(plot, x, y)) == text, (x, y)


def test_hovering_tells_the_cell_and_leaving_it_clears(plot: GridPlot) -> None:
    told: list[str] = []
    plot.hovered.connect(told.append)
    hover(plot, pixel(plot, 2.5, 2.5))
    hover(plot, pixel(plot, 0.5, 0.5))
    hover(plot, QPoint(3, 3))
    hover(plot, pixel(plot, 0.5, 0.5))
    leave(plot)
    first = "embeddings, [CLS] (token 0): 1"
    assert told == ["layer 1, [SEP] (token 2): 9", first, "", first, ""]


def test_a_click_tells_row_and_column(plot: GridPlot, qtbot: QtBot) -> None:
    chart = norms_chart(make_run())
    rows = tuple(SelectionKey(f"layer.{n}") for n in range(3))
    plot.show_chart(replace(chart, row_keys=rows))
    with qtbot.waitSignal(plot.clicked) as clicked:
        click(plot, pixel(plot, 1.5, 2.5))
    assert clicked.args == [SelectionKey("layer.2", token=1)]
    told: list[SelectionKey] = []
    plot.clicked.connect(told.append)
    click(plot, pixel(plot, 3.2, 1.5))
    plot.show_chart(replace(chart, row_keys=(), column_keys=()))
    click(plot, pixel(plot, 1.5, 2.5))
    QApplication.processEvents()
    assert told == []


def test_a_click_on_two_tokens_tells_the_rows(plot: GridPlot) -> None:
    plot.show_chart(square([[1.0, 2.0, 3.0]] * 3))
    assert plot.place_at(scene(plot, 0.5, 2.5)) == SelectionKey(token=2)


def test_row_0_is_at_the_bottom_or_at_the_top(plot: GridPlot) -> None:
    assert pixel(plot, 0.5, 0.5).y() > pixel(plot, 0.5, 2.5).y()
    assert color(plot, 0.5, 0.5) == LOWEST
    assert color(plot, 2.5, 2.5) == HIGHEST
    assert color(plot, 0.5, 2.5) not in (LOWEST, HIGHEST, LIGHT.surface)
    plot.show_chart(square([[0.0, 1.0], [2.0, 3.0]]))
    assert pixel(plot, 0.5, 0.5).y() < pixel(plot, 0.5, 1.5).y()
    assert color(plot, 0.5, 0.5) == LOWEST
    assert color(plot, 1.5, 1.5) == HIGHEST
    assert plot.text_at(scene(plot, 0.5, 1.5)) == "t1, t0: 2"


def test_a_missing_value_stays_empty(plot: GridPlot) -> None:
    plot.show_chart(norms_chart(make_run(norms=((1.0, 2.0, 3.0), (None, 4.0, None)))))
    assert color(plot, 0.5, 1.5) == LIGHT.surface
    assert color(plot, 1.5, 1.5) == HIGHEST
    assert plot.text_at(scene(plot, 0.5, 1.5)) == "layer 0, [CLS] (token 0): nan"
    plot.show_chart(square([[float("nan")]]))
    assert color(plot, 0.5, 0.5) == LIGHT.surface


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_signed_colours_are_symmetric_about_0(plot: GridPlot, theme: Theme) -> None:
    plot.set_theme(theme)
    plot.show_chart(square([[-2.0, 0.0, 1.0], [-1.0, float("nan"), 0.0], [0.5, -0.5, 0.0]], True))
    assert plot.levels() == (-2.0, 2.0)
    assert color(plot, 0.5, 0.5) == theme.diverging[0]
    zero = color(plot, 1.5, 0.5)
    assert zero == color(plot, 2.5, 1.5) == color(plot, 2.5, 2.5)
    # Almost the background, and no empty cell.
    assert zero != color(plot, 1.5, 1.5) == theme.surface
    assert abs(QColor(zero).lightness() - QColor(theme.surface).lightness()) < 40
    # Blue below and orange above, and more of it the larger a value is.
    minus, plus = QColor(color(plot, 0.5, 1.5)), QColor(color(plot, 2.5, 0.5))
    assert minus.blue() > minus.red()
    assert plus.red() > plus.blue()
    half = QColor(color(plot, 0.5, 2.5))
    away = [abs(c.lightness() - QColor(zero).lightness()) for c in (half, plus)]
    saturation = [c.red() - c.blue() for c in (half, plus)]
    assert away[0] < away[1] or saturation[0] < saturation[1]


def test_two_grids_can_have_one_range(plot: GridPlot) -> None:
    chart = replace(square([[1.0, 2.0], [3.0, 4.0]]), levels=(0.0, 8.0))
    plot.show_chart(chart)
    assert plot.levels() == (0.0, 8.0)
    assert color(plot, 0.5, 0.5) != LOWEST
    assert color(plot, 1.5, 1.5) != HIGHEST
    plot.show_chart(replace(chart, levels=(2.0, 3.0)))
    assert color(plot, 0.5, 0.5) == LOWEST
    assert color(plot, 1.5, 1.5) == HIGHEST


def test_colours_of_square_roots(plot: GridPlot) -> None:
    chart = replace(square([[0.25, -0.015625], [0.0625, -1.0]], True), is_root=True)
    plot.show_chart(square([[0.5, -0.125], [0.25, -1.0]], True))
    cells = [(0.5, 0.5), (1.5, 0.5), (0.5, 1.5), (1.5, 1.5)]
    expected = [color(plot, *cell) for cell in cells]
    plot.show_chart(chart)
    assert [color(plot, *cell) for cell in cells] == expected
    assert plot.levels() == (-1.0, 1.0)
    assert plot.text_at(scene(plot, 0.5, 0.5)) == "t0, t0: 0.25"


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_a_second_text_is_set_off(plot: GridPlot, theme: Theme) -> None:
    plot.set_theme(theme)
    chart = square([[1.0] * 4] * 4)
    plot.show_chart(chart)
    assert theme.muted not in column_of(plot, 2.5, 1.0)
    plot.show_chart(replace(chart, column_starts=(1,), row_starts=(3,)))
    assert theme.muted in column_of(plot, 2.5, 3.0)
    assert theme.muted not in column_of(plot, 2.5, 1.0)
    assert theme.muted in row_of(plot, 1.0, 2.5)
    assert theme.muted not in row_of(plot, 3.0, 2.5)
    # A text that begins at an end has nothing to be set off from.
    plot.show_chart(replace(chart, column_starts=(0,), row_starts=(4,)))
    assert len(plot.area.items) == 2


def column_of(plot: GridPlot, x: float, y: float) -> set[str]:
    """Return the colours of a few pixels above and below a point."""
    place = pixel(plot, x, y)
    return colors_of(plot.grab().toImage().copy(place.x(), place.y() - 2, 1, 5))


def row_of(plot: GridPlot, x: float, y: float) -> set[str]:
    """Return the colours of a few pixels left and right of a point."""
    place = pixel(plot, x, y)
    return colors_of(plot.grab().toImage().copy(place.x() - 2, place.y(), 5, 1))


def test_a_neighbour_has_the_title_or_the_bar(plot: GridPlot) -> None:
    chart = replace(norms_chart(make_run()), value_title="B · Norm")

    def shown(side: Side | None) -> tuple[str, bool, str, float]:
        plot.share(side, "Norm")
        plot.show_chart(chart)
        lay_out(plot, 640, 320)
        item, bar = plot.area, plot.color_bar
        title = bar.getAxis("right").title
        return item.getAxis("left").title, bar.isVisible(), title, item.vb.width()

    left, has_bar, title, alone = shown(None)
    assert (left, has_bar, title) == ("Layer", True, "B · Norm")
    taken = plot.beside_cells()
    left, has_bar, title, wide = shown("left")
    assert (left, has_bar, title) == ("", True, "Norm")
    assert wide - alone == pytest.approx(taken - plot.beside_cells(), abs=1)
    left, has_bar, _, wide = shown("right")
    assert (left, has_bar) == ("Layer", False)
    assert wide - alone == pytest.approx(taken - plot.beside_cells(), abs=1)
    assert shown(None)[3] == alone


def test_drawing_twice_does_not_pile_up(plot: GridPlot) -> None:
    items, total = len(plot.area.items), len(plot.scene().items())
    for theme in (DARK, LIGHT, DARK):
        plot.set_theme(theme)
        plot.show_chart(norms_chart(make_run()))
        plot.mark(SelectionKey(token=1))
    assert len(plot.area.items) == items == 2
    assert len(plot.scene().items()) == total
    bars = [item for item in plot.scene().items() if isinstance(item, ColorBar)]
    assert len(bars) == 1


def test_old_cells_are_let_go(plot: GridPlot) -> None:
    (old,) = (weakref.ref(i) for i in plot.area.items if isinstance(i, Cells))
    plot.show_chart(norms_chart(make_run()))
    gc.collect()
    assert old() is None


def test_the_theme_changes_the_colours(plot: GridPlot) -> None:
    assert LIGHT.surface in colors(plot)
    plot.set_theme(DARK)
    found = colors(plot)
    assert DARK.surface in found
    assert LIGHT.surface not in found
    assert color(plot, 2.5, 2.5) == HIGHEST


def test_the_bar_has_the_range(plot: GridPlot) -> None:
    assert plot.levels() == (1.0, 9.0)
    plot.show_chart(norms_chart(make_run(norms=((4.0, 5.0, 6.0),))))
    assert plot.levels() == (4.0, 6.0)


def test_another_chart_has_its_own_size(plot: GridPlot) -> None:
    plot.show_chart(norms_chart(make_run(["a", "b"], [[1.0, 2.0]] * 5)))
    (left, right), (bottom, top) = plot.area.vb.viewRange()
    assert (left, right, bottom, top) == (0, 2, 0, 5)
    assert plot.text_at(scene(plot, 1.5, 4.5)) == "layer 3, b (token 1): 2"
    assert plot.text_at(scene(plot, 2.5, 0.5)) == ""


def test_nothing_to_show(plot: GridPlot) -> None:
    before = scene(plot, 1.5, 1.5)
    for empty in (None, norms_chart(make_run(norms=())), norms_chart(make_run((), ()))):
        plot.show_chart(empty)
        plot.mark(SelectionKey(token=0))
        assert plot.text_at(before) == ""
        assert plot.place_at(before) is None
        assert plot.area.items == []
        assert HIGHEST not in colors(plot)
        plot.show_chart(norms_chart(make_run()))
        assert HIGHEST in colors(plot)


def test_one_cell(plot: GridPlot) -> None:
    plot.show_chart(square([[3.0]]))
    plot.mark(SelectionKey(token=0))
    assert plot.text_at(scene(plot, 0.5, 0.5)) == "t0, t0: 3"
    assert color(plot, 0.5, 0.5) not in (LIGHT.surface, LIGHT.text)
    low, high = plot.levels()
    assert low < 3 < high
