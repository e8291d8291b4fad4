"""Two plots side by side: what they share, the size of their cells, and zoom."""

import io

import numpy as np
import pypdf
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import GridChart, HeadsChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import LIGHT
from bertviewer.plots import export
from bertviewer.plots.arc_plot import ArcPlot
from bertviewer.plots.canvas_plot import CanvasPlot
from bertviewer.plots.head_grid import HeadGrid
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.token_matrix import TokenMatrix
from bertviewer.ui.views.side_by_side import Column, SideBySide
from tests.plots.looking import box, colors_of


def grid(columns: int, rows: int = 3, run: str = "B") -> GridChart:
    names = tuple(f"word{n}" for n in range(max(rows, columns)))
    return GridChart(
        np.ones((rows, columns)),
        names[:rows],
        names[:columns],
        row_keys=tuple(SelectionKey(token=n) for n in range(rows)),
        x_title="Key",
        y_title="Query",
        value_title=f"{run} · Norm",
        levels=(0.0, 1.0),
    )


def heads(columns: int, run: str = "B") -> HeadsChart:
    names = tuple(f"word{n}" for n in range(columns))
    values = np.ones((12, columns, columns))
    return HeadsChart(values, ("",) * 12, names, names, f"{run} · Attention", levels=(0.0, 1.0))


def side_by_side(
    qtbot: QtBot, kind: type[CanvasPlot], size: tuple[int, int] = (640, 300)
) -> tuple[SideBySide, CanvasPlot, CanvasPlot]:
    """Return two empty plots, the current run's first."""
    row, b, a = SideBySide(), kind(), kind()
    qtbot.addWidget(row)
    row.add(Column(b, "B"))
    row.add(Column(a, "A"))
    row.resize(*size)
    row.show()
    return row, b, a


def settle(*plots: CanvasPlot) -> None:
    """Process events until the plots keep their sizes, which axes find while they are drawn."""
    before = None
    while before != (now := [cell_width(plot) for plot in plots]):
        before = now
        for plot in plots:
            plot.grab()
        for _ in range(2):
            QApplication.processEvents()


def cell_width(plot: CanvasPlot) -> float:
    """Return the width of a cell, or of a head."""
    if isinstance(plot, HeadGrid):
        return plot.head_rect(0).width()
    assert isinstance(plot, Heatmap | TokenMatrix)
    layout = plot.layout_of_cells()
    return (
        0.0 if layout is None or plot.chart is None else layout.cells.width() / plot.cells_across()
    )


def left_title(plot: CanvasPlot) -> str:
    assert isinstance(plot, Heatmap)
    return plot.chart.y_title if plot.chart is not None and plot.neighbour != "left" else ""


def test_only_equal_titles_and_scales_are_shared(qtbot: QtBot) -> None:
    row, b, a = side_by_side(qtbot, Heatmap)
    assert isinstance(a, Heatmap)
    assert isinstance(b, Heatmap)

    def have_bars() -> tuple[bool, bool]:
        return a.color_bar is not None, b.color_bar is not None

    of_b, of_a = grid(2), grid(2, run="A")
    for mine, other in (
        (replace(of_a, levels=(0.0, 2.0)), of_b),
        (replace(of_a, y_title="Head"), of_b),
        (replace(of_a, value_title="A · Entropy"), of_b),
        (replace(of_a, is_root=True), of_b),
        (replace(of_a, levels=None), replace(of_b, levels=None)),
    ):
        row.show_charts(of_b, of_a)
        assert (have_bars(), left_title(a), left_title(b)) == ((False, True), "Query", "")
        assert b.color_bar is not None
        assert b.color_bar.title == "Norm"  # of both runs
        row.show_charts(other, mine)
        assert have_bars() == (True, True)
        assert (left_title(a), left_title(b)) == (mine.y_title, "Query")
    row.show_charts(of_b, None)
    assert b.color_bar is not None
    assert left_title(b) == "Query"
    assert not a.isVisible()


@pytest.mark.parametrize("size", [(640, 300), (1200, 500)])
@pytest.mark.parametrize(
    ("kind", "counts"), [(Heatmap, (8, 9)), (TokenMatrix, (8, 8)), (HeadGrid, (8, 9))]
)
def test_cells_of_both_are_equally_wide(
    qtbot: QtBot, kind: type[CanvasPlot], counts: tuple[int, int], size: tuple[int, int]
) -> None:
    row, b, a = side_by_side(qtbot, kind, size)
    make = heads if kind is HeadGrid else grid
    row.show_charts(make(counts[1]), make(counts[0], run="A"))
    settle(b, a)
    assert cell_width(a) == pytest.approx(cell_width(b), abs=1)
    assert a.reserved_width() < b.reserved_width()  # which has the colour bar


@pytest.mark.parametrize(
    ("counts", "have_gaps"), [((4, 4), True), ((4, 40), False), ((20, 12), True), ((60, 60), False)]
)
def test_both_have_gaps_between_cells_or_none(
    qtbot: QtBot, counts: tuple[int, int], have_gaps: bool
) -> None:
    row, b, a = side_by_side(qtbot, Heatmap)

    def has_gaps(plot: CanvasPlot) -> bool:
        cells = box(plot).adjusted(2, 2, -2, -2).toRect()
        return LIGHT.surface in colors_of(plot.grab(cells).toImage())

    row.show_charts(grid(counts[0]), grid(counts[1], run="A"))
    settle(b, a)
    assert [has_gaps(plot) for plot in (b, a)] == [have_gaps] * 2
    row.show_charts(grid(4), None)
    settle(b)
    assert has_gaps(b)


@pytest.mark.parametrize("kind", [Heatmap, TokenMatrix])
def test_a_file_of_one_plot_names_its_run(qtbot: QtBot, kind: type[CanvasPlot]) -> None:
    row, b, a = side_by_side(qtbot, kind)
    row.show_charts(grid(8), grid(8, run="A"))
    settle(b, a)
    before = cell_width(a), cell_width(b)
    for run, plot in (("A", a), ("B", b)):
        page = pypdf.PdfReader(io.BytesIO(export.pdf(plot))).pages[0]
        turned = " ".join(page.extract_text(orientations=(90, 270)).split())
        assert f"{run} · Norm" in turned
        assert kind is TokenMatrix or "Query" in turned
    assert (cell_width(a), cell_width(b)) == before


@pytest.mark.parametrize("kind", [TokenMatrix, ArcPlot])
def test_both_have_the_same_zoom(qtbot: QtBot, kind: type[TokenMatrix | ArcPlot]) -> None:
    row, b, a = side_by_side(qtbot, kind, (900, 400))
    chart = replace(grid(40, 40), is_top_down=True)
    row.show_charts(chart, chart)

    def visible(plot: CanvasPlot) -> set[int]:
        """Return the rows whose names the plot has between its left and right edge."""
        y = plot.height() - 30 if isinstance(plot, TokenMatrix) else 5
        places = (plot.key_at(QPointF(x, y)) for x in range(0, plot.width(), 3))
        return {place.token for place in places if place is not None and place.token is not None}

    whole = visible(b)
    for plot in (b, a):
        for _ in range(6):
            QTest.keyClick(plot, Qt.Key.Key_Plus)
    assert len(visible(b)) < len(whole)
    assert abs(len(visible(a)) - len(visible(b))) <= 4
    QTest.keyClick(a, Qt.Key.Key_0)
    assert visible(b) == whole
    # A plot that is added next to a zoomed one is zoomed too.
    QTest.keyClick(b, Qt.Key.Key_Plus)
    zoomed = visible(a)
    row.show_charts(chart, None)
    row.show_charts(chart, chart)
    assert visible(a) == zoomed
