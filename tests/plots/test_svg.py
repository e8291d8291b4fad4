"""Plots as SVG: the picture of the screen, in elements that all programs draw the same way."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from PySide6.QtCore import QByteArray, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QImage, QPainter, QPen
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QWidget

from bertviewer.charts.theme import DARK, FONTS, LIGHT, css_family
from bertviewer.core.util.text import isolated
from bertviewer.plots.canvas_plot import CanvasPlot
from bertviewer.plots.export import plot_svg, prepared
from bertviewer.plots.fonts import load_fonts, monospaced, weighted, window_font
from bertviewer.plots.svg import svg_of
from tests.plots.kinds import HEIGHT, KINDS, WIDTH, lines
from tests.plots.looking import ISOLATES, SVG, numbers, texts


@pytest.fixture(autouse=True)
def _fonts(qapp: QApplication) -> None:
    load_fonts()


def rendered(svg: str) -> QImage:
    """Return the picture that another program, Qt's SVG renderer, draws."""
    # It takes a list of families for one name.
    renderer = QSvgRenderer(QByteArray(svg.replace(css_family(FONTS), FONTS[0]).encode()))
    assert renderer.isValid()
    image = blank()
    painter = QPainter(image)
    renderer.render(painter)
    painter.end()
    return image


def screen(plot: CanvasPlot) -> QImage:
    """Return the picture on the screen, with titles as on paper."""
    image = blank()
    with prepared(plot):
        painter = QPainter(image)
        painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # as on a widget
        plot.draw_on(painter)
        painter.end()
    return image


def blank() -> QImage:
    image = QImage(WIDTH, HEIGHT, QImage.Format.Format_RGB32)
    image.fill(LIGHT.surface)
    return image


def difference(one: QImage, other: QImage) -> float:
    """Return the mean difference of the colours of two pictures, of 255."""
    first, second = numbers(one), numbers(other)
    parts = [
        np.abs((first >> shift & 255).astype(float) - (second >> shift & 255).astype(float))
        for shift in (0, 8, 16)
    ]
    return float(np.mean(parts))


def test_the_picture_is_that_of_the_screen(any_plot: CanvasPlot) -> None:
    found = rendered(plot_svg(any_plot, WIDTH, HEIGHT))
    expected = screen(any_plot)
    # Edges are smoothed differently, and Qt's renderer knows only one weight of a font.
    limit = min(5, difference(blank(), expected) / 4)
    assert difference(found, expected) < limit


def test_elements_are_plain_and_texts_are_whole(any_plot: CanvasPlot, kind: str) -> None:
    svg = plot_svg(any_plot, WIDTH, HEIGHT)
    assert set(KINDS[kind][1]) <= set(texts(svg))
    root = ET.fromstring(svg)
    size = [root.get(name) for name in ("width", "height", "viewBox")]
    assert size == [str(WIDTH), str(HEIGHT), f"0 0 {WIDTH} {HEIGHT}"]
    for element in root.iter():
        assert "vector-effect" not in element.attrib
        if "transform" in element.attrib:
            assert element.tag == f"{SVG}text"
            assert element.attrib["transform"].startswith("rotate(-90 ")
        assert float(element.get("stroke-width", 0)) <= 8
        assert len(element) or element.tag not in (f"{SVG}g", f"{SVG}svg")
    assert (root.find(f".//{SVG}image") is not None) == (kind == "large")


def test_chinese_letters_have_simplified_forms(any_plot: CanvasPlot, kind: str) -> None:
    root = ET.fromstring(plot_svg(any_plot, WIDTH, HEIGHT))
    families = [
        text.get("font-family", group.get("font-family", ""))
        for group in root.iter()
        for text in group
        if text.text in ("中", "文", "中文")
    ]
    assert bool(families) == bool({"中", "中文"} & {*KINDS[kind][1]})
    assert all(name.startswith("'Noto Sans CJK SC'") for name in families)
    assert "CJK" not in root.get("font-family", "")


def test_it_depends_on_the_given_theme_only(
    any_plot: CanvasPlot, kind: str, window: QWidget
) -> None:
    first = plot_svg(any_plot, WIDTH, HEIGHT)
    any_plot.set_theme(DARK)
    assert plot_svg(any_plot, WIDTH, HEIGHT) == first
    show, _ = KINDS[kind]
    assert plot_svg(show(window), WIDTH, HEIGHT) == first
    assert plot_svg(any_plot, WIDTH, HEIGHT, DARK) != first


PROGRAM = """
from bertviewer.plots.export import offscreen_application, plot_svg
application = offscreen_application()
from tests.plots.kinds import HEIGHT, KINDS, WIDTH
for show, _ in KINDS.values():
    print(plot_svg(show(None), WIDTH, HEIGHT))
"""


def test_it_is_the_same_in_every_process() -> None:
    found = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert found[0] == found[1]
    assert found[0].count(b"</svg>") == len(KINDS)


def test_accessible_names(window: QWidget) -> None:
    plot = lines(window)
    plot.setAccessibleName("std by <layer>")
    plot.setAccessibleDescription("2 lines & 4 layers\x00")
    root = ET.fromstring(plot_svg(plot, WIDTH, HEIGHT))
    assert root.findtext(f"{SVG}title") == "std by <layer>"
    assert root.findtext(f"{SVG}desc") == "2 lines & 4 layers\ufffd"


def svg_by(draw: Callable[[QPainter], None]) -> ET.Element:
    return ET.fromstring(svg_of(draw, 200, 200))


@pytest.mark.parametrize(
    "text",
    [
        "a < b & c",
        "שלום",
        "שלום!",
        "(שלום) abc!",
        "עולם 123 כן",
        "a שלום 12 עולם b",
        "a שלום 12 b עולם 3 כן c",
        "שלום abc עולם",
        f"{isolated('שלום (12)')}: 0.5",
        "[CLS] 中文 😀 e\u0301x",
        "हिन्दी and ไทย",
        "-> 3x3 != 1:2",
        "</text><script>",
    ],
)
def test_a_text_is_one_element(text: str) -> None:
    def draw(painter: QPainter) -> None:
        painter.setFont(window_font())
        painter.drawText(QPointF(20, 40), text)
        painter.translate(20, 180)
        painter.rotate(-90)
        painter.drawText(QPointF(0, 0), text)

    flat, turned = svg_by(draw).iter(f"{SVG}text")
    assert (flat.text or "").translate(ISOLATES) == (turned.text or "").translate(ISOLATES)
    assert (flat.text or "").translate(ISOLATES) == text.translate(ISOLATES)
    assert (flat.get("x", "").split()[0], flat.get("y")) == ("20", "40")
    assert turned.get("transform") == "rotate(-90 20 180)"


def test_letters_of_ligatures_have_a_position_each() -> None:
    def draw(painter: QPainter) -> None:
        painter.setFont(window_font())
        painter.drawText(QPointF(20, 40), "->")
        painter.drawText(QPointF(20, 80), "word")
        painter.setFont(monospaced(window_font()))
        painter.drawText(QPointF(20, 120), "!=")

    arrow, word, unequal = (each.get("x", "").split() for each in svg_by(draw).iter(f"{SVG}text"))
    assert len(arrow) == len(unequal) == 2
    assert word == ["20"]
    assert all(float(one) < float(other) for one, other in pairwise(arrow))


def test_fonts_clips_and_pens(golden: Callable[[str, str], None]) -> None:
    def draw(painter: QPainter) -> None:
        for y, family in ((110, "Inter"), (130, "Inter"), (150, 'a"><b&')):
            font = QFont([family])
            font.setPixelSize(13)
            painter.setFont(font)
            painter.drawText(QPointF(20, y), family)
        painter.save()
        painter.setClipRect(QRectF(0, 0, 100, 100))
        painter.save()
        painter.setClipRect(QRectF(10, 10, 20, 20), Qt.ClipOperation.IntersectClip)
        painter.fillRect(QRectF(0, 0, 15, 15), QColor("#ff0000"))  # 5 of 15 pixels
        painter.fillRect(QRectF(40, 40, 10, 10), QColor("#00ff00"))  # nothing
        painter.drawLine(QPointF(0, 20), QPointF(100, 20))
        painter.restore()
        painter.fillRect(QRectF(40, 40, 10, 10), QColor("#0000ff"))
        painter.setPen(QPen(QColor("#123456"), 2))
        painter.setBrush(QBrush(QColor("#654321")))
        painter.drawEllipse(QRectF(90, 90, 20, 20))
        painter.restore()
        painter.scale(10, 5)
        fixed = QPen(QColor("#000000"), 2, Qt.PenStyle.DashLine)
        fixed.setCosmetic(True)
        painter.setPen(fixed)
        painter.drawLine(QPointF(12, 1), QPointF(18, 2))
        painter.setPen(QPen(QColor("#000000"), 1))
        painter.drawLine(QPointF(12, 8), QPointF(18, 9))
        painter.scale(0.05, 0.1)
        # Hundreds are all that some programs know of weights.
        painter.setFont(weighted(window_font()))
        painter.drawText(QPointF(240, 160), "strong")

    golden("plots/elements.svg", svg_of(draw, 200, 200).replace("><", ">\n<") + "\n")


def test_other_drawing_functions_are_refused() -> None:
    with pytest.raises(TypeError, match="not written as SVG"):
        svg_of(lambda painter: painter.drawPolygon([QPointF(0, 0), QPointF(1, 1)]), 10, 10)
