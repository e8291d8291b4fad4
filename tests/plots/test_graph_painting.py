"""Painting of graph drawings, and their pages."""

import io
from functools import partial

import pypdf
import pytest
from PySide6.QtGui import QColor, QImage, QPainter

from bertviewer.charts.graph.layout import draw
from bertviewer.plots.export import pdf_of
from bertviewer.plots.graph_painting import paint, text_width
from tests.charts.graph.made_flows import bert_layer
from tests.charts.graph.real_flows import real_flow
from tests.plots.looking import numbers

pytestmark = pytest.mark.usefixtures("qapp")


def test_nothing_is_painted_outside_of_the_canvas() -> None:
    drawing = draw(real_flow("t5"), text_width)
    image = QImage(int(drawing.width) + 100, int(drawing.height) + 100, QImage.Format.Format_RGB32)
    image.fill(QColor("#123456"))
    painter = QPainter(image)
    painter.translate(50, 50)
    paint(drawing, painter)
    painter.end()
    around = numbers(image)
    around[50:-50, 50:-50] = 0xFF123456
    assert (around == 0xFF123456).all()


def test_names_fit_into_their_nodes() -> None:
    for placed in draw(real_flow("llama", "layers.0"), text_width).nodes:
        if placed.form in ("box", "norm", "pill", "dashed pill", "deck"):
            for label in placed.labels:
                if label.anchor == "middle":
                    half = text_width(label.text, label.style, label.size) / 2
                    assert placed.rect.x < label.x - half
                    assert label.x + half < placed.rect.right


def test_a_page_is_as_large_as_the_drawing() -> None:
    drawing = draw(bert_layer(), text_width)
    pdf = pdf_of(partial(paint, drawing), drawing.width, drawing.height, "a layer", resolution=8)
    reader = pypdf.PdfReader(io.BytesIO(pdf))
    (page,) = reader.pages
    assert reader.metadata is not None
    assert reader.metadata.title == "a layer"
    assert float(page.mediabox.width) == pytest.approx(drawing.width * 0.75, abs=0.6)
    assert float(page.mediabox.height) == pytest.approx(drawing.height * 0.75, abs=0.6)
    text = " ".join(page.extract_text().split())
    for word in ("encoder.layer.0", "BertLayer", "Norm", "12 heads of 64", "768→3072", "GELU"):
        assert word in text
    assert not page.images


def test_text_widths() -> None:
    assert text_width("", "text", 12) == 0
    assert text_width("norm", "text", 24) == pytest.approx(2 * text_width("norm", "text", 12))
    assert text_width("norms", "mono", 12) > text_width("norm", "mono", 12)
    # A control character is written as an escape.
    assert text_width("\x00", "text", 12) == text_width("\\x00", "text", 12)
