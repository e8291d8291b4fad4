"""Plots as files: each opens as what it is, and the plot on the screen stays as it was."""

import io
from collections.abc import Callable

import numpy as np
import pypdf
import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import (
    Bars,
    Chart,
    GridChart,
    HeadsChart,
    HistogramChart,
    Line,
    LineChart,
)
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import DARK, LIGHT
from bertviewer.plots import export
from bertviewer.plots.canvas_plot import CanvasPlot, Side
from bertviewer.plots.head_grid import HeadGrid
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.plots.line_plot import LinePlot
from tests.plots.looking import box, colors_of, numbers

LINES = LineChart(
    (Line("layer: output", (0.1, 2.0, 1.0), low=(0.0,) * 3, high=(3.0,) * 3, max=(4.0,) * 3),),
    "Layer",
    "std",
    ("0", "1", "2"),
)
GRID = GridChart(np.eye(3), ("emb", "0", "1"), ("[CLS]", "word", "[SEP]"), x_title="Token")
LARGE = GridChart(np.eye(300), tuple(map(str, range(300))), tuple(map(str, range(300))))
HEADS = HeadsChart(np.tile(np.eye(3), (12, 1, 1)), ("0.25",) * 12, ("a", "b", "c"), ("a", "b", "c"))
HISTOGRAM = HistogramChart((0.0, 1.0, 2.0), (Bars("B", (3, 4), nan_count=2),), "Value")
SIZE = (560, 340)

Show = Callable[[Chart], CanvasPlot]


@pytest.fixture
def show(window: QWidget) -> Show:
    """Return what shows a chart in the dark, as in a window."""

    def show(chart: Chart) -> CanvasPlot:
        plot: CanvasPlot
        if isinstance(chart, LineChart):
            plot = LinePlot(window)
            plot.show_chart(chart)
        elif isinstance(chart, GridChart):
            plot = Heatmap(window)
            plot.show_chart(chart)
        elif isinstance(chart, HeadsChart):
            plot = HeadGrid(window)
            plot.show_chart(chart)
        else:
            plot = HistogramPlot(window)
            plot.show_chart(chart)
        plot.set_theme(DARK)
        plot.show()
        plot.resize(*SIZE)
        return plot

    return show


EVERY = pytest.mark.parametrize(
    ("chart", "words"),
    [
        (LINES, {"Layer", "std", "output", "2"}),
        (GRID, {"Token", "[CLS]", "word", "emb"}),
        (HEADS, {"head", "11", "0.25"}),
        (HISTOGRAM, {"Value", "NaN:", "2"}),
    ],
)


@EVERY
def test_a_pdf_has_words_and_no_bitmap(show: Show, chart: Chart, words: set[str]) -> None:
    (page,) = pypdf.PdfReader(io.BytesIO(export.pdf(show(chart)))).pages
    assert words <= set(page.extract_text(orientations=(0, 90)).split())
    assert list(page.images) == []
    assert float(page.mediabox.width) == pytest.approx(0.75 * SIZE[0], abs=1)


def test_very_many_cells_are_a_picture_without_loss(show: Show) -> None:
    (page,) = pypdf.PdfReader(io.BytesIO(export.pdf(show(LARGE)))).pages
    (image,) = page["/Resources"]["/XObject"].values()  # type: ignore[index]
    picture = image.get_object()
    # Each cell is as many pixels wide as it is high, so that its edges stay sharp.
    assert picture["/Width"] == picture["/Height"]
    assert picture["/Width"] % 300 == 0
    assert "/DCTDecode" not in str(picture["/Filter"])


@EVERY
def test_a_png_is_larger_and_light(show: Show, chart: Chart, words: set[str]) -> None:
    plot = show(chart)
    image = QImage.fromData(export.png(plot))
    assert (image.width(), image.height()) == (2 * SIZE[0], 2 * SIZE[1])
    found = colors_of(image)
    assert {LIGHT.surface, LIGHT.muted} <= found
    assert DARK.surface not in found
    small = QImage.fromData(export.png(plot, scale=1))
    assert (small.width(), small.height()) == SIZE


def ink(image: QImage) -> float:
    """Return the part of the picture that is not background."""
    white = np.uint32(0xFFFFFFFF)
    return float((numbers(image) != white).mean())


def test_lines_of_a_png_grow_with_it(show: Show) -> None:
    plot = show(LINES)
    small, large = (QImage.fromData(export.png(plot, scale=scale)) for scale in (1, 4))
    blue = [
        float((numbers(image) == int(f"ff{LIGHT.series[0][1:]}", 16)).mean())
        for image in (small, large)
    ]
    # Smooth edges take a part of thin lines; lines that stayed 2 pixels wide had a quarter.
    assert blue[1] > 0.8 * blue[0] > 0


@EVERY
@pytest.mark.parametrize("write", [export.png, export.pdf, export.svg])
def test_the_plot_on_the_screen_stays(
    show: Show, chart: Chart, words: set[str], write: Callable[[CanvasPlot], bytes]
) -> None:
    plot = show(chart)
    plot.mark(SelectionKey(token=1, head=1))
    before = plot.grab().toImage()
    first = write(plot)
    assert (plot.width(), plot.height()) == SIZE
    assert plot.theme == DARK
    assert plot.grab().toImage() == before
    if write is not export.pdf:  # that tells when it was made
        assert write(plot) == first


def test_the_theme_returns_when_writing_fails(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise OSError("no space left")

    plot = show(LINES)
    monkeypatch.setattr(export, "pdf_of", fail)
    with pytest.raises(OSError, match="no space"):
        export.pdf(plot)
    assert plot.theme == DARK


@pytest.mark.parametrize("side", [None, "left", "right"])
def test_cells_stay_as_large_as_on_the_screen_beside_titles_that_only_paper_has(
    window: QWidget, side: Side | None
) -> None:
    plot = Heatmap(window)
    plot.is_titled = False
    plot.share(side, "Norm")
    plot.resize(300, 200)
    plot.show()
    names = tuple("abcdefgh")
    plot.show_chart(GridChart(np.eye(8), names, names, (), (), "Token", "Layer", "B · Norm"))
    shown = box(plot).size()
    with export.prepared(plot):
        assert box(plot).width() == pytest.approx(shown.width(), abs=2)
        assert box(plot).height() == pytest.approx(shown.height(), abs=2)
    page = pypdf.PdfReader(io.BytesIO(export.pdf(plot))).pages[0]
    turned = " ".join(page.extract_text(orientations=(90, 270)).split())
    assert "Layer" in turned
    assert "B · Norm" in turned
    assert float(page.mediabox.width) > 0.75 * 305
    assert box(plot).size() == shown
    assert plot.size() == QSize(300, 200)
    assert plot.neighbour == side


@EVERY
def test_a_figure_has_a_title_a_size_and_no_frame(
    show: Show, chart: Chart, words: set[str]
) -> None:
    plot = show(chart)
    plot.resize(391, 155)
    plot.mark(SelectionKey(token=1, head=1))
    marked = plot.grab().toImage()
    pdf = export.pdf(plot, "Norms of all tokens")
    (page,) = pypdf.PdfReader(io.BytesIO(pdf)).pages
    assert "Norms of all tokens" in " ".join(page.extract_text().split())
    assert float(page.mediabox.width) >= 0.75 * 720
    assert float(page.mediabox.height) >= 0.75 * 420
    assert b"Norms" in export.svg(plot, "Norms of all tokens")
    png = export.png(plot, "Norms of all tokens")
    plot.mark(SelectionKey())
    assert export.png(plot, "Norms of all tokens") == png
    plot.mark(SelectionKey(token=1, head=1))
    assert plot.grab().toImage() == marked
    assert (plot.width(), plot.height()) == (391, 155)


def test_a_page_is_as_large_as_the_plot_and_contains_it(show: Show) -> None:
    plot = show(GRID)
    for size in ((680, 300), (400, 200)):
        plot.resize(*size)
        (page,) = pypdf.PdfReader(io.BytesIO(export.pdf(plot))).pages
        mediabox = [float(page.mediabox.width), float(page.mediabox.height)]
        assert mediabox == pytest.approx([0.75 * pixels for pixels in size], abs=1)
        places: list[tuple[float, float]] = []

        def visit(
            text: str, matrix: list[float], text_matrix: list[float], *_: object,
            places: list[tuple[float, float]] = places,
        ) -> None:  # fmt: skip
            if text.strip():
                (a, b, c, d, e, f), (x, y) = matrix, text_matrix[4:]
                places.append((a * x + c * y + e, b * x + d * y + f))

        page.extract_text(visitor_text=visit)
        assert len(places) > 5
        assert all(0 <= x <= mediabox[0] and 0 <= y <= mediabox[1] for x, y in places)
