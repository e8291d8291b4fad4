"""The grid: which cell is where, what it says, and texts of any kind along its axes."""

import gc
import weakref
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.plots.cells import Cells
from bertviewer.plots.chart import Place
from bertviewer.plots.color_bar import ColorBar
from bertviewer.plots.grid_plot import GridPlot
from bertviewer.plots.theme import DARK, LIGHT, PlotTheme
from bertviewer.plots.token_norms import norms_chart
from tests.plots.grids import grid_in, square
from tests.plots.looking import (
    HIGHEST,
    LOWEST,
    click,
    color,
    colors,
    hover,
    leave,
    make_run,
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
    rows = tuple(Place(f"layer.{n}") for n in range(3))
    plot.show_chart(replace(chart, row_places=rows))
    with qtbot.waitSignal(plot.clicked, timeout=2000) as clicked:
        click(plot, pixel(plot, 1.5, 2.5))
    assert clicked.args == [Place("layer.2", token=1)]
    told: list[Place] = []
    plot.clicked.connect(told.append)
    click(plot, pixel(plot, 3.2, 1.5))
    plot.show_chart(replace(chart, row_places=(), column_places=()))
    click(plot, pixel(plot, 1.5, 2.5))
    qtbot.wait(50)
    assert told == []


def test_a_click_on_two_tokens_tells_the_rows(plot: GridPlot) -> None:
    plot.show_chart(square([[1.0, 2.0, 3.0]] * 3))
    assert plot.place_at(scene(plot, 0.5, 2.5)) == Place(token=2)


def test_row_0_is_at_the_bottom_or_at_the_top(plot: GridPlot) -> None:
    assert pixel(plot, 0.5, 0.5).y() > pixel(plot, 0.5, 2.5).y()
    assert color(plot, 0.5, 0.5) == LOWEST
    assert color(plot, 2.5, 2.5) == HIGHEST
    assert color(plot, 0.5, 2.5) not in (LOWEST, HIGHEST, LIGHT.background)
    plot.show_chart(square([[0.0, 1.0], [2.0, 3.0]]))
    assert pixel(plot, 0.5, 0.5).y() < pixel(plot, 0.5, 1.5).y()
    assert color(plot, 0.5, 0.5) == LOWEST
    assert color(plot, 1.5, 1.5) == HIGHEST
    assert plot.text_at(scene(plot, 0.5, 1.5)) == "t1, t0: 2"


def test_a_missing_value_stays_empty(plot: GridPlot) -> None:
    plot.show_chart(norms_chart(make_run(norms=((1.0, 2.0, 3.0), (None, 4.0, None)))))
    assert color(plot, 0.5, 1.5) == LIGHT.background
    assert color(plot, 1.5, 1.5) == HIGHEST
    assert plot.text_at(scene(plot, 0.5, 1.5)) == "layer 0, [CLS] (token 0): nan"
    plot.show_chart(square([[float("nan")]]))
    assert color(plot, 0.5, 0.5) == LIGHT.background


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_signed_colours_are_symmetric_about_0(plot: GridPlot, theme: PlotTheme) -> None:
    plot.set_theme(theme)
    plot.show_chart(square([[-2.0, 0.0, 1.0], [-1.0, float("nan"), 0.0], [0.5, -0.5, 0.0]], True))
    assert plot.levels() == (-2.0, 2.0)
    assert color(plot, 0.5, 0.5) == theme.diverging[0]
    zero = color(plot, 1.5, 0.5)
    assert zero == color(plot, 2.5, 1.5) == color(plot, 2.5, 2.5)
    # Almost the background, and no empty cell.
    assert zero != color(plot, 1.5, 1.5) == theme.background
    assert abs(QColor(zero).lightness() - QColor(theme.background).lightness()) < 40
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


def test_drawing_twice_does_not_pile_up(plot: GridPlot) -> None:
    items, total = len(plot.getPlotItem().items), len(plot.scene().items())
    for theme in (DARK, LIGHT, DARK):
        plot.set_theme(theme)
        plot.show_chart(norms_chart(make_run()))
        plot.mark(Place(token=1))
    assert len(plot.getPlotItem().items) == items == 2
    assert len(plot.scene().items()) == total
    bars = [item for item in plot.scene().items() if isinstance(item, ColorBar)]
    assert len(bars) == 1


def test_old_cells_are_let_go(plot: GridPlot) -> None:
    (old,) = (weakref.ref(i) for i in plot.getPlotItem().items if isinstance(i, Cells))
    plot.show_chart(norms_chart(make_run()))
    gc.collect()
    assert old() is None


def test_the_theme_changes_the_colours(plot: GridPlot) -> None:
    assert LIGHT.background in colors(plot)
    plot.set_theme(DARK)
    found = colors(plot)
    assert DARK.background in found
    assert LIGHT.background not in found
    assert color(plot, 2.5, 2.5) == HIGHEST


def test_the_bar_has_the_range(plot: GridPlot) -> None:
    assert plot.levels() == (1.0, 9.0)
    plot.show_chart(norms_chart(make_run(norms=((4.0, 5.0, 6.0),))))
    assert plot.levels() == (4.0, 6.0)


def test_another_chart_has_its_own_size(plot: GridPlot) -> None:
    plot.show_chart(norms_chart(make_run(["a", "b"], [[1.0, 2.0]] * 5)))
    (left, right), (bottom, top) = plot.getPlotItem().vb.viewRange()
    assert (left, right, bottom, top) == (0, 2, 0, 5)
    assert plot.text_at(scene(plot, 1.5, 4.5)) == "layer 3, b (token 1): 2"
    assert plot.text_at(scene(plot, 2.5, 0.5)) == ""


def test_nothing_to_show(plot: GridPlot) -> None:
    before = scene(plot, 1.5, 1.5)
    for empty in (None, norms_chart(make_run(norms=())), norms_chart(make_run((), ()))):
        plot.show_chart(empty)
        plot.mark(Place(token=0))
        assert plot.text_at(before) == ""
        assert plot.place_at(before) is None
        assert plot.getPlotItem().items == []
        assert HIGHEST not in colors(plot)
        plot.show_chart(norms_chart(make_run()))
        assert HIGHEST in colors(plot)


def test_one_cell(plot: GridPlot) -> None:
    plot.show_chart(square([[3.0]]))
    plot.mark(Place(token=0))
    assert plot.text_at(scene(plot, 0.5, 0.5)) == "t0, t0: 3"
    assert color(plot, 0.5, 0.5) not in (LIGHT.background, LIGHT.foreground)
    low, high = plot.levels()
    assert low < 3 < high


def labels(plot: GridPlot, side: str = "bottom") -> tuple[str, ...]:
    found: tuple[str, ...] = plot.getPlotItem().getAxis(side).labels()
    return found


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


def test_texts_of_any_kind_are_drawn_as_they_are(plot: GridPlot) -> None:
    plot.show_chart(norms_chart(make_run(HOSTILE, [[float(n) for n in range(len(HOSTILE))]] * 3)))
    for size in ((120, 90), (2000, 300), (640, 320)):
        plot.resize(*size)
        assert not plot.grab().isNull()
    shown = labels(plot)
    assert shown[:4] == ("<b>bold</…", "<img src=…", "&lt;&amp;", "注意力机制是什么意…")
    assert shown[4] == "xxxxxxxxx…"
    assert max(map(len, shown)) == 10
    for column, text in enumerate(HOSTILE):
        told = plot.text_at(scene(plot, column + 0.5, 0.5))
        assert told.startswith(f"embeddings, {text} (token {column}): ")


def test_markup_is_drawn_as_text(plot: GridPlot) -> None:
    """Tags take room like other letters; as markup these two would look the same."""

    def picture(texts: Sequence[str]) -> bytes:
        plot.show_chart(norms_chart(make_run(texts)))
        image = plot.grab().toImage()
        return bytes(image.constBits())

    assert picture(["<b>a</b>", "b", "c"]) != picture(["<i>a</i>", "b", "c"])
    assert picture(["<b>a</b>", "b", "c"]) == picture(["<b>a</b>", "b", "c"])


def test_the_last_of_many_tokens(plot: GridPlot) -> None:
    tokens = 512
    texts = [f"t{number}" for number in range(tokens)]
    plot.show_chart(norms_chart(make_run(texts, [[1.0] * tokens, [2.0] * tokens])))
    last = plot.text_at(scene(plot, tokens - 0.5, 1.5))
    assert last == f"layer 0, t{tokens - 1} (token {tokens - 1}): 2"


def test_tokens_on_both_axes(plot: GridPlot) -> None:
    plot.show_chart(square(np.eye(200).tolist()))
    assert labels(plot, "left") == labels(plot) == tuple(f"t{n}" for n in range(200))
    (shown,) = plot.getPlotItem().getAxis("left")._tickLevels
    assert 5 < len(shown) < 30
    assert shown[0] == (0.5, "t0")
    assert plot.place_at(QPointF(scene(plot, 3.5, 150.5))) == Place(token=150)
