"""Painting by Qt: the same picture as the SVG, and a page as large as the drawing."""

import io
from functools import partial

import pypdf
import pytest
from PySide6.QtGui import QColor, QImage, QPainter
from pytestqt.qtbot import QtBot

from bertviewer.charts.graph.drawing import Drawing
from bertviewer.charts.graph.layout import draw
from bertviewer.charts.theme import DARK, LIGHT, Theme
from bertviewer.plots.export import pdf_of
from bertviewer.plots.graph_painting import paint, text_width
from tests.charts.graph import blocks, flows

pytestmark = pytest.mark.usefixtures("qtbot")


def painted(drawing: Drawing, theme: Theme) -> QImage:
    image = QImage(int(drawing.width), int(drawing.height), QImage.Format.Format_RGB32)
    image.fill(QColor(theme.surface))
    painter = QPainter(image)
    paint(drawing, painter, theme)
    painter.end()
    return image


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_it_paints_what_was_laid_out(theme: Theme) -> None:
    drawing = draw(blocks.bert_layer(), text_width)
    image = painted(drawing, theme)
    at = {each.node.id: each.rect for each in drawing.nodes}
    for key, part in (("attention.self.query", "attention"), ("+1", None)):
        rect = at[key]
        inside = image.pixelColor(int(rect.x + 4), int(rect.y + rect.height / 2)).name()
        assert inside == (theme.fill("attention") if part else theme.surface)
    line = next(each for each in drawing.lines if each.weight == "residual")
    x, y = line.points[0]
    assert image.pixelColor(int(x + 20), int(y)).name() == theme.flow
    assert image.pixelColor(1, 1).name() == theme.surface


def test_nothing_is_painted_beside_the_canvas(qtbot: QtBot) -> None:
    del qtbot
    drawing = draw(flows.whole_encoder_decoder(), text_width)
    image = QImage(int(drawing.width) + 100, int(drawing.height) + 100, QImage.Format.Format_RGB32)
    image.fill(QColor("#123456"))
    painter = QPainter(image)
    painter.translate(50, 50)
    paint(drawing, painter)
    painter.end()
    for x in range(image.width()):
        for y in (*range(50), *range(image.height() - 50, image.height())):
            assert image.pixel(x, y) == QColor("#123456").rgb()


def test_names_fit_into_their_boxes() -> None:
    drawing = draw(blocks.llama_layer(), text_width)
    for placed in drawing.nodes:
        if placed.form in ("box", "norm", "pill", "dashed pill", "deck"):
            for label in placed.labels:
                if label.anchor == "middle":
                    half = text_width(label.text, label.style, label.size) / 2
                    assert placed.rect.x < label.x - half
                    assert label.x + half < placed.rect.right


def test_a_page_is_as_large_as_the_drawing() -> None:
    drawing = draw(blocks.bert_layer(), text_width)
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


def test_widths_grow_with_size_and_text() -> None:
    assert text_width("", "text", 12) == 0
    assert text_width("norm", "text", 24) == pytest.approx(2 * text_width("norm", "text", 12))
    assert text_width("norms", "mono", 12) > text_width("norm", "mono", 12)
    # A control character is written as an escape.
    assert text_width("\x00", "text", 12) == text_width("\\x00", "text", 12)
