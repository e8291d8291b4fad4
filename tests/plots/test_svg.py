"""Plots as SVG: the picture that the screen has, in shapes that every program draws alike."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
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
from tests.plots.kinds import (
    EVERY,
    KINDS,
    Show,
    lines,
)
from tests.plots.looking import numbers

WIDTH, HEIGHT = 560, 340
SVG = "{http://www.w3.org/2000/svg}"
MARKS = str.maketrans("", "", "\u2067\u2069")
"""What may stand around a text that runs to the left."""


@pytest.fixture(autouse=True)
def _fonts(qapp: QApplication) -> None:
    load_fonts()


def drawn(svg: str, width: int, height: int) -> QImage:
    """Return the picture of an SVG, as another program draws it."""
    # This one takes a list of families for one name.
    plain = svg.replace(css_family(FONTS), FONTS[0])
    renderer = QSvgRenderer(QByteArray(plain.encode()))
    assert renderer.isValid()
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(LIGHT.surface)
    painter = QPainter(image)
    renderer.render(painter)
    painter.end()
    return image


def screen(plot: CanvasPlot, width: int, height: int) -> QImage:
    """Return the plot as the screen shows it."""
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(LIGHT.surface)
    plot.resize(width, height)
    with prepared(plot):
        painter = QPainter(image)
        painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # as on a widget
        plot.draw_on(painter)
        painter.end()
    return image


def difference(one: QImage, other: QImage) -> float:
    """Return how far the colours of two pictures are apart, 255 at most."""
    first, second = numbers(one), numbers(other)
    parts = [
        np.abs((first >> shift & 255).astype(float) - (second >> shift & 255).astype(float))
        for shift in (0, 8, 16)
    ]
    return float(np.mean(parts))


def texts(svg: str) -> list[str]:
    return [(text.text or "").translate(MARKS) for text in ET.fromstring(svg).iter(f"{SVG}text")]


@EVERY
def test_it_looks_as_on_the_screen(window: QWidget, show: Show, words: Sequence[str]) -> None:
    plot = show(window)
    svg = plot_svg(plot, WIDTH, HEIGHT)
    expected = screen(plot, WIDTH, HEIGHT)
    # Edges are smoothed differently, and this program knows one weight of a font alone.
    blank = QImage(WIDTH, HEIGHT, QImage.Format.Format_RGB32)
    blank.fill(LIGHT.surface)
    assert difference(drawn(svg, WIDTH, HEIGHT), expected) < min(5, difference(blank, expected) / 4)


@EVERY
def test_texts_are_texts(window: QWidget, show: Show, words: Sequence[str]) -> None:
    assert set(words) <= set(texts(plot_svg(show(window), WIDTH, HEIGHT)))


@EVERY
def test_pens_and_places_are_plain(window: QWidget, show: Show, words: Sequence[str]) -> None:
    root = ET.fromstring(plot_svg(show(window), WIDTH, HEIGHT))
    size = [root.get(name) for name in ("width", "height", "viewBox")]
    assert size == [str(WIDTH), str(HEIGHT), f"0 0 {WIDTH} {HEIGHT}"]
    for element in root.iter():
        assert "vector-effect" not in element.attrib
        if "transform" in element.attrib:
            assert element.tag == f"{SVG}text"
            assert element.attrib["transform"].startswith("rotate(-90 ")
        assert float(element.get("stroke-width", 0)) <= 8
        assert len(element) or element.tag not in (f"{SVG}g", f"{SVG}svg")
    assert (root.find(f".//{SVG}image") is not None) == (show is KINDS["large"][0])


@EVERY
def test_it_is_the_same_each_time(window: QWidget, show: Show, words: Sequence[str]) -> None:
    plot = show(window)
    first = plot_svg(plot, WIDTH, HEIGHT)
    assert plot_svg(plot, WIDTH, HEIGHT) == first
    plot.set_theme(DARK)
    assert plot_svg(plot, WIDTH, HEIGHT) == first
    assert plot_svg(show(window), WIDTH, HEIGHT) == first
    assert plot_svg(plot, WIDTH, HEIGHT, DARK) != first


_PROGRAM = """
from bertviewer.plots.export import plot_svg
from bertviewer.plots.export import offscreen_application
application = offscreen_application()
from tests.plots import test_svg
for name, (show, _) in test_svg.KINDS.items():
    print(plot_svg(show(None), 560, 340))
"""


def test_it_is_the_same_in_every_process() -> None:
    found = [
        subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert found[0] == found[1]
    assert found[0].count(b"</svg>") == len(KINDS)


def test_names_for_those_who_do_not_see_it(window: QWidget) -> None:
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
def test_a_text_is_one(text: str) -> None:
    def draw(painter: QPainter) -> None:
        painter.setFont(window_font())
        painter.drawText(QPointF(20, 40), text)
        painter.translate(20, 180)
        painter.rotate(-90)
        painter.drawText(QPointF(0, 0), text)

    flat, turned = svg_by(draw).iter(f"{SVG}text")
    assert (flat.text or "").translate(MARKS) == (turned.text or "").translate(MARKS)
    assert (flat.text or "").translate(MARKS) == text.translate(MARKS)
    assert (flat.get("x", "").split()[0], flat.get("y")) == ("20", "40")
    assert turned.get("transform") == "rotate(-90 20 180)"


def test_letters_that_would_become_others_have_places_of_their_own() -> None:
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


def test_type() -> None:
    def draw(painter: QPainter) -> None:
        painter.setFont(weighted(window_font()))
        painter.scale(0.5, 0.5)
        painter.drawText(QPointF(20, 40), "strong")

    root = svg_by(draw)
    (text,) = root.iter(f"{SVG}text")
    # Hundreds are all that some programs know.
    assert (text.get("font-size"), text.get("font-weight")) == ("6.5", "600")
    assert root.get("font-family") == css_family(FONTS)


def test_a_family_of_any_name() -> None:
    def draw(painter: QPainter) -> None:
        painter.setFont(QFont(["Inter"]))
        for y in (10, 20):
            painter.drawText(QPointF(20, y), "plain")
        painter.setFont(QFont(['a"><b&'], 10))
        painter.drawText(QPointF(20, 40), "word")

    *_, text = svg_by(draw).iter(f"{SVG}text")
    assert text.get("font-family") == 'a"><b&'


def test_what_a_clip_leaves() -> None:
    def draw(painter: QPainter) -> None:
        painter.setClipRect(QRectF(0, 0, 100, 100))
        painter.save()
        painter.setClipRect(QRectF(10, 10, 20, 20), Qt.ClipOperation.IntersectClip)
        painter.fillRect(QRectF(0, 0, 15, 15), QColor("#ff0000"))
        painter.fillRect(QRectF(40, 40, 10, 10), QColor("#00ff00"))
        painter.drawLine(QPointF(0, 20), QPointF(100, 20))
        painter.restore()
        painter.fillRect(QRectF(40, 40, 10, 10), QColor("#0000ff"))
        painter.setPen(QPen(QColor("#123456"), 2))
        painter.setBrush(QBrush(QColor("#654321")))
        painter.drawEllipse(QRectF(90, 90, 20, 20))

    root = svg_by(draw)
    fills = [each.get("fill") for each in root.iter() if each.get("fill", "none") != "none"]
    assert fills == ["#ff0000", "#0000ff", "#654321"]
    red = next(root.iter(f"{SVG}rect"))
    assert [red.get(name) for name in ("x", "y", "width", "height")] == ["10", "10", "5", "5"]
    groups = [each for each in root.iter(f"{SVG}g") if "clip-path" in each.attrib]
    clips = {f"url(#{clip.get('id')})" for clip in root.iter(f"{SVG}clipPath")}
    assert {each.get("clip-path") for each in groups} == clips
    line, ellipse = (each[0] for each in groups)
    assert line.get("d") == "M0 20L100 20"
    assert ellipse.get("fill") == "#654321"


def test_pens_are_as_wide_as_they_are() -> None:
    def draw(painter: QPainter) -> None:
        painter.scale(10, 5)
        fixed = QPen(QColor("#000000"), 2, Qt.PenStyle.DashLine)
        fixed.setCosmetic(True)
        painter.setPen(fixed)
        painter.drawLine(QPointF(1, 1), QPointF(2, 2))
        painter.setPen(QPen(QColor("#000000"), 1))
        painter.drawLine(QPointF(3, 1), QPointF(4, 2))

    one, other = svg_by(draw).iter(f"{SVG}path")
    assert (one.get("d"), one.get("stroke-width")) == ("M10 5L20 10", "2")
    assert one.get("stroke-dasharray") == "8 4"
    assert (other.get("d"), other.get("stroke-width")) == ("M30 5L40 10", "7.07")
    assert "stroke-dasharray" not in other.attrib


def test_what_is_not_supported_is_refused() -> None:
    with pytest.raises(TypeError, match="not written as SVG"):
        svg_of(lambda painter: painter.drawPolygon([QPointF(0, 0), QPointF(1, 1)]), 10, 10)
