"""A plot on paper: one page, text that can be selected, lines and no bitmaps."""

import io

import pypdf
import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import Line, LineChart
from bertviewer.charts.theme import DARK
from bertviewer.charts.token_charts import norms_chart
from bertviewer.plots import export
from bertviewer.plots.grid_plot import GridPlot
from bertviewer.plots.line_plot import LinePlot
from bertviewer.plots.paper import alone, lay_out, plot_pdf
from bertviewer.plots.plot import Side
from tests.charts.runs import make_run


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    """Return what owns the plots; it is never shown."""
    window = QWidget()
    qtbot.addWidget(window)
    return window


@pytest.fixture
def layers(window: QWidget) -> LinePlot:
    plot = LinePlot(window)
    line = Line("encoder: output", (0.5, None, 0.75))
    other = Line("encoder: part", (0.6, 0.55, 0.5), low=(0.5,) * 3, high=(0.7, 0.6, 0.6))
    plot.show_chart(LineChart((line, other), "Layer", "zero_fraction", ("0", "1", "2")))
    return plot


@pytest.fixture
def heatmap(window: QWidget) -> GridPlot:
    plot = GridPlot(window)
    run = make_run(["[CLS]", "one", "<b>two</b>", "##1", "[SEP]"], [[1, 2, 3, 4, None]])
    plot.show_chart(norms_chart(run))
    return plot


def page_of(pdf: bytes) -> pypdf.PageObject:
    reader = pypdf.PdfReader(io.BytesIO(pdf))
    assert len(reader.pages) == 1
    return reader.pages[0]


def words(page: pypdf.PageObject) -> set[str]:
    return set(page.extract_text().split())


@pytest.mark.parametrize("width", [140, 400])
def test_one_of_two_is_whole_on_paper(heatmap: GridPlot, width: int) -> None:
    assert heatmap.chart is not None
    chart = replace(heatmap.chart, value_title="A · Norm", y_title="Rows")
    # Alone it may need more than the smaller width, and would keep that.
    lay_out(heatmap, 400, 300)
    sides: tuple[Side, Side] = ("left", "right")
    for side in sides:
        heatmap.share(side, "Norm")
        heatmap.show_chart(chart)
        lay_out(heatmap, width, 300)
        cells, bar = heatmap.area.vb.width(), heatmap.color_bar
        before = bar.isVisible(), heatmap.area.getAxis("left").title
        page = page_of(export.pdf(heatmap))
        turned = " ".join(page.extract_text(orientations=(90, 270)).split())
        assert "A · Norm" in turned
        assert "Rows" in turned
        assert float(page.mediabox.width) > 0.75 * width + 5
        assert before == ((True, "") if side == "left" else (False, "Rows"))
        assert heatmap.neighbour == side
        assert (bar.isVisible(), heatmap.area.getAxis("left").title) == before
        lay_out(heatmap, width, 300)
        assert heatmap.area.width() == heatmap.width() == width
        assert heatmap.area.vb.width() == cells
        # The cells are as wide as they were.
        with alone(heatmap):
            lay_out(heatmap, heatmap.width(), 300)
            assert heatmap.area.vb.width() == pytest.approx(cells, abs=1)


def test_size_in_points(layers: LinePlot) -> None:
    for width, height in ((680, 300), (400, 200), (1000, 321)):
        box = page_of(plot_pdf(layers, width, height)).mediabox
        assert float(box.width) == pytest.approx(0.75 * width, abs=1)
        assert float(box.height) == pytest.approx(0.75 * height, abs=1)


def test_lines(layers: LinePlot) -> None:
    page = page_of(plot_pdf(layers, 680, 300))
    assert {"Layer", "zero_fraction", "0", "1", "2", "0.50", "encoder:", "part"} <= words(page)
    assert list(page.images) == []


def test_grid(heatmap: GridPlot) -> None:
    page = page_of(plot_pdf(heatmap, 680, 320))
    assert {"Token", "Layer", "emb", "[CLS]", "one", "<b>two</b>", "##1", "[SEP]"} <= words(page)
    assert list(page.images) == []


def test_drawing_is_inside_the_page(heatmap: GridPlot) -> None:
    page = page_of(plot_pdf(heatmap, 680, 320))
    places: list[tuple[float, float]] = []

    def visit(text: str, matrix: list[float], text_matrix: list[float], *_: object) -> None:
        if text.strip():
            (a, b, c, d, e, f), (x, y) = matrix, text_matrix[4:]
            places.append((a * x + c * y + e, b * x + d * y + f))

    page.extract_text(visitor_text=visit)
    assert len(places) > 8
    for x, y in places:
        assert 0 <= x <= float(page.mediabox.width)
        assert 0 <= y <= float(page.mediabox.height)


def test_the_same_plot_twice_is_the_same_drawing(layers: LinePlot) -> None:
    def content() -> bytes:
        contents = page_of(plot_pdf(layers, 680, 300)).get_contents()
        assert contents is not None
        return contents.get_data()

    first = content()
    assert len(first) > 1000
    assert content() == first
    layers.set_theme(DARK)
    assert content() == first  # in the colours for paper


def test_empty_plots(window: QWidget) -> None:
    layers, heatmap = LinePlot(window), GridPlot(window)
    layers.show_chart(LineChart((), "Layer", "std", ()))
    heatmap.show_chart(norms_chart(make_run((), ())))
    for plot in (layers, heatmap):
        page = page_of(plot_pdf(plot, 400, 300))
        assert "Layer" in words(page)
        assert list(page.images) == []
