"""Formulas as SVG: what a window can draw, in the colours and the width asked for."""

import re

import numpy as np
import pytest
from PySide6.QtCore import QByteArray, QRectF
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.report.typesetting import formula_svg
from tests.core.formulas.formula_models import architecture_of

COLOR, MUTED = "#123456", "#a0b0c0"

pytestmark = pytest.mark.usefixtures("qapp")


def formula(*maths: str, terms: tuple[Term, ...] = ()) -> Formula:
    return Formula("title", "summary", maths, terms, "source")


def svg_of(made: Formula, width: float = 400, size: float = 12) -> bytes:
    return formula_svg(made, width, size, COLOR, MUTED)


def renderer_of(svg: bytes) -> QSvgRenderer:
    renderer = QSvgRenderer(QByteArray(svg))
    assert renderer.isValid()
    return renderer


def drawn_columns(svg: bytes, around: int = 60) -> tuple[float, float]:
    """Return where the drawing starts and ends, in points; what the edges cut counts too."""
    renderer = renderer_of(svg)
    box = renderer.viewBoxF()
    renderer.setViewBox(box.adjusted(-around, -around, around, around))
    image = QImage(
        2 * int(box.width() + 2 * around),
        2 * int(box.height() + 2 * around),
        QImage.Format.Format_ARGB32,
    )
    image.fill(0)
    painter = QPainter(image)
    renderer.render(painter, QRectF(image.rect()))
    painter.end()
    pixels = np.frombuffer(image.constBits(), dtype=np.uint32)
    columns = np.flatnonzero(pixels.reshape(image.height(), image.width()).any(axis=0))
    assert columns.size, "nothing was drawn"
    scale = (box.width() + 2 * around) / image.width()
    return float(columns[0] * scale - around), float((columns[-1] + 1) * scale - around)


def test_every_formula_of_a_bert_is_a_drawing() -> None:
    architecture = architecture_of("bert")
    seen = set()
    for node in architecture.modules:
        made = formula_of(node, architecture)
        if made is None or node.class_name in seen:
            continue
        seen.add(node.class_name)
        renderer = renderer_of(svg_of(made))
        assert renderer.viewBoxF().width() == pytest.approx(400, abs=0.01), node.class_name
        assert renderer.defaultSize().height() > 10, node.class_name
    assert len(seen) > 12


@pytest.mark.parametrize("width", [80.0, 150.5, 400.0, 1200.0])
def test_the_width_asked_for(width: float) -> None:
    svg = svg_of(formula("y = x W^top + b", terms=(Term("x", "the input", "[1, 2]"),)), width)
    assert renderer_of(svg).viewBoxF().width() == pytest.approx(width, abs=0.01)


def test_colours() -> None:
    made = formula("x^2", terms=(Term("x", "a number", "[7]"),))
    svg = svg_of(made).decode()
    assert set(re.findall(r"#[0-9a-f]{6}\b", svg)) == {COLOR, MUTED}
    assert set(re.findall(r"#[0-9a-f]{6}\b", svg_of(formula("x^2")).decode())) == {COLOR}


def test_the_ground_is_left_free() -> None:
    renderer = renderer_of(svg_of(formula("x")))
    image = QImage(200, 50, QImage.Format.Format_ARGB32)
    image.fill(QColor("#ff00ff"))
    painter = QPainter(image)
    renderer.render(painter)
    painter.end()
    assert image.pixelColor(199, 0) == QColor("#ff00ff")


WIDE = "a + " * 40 + "z = integral_0^infinity " + "x_1 " * 20


@pytest.mark.parametrize("width", [120, 300])
def test_a_wide_line_is_scaled_down_and_not_cut(width: int) -> None:
    start, end = drawn_columns(svg_of(formula(WIDE), width))
    assert start >= 0
    assert width * 0.9 < end <= width


def test_a_scaled_line_is_lower_too() -> None:
    heights = [
        renderer_of(svg_of(formula(WIDE), width)).viewBoxF().height() for width in (120, 300, 2000)
    ]
    assert heights[0] < heights[1] < heights[2]


def test_a_line_that_fits_keeps_its_size() -> None:
    narrow, wide = (drawn_columns(svg_of(formula("x + y"), width)) for width in (200, 400))
    assert narrow == pytest.approx(wide, abs=0.6)
    bigger = drawn_columns(svg_of(formula("x + y"), 200, size=24))
    assert bigger[1] - bigger[0] == pytest.approx(2 * (narrow[1] - narrow[0]), rel=0.1)


@pytest.mark.parametrize("width", [220, 400])
def test_real_formulas_stay_inside(width: int) -> None:
    architecture = architecture_of("bert")
    for path in ("encoder.layer.0.attention.self", "encoder.layer.0"):
        (node,) = (node for node in architecture.modules if node.path == path)
        made = formula_of(node, architecture)
        assert made is not None
        start, end = drawn_columns(svg_of(made, width))
        assert start >= 0, path
        assert end <= width, path


def test_words_of_the_legend_are_not_markup() -> None:
    plain = Term("x", "#panic() $x$ *b* <i> \\ \" '", "#value $1$")
    svg = svg_of(formula("x", terms=(plain,)))
    assert renderer_of(svg).isValid()
    # A legend that was read as markup would be shorter by its signs.
    letters = Term("x", "XpanicXX XxX XbX XiX X X X", "Xvalue X1X")
    glyphs = svg.count(b"<use")
    assert glyphs == svg_of(formula("x", terms=(letters,))).count(b"<use") > 20


def test_each_line_is_below_the_one_before(qapp: QApplication) -> None:
    heights = [
        renderer_of(svg_of(formula(*["x = y"] * lines))).viewBoxF().height() for lines in (1, 2, 3)
    ]
    assert heights[1] - heights[0] == pytest.approx(heights[2] - heights[1], abs=0.5)
    assert heights[1] - heights[0] > 10
