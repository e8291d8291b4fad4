"""Formulas as SVG, in the colours and the width asked for."""

import re
from collections.abc import Callable

import pytest
from PySide6.QtCore import QByteArray, QRectF, QSize
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.report.typesetting import formula_svg
from tests.core.formulas.formula_models import architecture_of

COLOR, MUTED = "#123456", "#a0b0c0"
GROUND = "#ffffe0"

pytestmark = pytest.mark.usefixtures("qapp")


def formula(*maths: str, terms: tuple[Term, ...] = ()) -> Formula:
    return Formula("title", "summary", maths, terms, "source")


def svg_of(made: Formula, width: float = 400, size: float = 12) -> bytes:
    return formula_svg(made, width, size, COLOR, MUTED)


def renderer_of(svg: bytes) -> QSvgRenderer:
    renderer = QSvgRenderer(QByteArray(svg))
    assert renderer.isValid()
    return renderer


def size_of(svg: bytes) -> QSize:
    return renderer_of(svg).viewBoxF().size().toSize()


def picture(*svgs: bytes) -> QImage:
    """Return drawings below each other, with 20 points around each to show what overflows."""
    around = 20
    renderers = [renderer_of(svg) for svg in svgs]
    boxes = [
        renderer.viewBoxF().adjusted(-around, -around, around, around) for renderer in renderers
    ]
    width, height = max(box.width() for box in boxes), sum(box.height() for box in boxes)
    image = QImage(round(width), round(height), QImage.Format.Format_RGB32)
    image.fill(QColor(GROUND))
    painter = QPainter(image)
    top = 0.0
    for renderer, box in zip(renderers, boxes, strict=True):
        renderer.setViewBox(box)
        renderer.render(painter, QRectF(0, top, box.width(), box.height()))
        top += box.height()
    painter.end()
    return image.convertToFormat(QImage.Format.Format_Grayscale8)


WIDE = "a + " * 20 + "z = integral_0^infinity " + "x_1 " * 10


def test_formulas_are_drawn_on_a_transparent_ground(image: Callable[[str, QImage], None]) -> None:
    architecture = architecture_of("bert")
    (node,) = (n for n in architecture.modules if n.path == "encoder.layer.0.attention.self")
    attention = formula_of(node, architecture)
    assert attention is not None
    terms = (Term("x", "#panic() $x$ *b* <i> \\ \" '", "#value $1$"),)
    image(
        "formulas",
        picture(
            svg_of(attention, 400),
            svg_of(formula("y = x W^top + b", "z = x", terms=terms), 250),
            # A line that is wider than the drawing is scaled down.
            svg_of(formula(WIDE), 250),
            svg_of(formula(WIDE), 120),
            svg_of(formula("x + y"), 120, size=24),
        ),
    )


@pytest.mark.parametrize("width", [80.0, 150.5, 400.0, 1200.0])
def test_width(width: float) -> None:
    made = formula("y = x W^top + b", WIDE, terms=(Term("x", "the input", "[1, 2]"),))
    assert renderer_of(svg_of(made, width)).viewBoxF().width() == pytest.approx(width, abs=0.01)


def test_heights_grow_with_lines_and_with_the_scale() -> None:
    one, two, three = (size_of(svg_of(formula(*["x = y"] * n))).height() for n in (1, 2, 3))
    assert two - one == pytest.approx(three - two, abs=1)
    assert two - one > 10
    narrow, middle, wide = (size_of(svg_of(formula(WIDE), w)).height() for w in (120, 200, 2000))
    assert narrow < middle < wide


def test_colours() -> None:
    made = formula("x^2", terms=(Term("x", "a number", "[7]"),))
    assert set(re.findall(r"#[0-9a-f]{6}\b", svg_of(made).decode())) == {COLOR, MUTED}
    assert set(re.findall(r"#[0-9a-f]{6}\b", svg_of(formula("x^2")).decode())) == {COLOR}


def test_all_formulas_of_a_bert_are_drawn() -> None:
    architecture = architecture_of("bert")
    nodes = {node.class_name: node for node in architecture.modules}
    formulas = [formula_of(node, architecture) for node in nodes.values()]
    heights = [size_of(svg_of(made)).height() for made in formulas if made is not None]
    assert len(heights) > 12
    assert min(heights) > 10
