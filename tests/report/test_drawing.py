"""Pictures of a report: graphs and plots as SVG, and in a PDF or PNG page."""

import io
import xml.etree.ElementTree as ET
from collections.abc import Sequence

import numpy as np
import pypdf
import pytest
from msgspec.structs import replace
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QWidget

from bertviewer.charts.theme import GREY, LIGHT, PAPER, Theme
from bertviewer.plots.export import plot_svg
from bertviewer.plots.fonts import load_fonts
from bertviewer.report.blocks import Figure, Section
from bertviewer.report.document import ReportDocument
from bertviewer.report.drawing import draw_pictures, picture_file
from bertviewer.report.pictures import Picture
from bertviewer.report.script_fonts import choose_fonts
from bertviewer.report.typesetting import TypesetReport, page_png
from bertviewer.report.typst_compiler import compiled
from tests.core.walkthrough.small_walkthroughs import small
from tests.plots.kinds import KINDS, Show
from tests.report.reading import with_texts

SVG = "{http://www.w3.org/2000/svg}"
POINTS_PER_MILLIMETRE = 72 / 25.4

pytestmark = pytest.mark.usefixtures("qapp")


def points(root: ET.Element, name: str) -> float:
    return float(root.get(name, "").removesuffix("pt"))


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5", "mixtral"])
def test_graphs_fit_on_a_page_and_are_readable(family: str) -> None:
    architecture = small(family)
    assert architecture.flows is not None
    found = (architecture.flows.flow(node.path) for node in architecture.modules)
    flows = [flow for flow in found if flow is not None]
    assert len(flows) > 3
    pictures = {flow.path: Picture(flow) for flow in flows}
    for theme in (PAPER, GREY):
        for path, svg in draw_pictures(pictures, architecture, theme):
            root = ET.fromstring(svg)
            assert points(root, "width") <= 160 * POINTS_PER_MILLIMETRE, path
            assert points(root, "height") <= 230 * POINTS_PER_MILLIMETRE, path
            unit = points(root, "width") / float(root.get("viewBox", "").split()[2])
            sizes = [float(text.get("font-size", 0)) for text in root.iter(f"{SVG}text")]
            # Subscripts are smaller.
            texts = [size * unit for size in sizes if size != 8.64]
            assert min(texts, default=6.5) >= 6.49, path
    whole = pictures[""]
    light = picture_file(whole, architecture, "svg").decode()
    assert LIGHT.flow in light
    assert "pt" not in ET.fromstring(light).get("width", "")
    assert picture_file(whole, architecture, "pdf").startswith(b"%PDF")


PAGE = b"""
#set document(title: "plot", date: datetime(year: 2026, month: 1, day: 2))
#set page(width: auto, height: auto, margin: 0pt)
#set text(font: "Inter")
#image("plot.svg", alt: "a plot")
"""


@pytest.mark.parametrize("theme", [PAPER, GREY], ids=["paper", "grey"])
@pytest.mark.parametrize(("show", "texts"), KINDS.values(), ids=KINDS)
def test_plots_have_their_texts_in_an_archive_pdf(
    qapp: QApplication, theme: Theme, show: Show, texts: Sequence[str]
) -> None:
    load_fonts()
    window = QWidget()
    svg = plot_svg(show(window), 560, 340, theme)
    fonts = choose_fonts(svg)
    files = {"main.typ": PAGE, "plot.svg": fonts.printable(svg).encode()}
    (pdf,) = compiled(files, with_system=fonts.with_system, format="pdf", pdf_standards=["a-2a"])
    (page,) = pypdf.PdfReader(io.BytesIO(pdf)).pages
    found = " ".join(page.extract_text(orientations=(0, 90)).split())
    # Other scripts may have no font, and are read in another order.
    assert [text for text in texts if text.isascii() and text not in found] == []
    assert bool(page.images) == (show is KINDS["large"][0])


CLIPPED = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="120" viewBox="0 0 400 120" '
    'font-family="Inter"><clipPath id="a"><path d="M0 0H{0}V120H0Z"/></clipPath>'
    '<g clip-path="url(#a)"><text x="40" y="80" font-size="50" fill="#ff0000">Letters</text></g>'
    "</svg>"
)


def red_pixels(document: ReportDocument, **widths: int) -> int:
    """Return the number of red pixels of a page with drawings, clipped at these widths."""
    figures = tuple(Figure(name, f"figure:{name}", (name,), name) for name in widths)
    pictures = {name: CLIPPED.format(width) for name, width in widths.items()}
    found = with_texts(document, Section("a", "A", figures))
    page = TypesetReport(replace(found, pictures=pictures)).pages()[0]
    image = QImage.fromData(page_png(page, 72)).convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    pixels = rows[:, : 3 * image.width()].reshape(image.height(), -1, 3).astype(int)
    return int(((pixels[..., 0] > 200) & (pixels[..., 1] < 100)).sum())


def test_all_pictures_of_a_page_image_have_texts_and_clip_paths(document: ReportDocument) -> None:
    whole, half = red_pixels(document, whole=400), red_pixels(document, half=140)
    assert 0 < half < whole
    assert red_pixels(document, whole=400, half=140) == pytest.approx(whole + half, rel=0.02)
