"""A plot on paper: one page, text that can be selected, lines and no bitmaps."""

import io

import pypdf
import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.plots.layer_plot import LayerPlot
from bertviewer.plots.layers import LayerSeries
from bertviewer.plots.paper import plot_pdf
from bertviewer.plots.theme import DARK
from bertviewer.plots.token_heatmap import TokenHeatmap
from tests.plots.test_token_heatmap import make_run


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    """Return what owns the plots; it is never shown."""
    window = QWidget()
    qtbot.addWidget(window)
    return window


@pytest.fixture
def layers(window: QWidget) -> LayerPlot:
    plot = LayerPlot(window)
    line = LayerSeries("encoder: output", (0.5, None, 0.75), ("a", "b", "c"))
    other = LayerSeries("encoder: part", (0.6, 0.55, 0.5), ("d", "e", "f"))
    plot.show_series((line, other), "zero_fraction")
    return plot


@pytest.fixture
def heatmap(window: QWidget) -> TokenHeatmap:
    plot = TokenHeatmap(window)
    plot.show_run(make_run(["[CLS]", "one", "<b>two</b>", "##1", "[SEP]"], [[1, 2, 3, 4, None]]))
    return plot


def page_of(pdf: bytes) -> pypdf.PageObject:
    reader = pypdf.PdfReader(io.BytesIO(pdf))
    assert len(reader.pages) == 1
    return reader.pages[0]


def words(page: pypdf.PageObject) -> set[str]:
    return set(page.extract_text().split())


def test_size_in_points(layers: LayerPlot) -> None:
    for width, height in ((680, 300), (400, 200), (1000, 321)):
        box = page_of(plot_pdf(layers, width, height)).mediabox
        assert float(box.width) == pytest.approx(0.75 * width, abs=1)
        assert float(box.height) == pytest.approx(0.75 * height, abs=1)


def test_layer_plot(layers: LayerPlot) -> None:
    page = page_of(plot_pdf(layers, 680, 300))
    assert {"Layer", "zero_fraction", "0", "1", "2", "0.5", "encoder:", "part"} <= words(page)
    assert list(page.images) == []


def test_heatmap(heatmap: TokenHeatmap) -> None:
    page = page_of(plot_pdf(heatmap, 680, 320))
    assert {"Token", "Layer", "emb", "[CLS]", "one", "<b>two</b>", "##1", "[SEP]"} <= words(page)
    assert list(page.images) == []


def test_drawing_is_inside_the_page(heatmap: TokenHeatmap) -> None:
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


def test_the_same_plot_twice_is_the_same_drawing(layers: LayerPlot) -> None:
    def content() -> bytes:
        contents = page_of(plot_pdf(layers, 680, 300)).get_contents()
        assert contents is not None
        return contents.get_data()

    first = content()
    assert len(first) > 1000
    assert content() == first
    layers.set_theme(DARK)
    assert content() != first


def test_empty_plots(window: QWidget) -> None:
    layers, heatmap = LayerPlot(window), TokenHeatmap(window)
    layers.show_series((), "std")
    heatmap.show_run(None)
    for plot in (layers, heatmap):
        page = page_of(plot_pdf(plot, 400, 300))
        assert "Layer" in words(page)
        assert list(page.images) == []
