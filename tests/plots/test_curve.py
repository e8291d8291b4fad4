"""A line with symbols: where it is drawn, and where it says that it is."""

import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPen, QTransform
from PySide6.QtWidgets import QGraphicsScene
from pytestqt.qtbot import QtBot

from bertviewer.plots.curve import Curve, Symbol

SIZE = 100
Heights = tuple[float | None, ...]


def line(style: Qt.PenStyle = Qt.PenStyle.SolidLine, width: int = 2) -> QPen:
    pen = QPen(QColor("red"), width, style)
    pen.setCosmetic(True)
    return pen


DOT = Symbol("o", 9, QBrush(QColor("red")), line(width=1))


def painted(curve: Curve) -> QImage:
    """Draw on 100 x 100 pixels, in which x runs to 5 and y, from the bottom up, to 10."""
    scene = QGraphicsScene(0, 0, SIZE, SIZE)
    curve.setTransform(QTransform(20, 0, 0, -10, 0, SIZE))
    scene.addItem(curve)
    image = QImage(SIZE, SIZE, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    scene.render(painter, QRectF(0, 0, SIZE, SIZE), QRectF(0, 0, SIZE, SIZE))
    painter.end()
    scene.removeItem(curve)
    return image


def inked(image: QImage) -> set[tuple[int, int]]:
    white = QColor("white")
    return {(x, y) for x in range(SIZE) for y in range(SIZE) if image.pixelColor(x, y) != white}


@pytest.mark.parametrize("style", [Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine])
@pytest.mark.parametrize("gap", [None, float("nan"), float("inf")])
def test_a_gap_is_left_blank(qtbot: QtBot, style: Qt.PenStyle, gap: float | None) -> None:
    columns = {x for x, _ in inked(painted(Curve((5.0, 5.0, gap, 5.0, 5.0), line(style))))}
    assert columns & set(range(2, 19))
    assert columns & set(range(62, 79))
    assert not columns & set(range(24, 57))


@pytest.mark.parametrize("symbol", [None, DOT])
@pytest.mark.parametrize("heights", [(2.0, 9.0, 1.0), (5.0, 5.0, 5.0), (4.0, None, 6.0)])
def test_all_that_is_drawn_lies_in_the_bounding_rectangle(
    qtbot: QtBot, symbol: Symbol | None, heights: Heights
) -> None:
    curve = Curve((None, *heights), line(), symbol)
    found = inked(painted(curve))
    scene = QGraphicsScene()
    scene.addItem(curve)
    bounds = curve.mapRectToScene(curve.boundingRect())
    assert found or (symbol is None and None in heights)
    assert all(bounds.contains(QRectF(x, y, 1, 1)) for x, y in found)
    # And not in one that makes Qt draw half the plot anew for it.
    assert bounds.width() < 2 * 20 + 30


def test_a_lone_point_has_its_symbol(qtbot: QtBot) -> None:
    found = inked(painted(Curve((None, 5.0, None), line(), DOT)))
    assert {x for x, _ in found} <= set(range(14, 27))
    assert (20, 50) in found


def test_a_symbol_keeps_its_size_however_the_plot_is_stretched(qtbot: QtBot) -> None:
    found = inked(painted(Curve((None, 5.0), QPen(Qt.PenStyle.NoPen), DOT)))
    wide = {x for x, _ in found}
    tall = {y for _, y in found}
    assert len(wide) == len(tall)
    assert 9 <= len(wide) <= 12


@pytest.mark.parametrize("heights", [(), (None, None), (float("nan"),)])
def test_nothing_to_draw(qtbot: QtBot, heights: Heights) -> None:
    curve = Curve(heights, line(), DOT)
    assert curve.boundingRect().isEmpty()
    assert inked(painted(curve)) == set()
