"""Plots as PNG, PDF and SVG files."""

import io

import numpy as np
import pypdf
import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import GridChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import DARK, LIGHT
from bertviewer.plots import export
from bertviewer.plots.canvas_plot import CanvasPlot, Side
from bertviewer.plots.heatmap import Heatmap
from tests.plots.kinds import GRID, HEIGHT, KINDS, LARGE, WIDTH, lines
from tests.plots.looking import box, colors_of, numbers

POINTS = 0.75  # per pixel


def page_of(pdf: bytes) -> pypdf.PageObject:
    (page,) = pypdf.PdfReader(io.BytesIO(pdf)).pages
    return page


def grid(window: QWidget, chart: GridChart = GRID) -> Heatmap:
    plot = Heatmap(window)
    plot.resize(WIDTH, HEIGHT)
    plot.show()
    plot.show_chart(chart)
    return plot


def test_a_pdf_has_words_in_the_size_of_the_plot(any_plot: CanvasPlot, kind: str) -> None:
    page = page_of(export.pdf(any_plot))
    found = " ".join(page.extract_text(orientations=(0, 90)).split())
    for word in KINDS[kind][1]:
        assert not word.isascii() or word in found, word
    size = float(page.mediabox.width), float(page.mediabox.height)
    assert size == pytest.approx((POINTS * WIDTH, POINTS * HEIGHT), abs=1)
    assert bool(page.images) == (kind == "large")


def test_a_png_has_twice_the_pixels_in_light_colours(any_plot: CanvasPlot) -> None:
    any_plot.set_theme(DARK)
    image = QImage.fromData(export.png(any_plot))
    assert image.size() == QSize(2 * WIDTH, 2 * HEIGHT)
    found = colors_of(image)
    assert {LIGHT.surface, LIGHT.muted} <= found
    assert DARK.surface not in found
    assert QImage.fromData(export.png(any_plot, scale=1)).size() == QSize(WIDTH, HEIGHT)


def test_writing_a_file_changes_nothing_on_the_screen(any_plot: CanvasPlot) -> None:
    any_plot.set_theme(DARK)
    any_plot.mark(SelectionKey(token=1, head=1))
    before = any_plot.grab().toImage()
    for write in (export.png, export.svg, export.pdf):
        for title in ("", "Norms of all tokens"):
            first = write(any_plot, title)
            assert any_plot.size() == QSize(WIDTH, HEIGHT)
            assert any_plot.theme == DARK
            assert any_plot.grab().toImage() == before
            if write is not export.pdf:  # which contains the time
                assert write(any_plot, title) == first


def test_a_figure_has_a_title_a_least_size_and_no_selection(any_plot: CanvasPlot) -> None:
    title = "Norms of all tokens"
    any_plot.resize(391, 155)
    page = page_of(export.pdf(any_plot, title))
    assert title in " ".join(page.extract_text().split())
    assert float(page.mediabox.width) >= POINTS * 720
    assert float(page.mediabox.height) >= POINTS * 420
    assert title.encode() in export.svg(any_plot, title)
    png = export.png(any_plot, title)
    any_plot.mark(SelectionKey())
    if not any_plot.shows_by_selection:
        assert export.png(any_plot, title) == png


def test_very_many_cells_are_an_image_without_loss(window: QWidget) -> None:
    page = page_of(export.pdf(grid(window, LARGE)))
    (found,) = page["/Resources"]["/XObject"].values()  # type: ignore[index]
    image = found.get_object()
    # A whole number of pixels per cell keeps edges sharp.
    assert image["/Width"] == image["/Height"]
    assert image["/Width"] % 300 == 0
    assert "/DCTDecode" not in str(image["/Filter"])


def test_lines_of_a_png_grow_with_it(window: QWidget) -> None:
    plot = lines(window)
    plot.resize(WIDTH, HEIGHT)
    color = int(f"ff{LIGHT.series[0][1:]}", 16)
    images = [QImage.fromData(export.png(plot, scale=scale)) for scale in (1, 4)]
    small, large = (float((numbers(image) == color).mean()) for image in images)
    # Lines that stayed 2 pixels wide would cover a quarter.
    assert large > 0.8 * small > 0


def test_the_theme_returns_when_writing_fails(
    window: QWidget, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bytes:
        raise OSError("no space left")

    plot = grid(window)
    plot.set_theme(DARK)
    monkeypatch.setattr(export, "pdf_of", fail)
    with pytest.raises(OSError, match="no space"):
        export.pdf(plot)
    assert plot.theme == DARK


@pytest.mark.parametrize("side", [None, "left", "right"])
def test_titles_that_only_paper_has_take_no_room_from_the_cells(
    window: QWidget, side: Side | None
) -> None:
    names = tuple("abcdefgh")
    plot = grid(window, GridChart(np.eye(8), names, names, (), (), "Token", "Layer", "B · Norm"))
    plot.is_titled = False
    plot.share(side, "Norm")
    plot.resize(300, 200)
    shown = box(plot).size()
    with export.prepared(plot):
        assert box(plot).width() == pytest.approx(shown.width(), abs=2)
        assert box(plot).height() == pytest.approx(shown.height(), abs=2)
    page = page_of(export.pdf(plot))
    turned = " ".join(page.extract_text(orientations=(90, 270)).split())
    assert "Layer" in turned
    assert "B · Norm" in turned
    assert float(page.mediabox.width) > POINTS * 305
    assert box(plot).size() == shown
    assert plot.size() == QSize(300, 200)
    assert plot.neighbour == side


def test_all_texts_are_on_the_page(window: QWidget) -> None:
    plot = grid(window)
    for width, height in ((680, 300), (400, 200)):
        plot.resize(width, height)
        places: list[tuple[float, float]] = []

        def visit(
            text: str, matrix: list[float], text_matrix: list[float], *_: object,
            places: list[tuple[float, float]] = places,
        ) -> None:  # fmt: skip
            if text.strip():
                (a, b, c, d, e, f), (x, y) = matrix, text_matrix[4:]
                places.append((a * x + c * y + e, b * x + d * y + f))

        page_of(export.pdf(plot)).extract_text(visitor_text=visit)
        assert len(places) > 5
        assert all(0 <= x <= POINTS * width and 0 <= y <= POINTS * height for x, y in places)
