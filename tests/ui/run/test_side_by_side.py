"""Two runs as grids: what is the same for both is there once, and their cells are as large."""

import io
from collections.abc import Sequence

import numpy as np
import pypdf
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTabWidget, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import GridChart
from bertviewer.charts.theme import LIGHT
from bertviewer.plots import export
from bertviewer.plots.arc_plot import ArcPlot
from bertviewer.plots.head_grid import HeadGrid
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.token_matrix import TokenMatrix
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.views.side_by_side import Column, SideBySide
from tests.plots.looking import box, colors_of
from tests.plots.test_token_matrix import chart_of
from tests.ui.finding import find
from tests.ui.run.layers_window import settle


def show(window: MainWindow, title: str, name: str, worker: Worker, qtbot: QtBot) -> None:
    """Bring a view into sight, and wait until the two plots of this name show both runs."""
    tabs = find(window, QTabWidget, "runViews")
    tabs.setCurrentIndex([tabs.tabText(n) for n in range(tabs.count())].index(title))

    def are_shown() -> bool:
        found = columns(window, name)
        return len(found) == 2 and all(column.plot.chart is not None for column in found)

    qtbot.waitUntil(are_shown)
    if not window.panes.dock("structure").isHidden():
        window.panes.maximize("run")  # so that titles have room
    settle(window, worker, qtbot)


def rest(plots: Sequence[Heatmap | HeadGrid]) -> None:
    """Let events pass until the plots keep their sizes: axes find theirs while they are drawn."""
    before = None
    while before != (now := [size(plot) for plot in plots]):
        before = now
        for plot in plots:
            plot.grab()
        # What they asked for, and what came of that.
        QApplication.processEvents()
        QApplication.processEvents()


def size(plot: Heatmap | HeadGrid) -> tuple[float, float]:
    """Return the size of the cells, or of the first head."""
    return cells(plot) if isinstance(plot, Heatmap) else plot.head_rect(0).size().toTuple()


def columns(window: MainWindow, name: str) -> list[Column]:
    """Return B's column and A's, of the plot with this name."""
    return next(
        row.columns
        for row in window.findChildren(SideBySide)
        if row.columns[0].plot.objectName() == name
    )


def cells(plot: Heatmap) -> tuple[float, float]:
    return box(plot).width(), box(plot).height()


def left_title(plot: Heatmap) -> str:
    """Return the title that is drawn at the left."""
    is_drawn = plot.neighbour != "left" and plot.chart is not None
    return plot.chart.y_title if plot.chart is not None and is_drawn else ""


def has_bar(plot: Heatmap) -> bool:
    return plot.color_bar is not None


def cell_width(plot: Heatmap) -> float:
    assert plot.chart is not None
    return cells(plot)[0] / len(plot.chart.columns)


def test_two_grids_share_the_title_and_the_bar(
    compared: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    show(compared, "Layers", "tokenHeatmap", worker, qtbot)
    b, a = (column.plot for column in columns(compared, "tokenHeatmap"))
    assert isinstance(a, Heatmap)
    assert isinstance(b, Heatmap)
    for wanted in (QSize(1000, 700), QSize(1500, 950)):
        compared.resize(wanted)
        rest((a, b))
        assert (has_bar(a), has_bar(b)) == (False, True)
        assert b.color_bar is not None
        assert not b.color_bar.title.startswith("B")
        assert cell_width(a) == pytest.approx(cell_width(b), abs=0.5)
        assert cells(a)[1] == pytest.approx(cells(b)[1], abs=2)
    for run_name, plot in (("A", a), ("B", b)):
        page = pypdf.PdfReader(io.BytesIO(export.pdf(plot))).pages[0]
        turned = " ".join(page.extract_text(orientations=(90, 270)).split())
        # What stands above it on the screen tells the same; a file has nothing above it.
        assert "Layer" in turned
        assert f"{run_name} ·" in turned
    rest((a, b))
    assert (has_bar(a), has_bar(b)) == (False, True)
    assert cell_width(a) == pytest.approx(cell_width(b), abs=0.5)
    find(compared, QToolButton, "difference").click()
    settle(compared, worker, qtbot)
    assert has_bar(b)


@pytest.mark.parametrize(
    ("counts", "have_gaps"), [((4, 4), True), ((4, 40), False), ((20, 12), True), ((60, 60), False)]
)
def test_cells_side_by_side_have_gaps_both_or_neither(
    qtbot: QtBot, counts: tuple[int, int], have_gaps: bool
) -> None:
    row = SideBySide()
    qtbot.addWidget(row)
    plots = Heatmap(), Heatmap()
    for plot, name in zip(plots, "BA", strict=True):
        row.add(Column(plot, name))
    row.resize(640, 300)
    row.show()

    def chart(count: int) -> GridChart:
        names = tuple(map(str, range(count)))
        return GridChart(np.ones((3, count)), names[:3], names, levels=(0.0, 1.0))

    def has_gaps(plot: Heatmap) -> bool:
        cells = box(plot).adjusted(2, 2, -2, -2).toRect()
        return LIGHT.surface in colors_of(plot.grab(cells).toImage())

    row.show_charts(chart(counts[0]), chart(counts[1]))
    rest(plots)
    assert [has_gaps(plot) for plot in plots] == [have_gaps] * 2
    row.show_charts(chart(4), None)
    rest(plots[:1])
    assert has_gaps(plots[0])


def test_only_what_means_the_same_is_shared(qtbot: QtBot) -> None:
    row = SideBySide()
    qtbot.addWidget(row)
    b, a = (Heatmap(), Heatmap())
    row.add(Column(b, "B"))
    row.add(Column(a, "A"))
    row.resize(600, 300)
    row.show()
    names = ("x", "y")
    chart = GridChart(np.eye(2), names, names, y_title="Layer", value_title="B · Norm")
    of_b = replace(chart, levels=(0.0, 2.0))
    of_a = replace(of_b, value_title="A · Norm")
    others = (
        (replace(of_a, levels=(0.0, 1.0)), of_b),
        (replace(of_a, y_title="Head"), of_b),
        (replace(of_a, value_title="A · Entropy"), of_b),
        (replace(of_a, is_root=True), of_b),
        (replace(of_a, levels=None), replace(of_b, levels=None)),
    )
    for mine, other in others:
        row.show_charts(of_b, of_a)
        assert (has_bar(a), left_title(b)) == (False, "")
        row.show_charts(other, mine)
        assert (has_bar(a), has_bar(b)) == (True, True)
        assert (left_title(a), left_title(b)) == (mine.y_title, "Layer")
    row.show_charts(of_b, of_a)
    row.show_charts(chart, None)
    assert (has_bar(b), left_title(b)) == (True, "Layer")
    assert not a.isVisible()


def test_two_grids_of_heads_share_the_bar(
    compared: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    show(compared, "Attention", "headGrid", worker, qtbot)
    b, a = (column.plot for column in columns(compared, "headGrid"))
    assert isinstance(a, HeadGrid)
    assert isinstance(b, HeadGrid)
    for wanted in (QSize(1000, 700), QSize(1500, 950)):
        compared.resize(wanted)
        rest((a, b))
        assert (a.reserved_width() > 0, b.reserved_width() > 0) == (False, True)
        assert a.head_rect(0).width() == pytest.approx(b.head_rect(0).width(), abs=1)
    find(compared, QToolButton, "difference").click()
    settle(compared, worker, qtbot)
    assert b.reserved_width() > 0


def test_two_matrices_share_the_bar_and_tell_their_runs_in_files(
    compared: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    show(compared, "Attention", "headPlot", worker, qtbot)
    b, a = (column.plot for column in columns(compared, "headPlot"))
    assert isinstance(a, TokenMatrix)
    assert isinstance(b, TokenMatrix)
    for wanted in (QSize(1000, 700), QSize(1500, 950)):
        compared.resize(wanted)
        settle(compared, worker, qtbot)
        sizes = [_matrix(plot) for plot in (a, b)]
        assert sizes[0] == pytest.approx(sizes[1], abs=2)
    for name, plot in (("A", a), ("B", b)):
        page = pypdf.PdfReader(io.BytesIO(export.pdf(plot))).pages[0]
        turned = " ".join(page.extract_text(orientations=(90, 270)).split())
        assert f"{name} · Attention" in turned
    assert [_matrix(plot) for plot in (a, b)] == sizes


def _matrix(plot: TokenMatrix) -> tuple[float, float]:
    layout = plot.layout_of_cells()
    assert layout is not None
    return layout.cells.width(), layout.cells.height()


@pytest.mark.parametrize("kind", [TokenMatrix, ArcPlot])
def test_both_are_seen_from_as_near(kind: type[TokenMatrix | ArcPlot], qtbot: QtBot) -> None:
    row = SideBySide()
    qtbot.addWidget(row)
    row.resize(900, 400)
    b, a = kind(), kind()
    row.add(Column(b, "B"))
    row.add(Column(a, "A"))
    row.show_charts(chart_of(40), chart_of(40))
    row.show()

    def seen(plot: TokenMatrix | ArcPlot) -> list[int]:
        """Return which rows' names the plot leads to, from its left edge to its right one."""
        high = plot.height() - 30 if isinstance(plot, TokenMatrix) else 5
        places = (plot.key_at(QPointF(x, high)) for x in range(0, plot.width(), 3))
        return [place.token for place in places if place is not None and place.token is not None]

    whole = seen(b)
    for plot, key in ((b, Qt.Key.Key_Plus), (a, Qt.Key.Key_Plus)):
        for _ in range(6):
            QTest.keyClick(plot, key)
    assert len(set(seen(b))) < len(set(whole))
    assert set(seen(a)) <= set(whole)
    assert abs(len(set(seen(a))) - len(set(seen(b)))) <= 4
    QTest.keyClick(a, Qt.Key.Key_0)
    assert seen(b) == whole
    # What comes beside one that is looked at closely is seen as it is.
    QTest.keyClick(b, Qt.Key.Key_Plus)
    near = seen(a)
    row.show_charts(chart_of(40), None)
    row.show_charts(chart_of(40), chart_of(40))
    assert seen(a) == near
