"""The bar beside the heads: its colours, and labels that have room."""

import io

import numpy as np
import pypdf
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QFont, QImage, QPainter
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import GridChart, HeadsChart
from bertviewer.charts.levels import Levels
from bertviewer.charts.theme import LIGHT
from bertviewer.plots import export
from bertviewer.plots.color_scale import ColorScale, color_table
from bertviewer.plots.grid_plot import GridPlot
from bertviewer.plots.head_bar import BEFORE, HeadBar
from bertviewer.plots.head_grid import HeadGrid
from bertviewer.plots.paper import ChartWidget, lay_out
from tests.plots.looking import HIGHEST, LOWEST, numbers

HEIGHT = 512  # two rows of pixels for each shade


def drawn(levels: Levels, is_root: bool) -> tuple[QImage, float]:
    """Return a bar beside a strip of 20 pixels, and how wide it said that it would be."""
    scale = ColorScale(levels, color_table(LIGHT, False), is_root=is_root)
    bar = HeadBar(QFont())
    image = QImage(300, HEIGHT + 40, QImage.Format.Format_RGB32)
    image.fill(LIGHT.surface)
    painter = QPainter(image)
    bar.draw(painter, QRectF(0, 20, 20, HEIGHT), scale, LIGHT)
    painter.end()
    return image, bar.room(scale, HEIGHT)


@pytest.mark.parametrize("is_root", [False, True])
@pytest.mark.parametrize("high", [1.0, 3e-6])
def test_the_bar_has_all_colours_and_its_labels_have_room(
    qapp: object, high: float, is_root: bool
) -> None:
    del qapp
    image, room = drawn((0.0, high), is_root)
    x = int(20 + BEFORE + 5)
    assert image.pixelColor(x, 21).name() == HIGHEST
    assert image.pixelColor(x, HEIGHT + 18).name() == LOWEST
    columns = np.flatnonzero((numbers(image) != 0xFFFFFFFF).any(axis=0))
    assert columns[-1] - 20 <= room < columns[-1] - 20 + 30


def test_roots_move_nothing(qapp: object) -> None:
    del qapp
    rooms = {drawn((low, 0.9), is_root)[1] for low in (0.0, -0.9) for is_root in (False, True)}
    assert len(rooms) == 1
    # Small numbers take more.
    assert drawn((0.0, 3e-6), False)[1] > rooms.pop()


def heads(window: QWidget) -> ChartWidget:
    grid = HeadGrid(window)
    values = np.linspace(0.0, 0.9, 32, dtype=np.float64).reshape(2, 4, 4)
    names = tuple("abcd")
    grid.show_chart(HeadsChart(values, ("", ""), names, names, is_root=True))
    return grid


def head(window: QWidget) -> ChartWidget:
    plot = GridPlot(window)
    values = np.linspace(0.0, 0.9, 16).reshape(4, 4)
    names = tuple("abcd")
    plot.show_chart(GridChart(values, names, names, is_root=True))
    return plot


def test_both_bars_are_labelled_alike_on_paper_too(window: QWidget) -> None:
    for make in (heads, head):
        plot = make(window)
        plot.show()
        lay_out(plot, 560, 600)
        (page,) = pypdf.PdfReader(io.BytesIO(export.pdf(plot))).pages
        words = page.extract_text(orientations=(0,)).split()
        found = [word for word in words if word[:2] == "0."]
        expected = "0.00 0.01 0.03 0.06 0.10 0.20 0.30 0.40 0.50 0.70 0.90"
        assert " ".join(sorted(found)) == expected, make
