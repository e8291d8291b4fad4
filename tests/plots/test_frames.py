"""Frames around what is selected, of rectangles of any size."""

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter

from bertviewer.charts.theme import LIGHT
from bertviewer.plots.cells import THIN, draw_frame

WIDTH, HEIGHT = 60, 40


def drawn(rect: QRectF) -> QImage:
    """Return a frame in a blue picture."""
    image = QImage(WIDTH, HEIGHT, QImage.Format.Format_RGB32)
    image.fill(QColor("blue"))
    painter = QPainter(image)
    draw_frame(painter, rect, QRectF(image.rect()), LIGHT, THIN)
    painter.end()
    return image


def lines(image: QImage, x: int) -> list[int]:
    """Return where lines cross a column of pixels, from the top."""
    return [y for y in range(HEIGHT) if image.pixelColor(x, y).name() == LIGHT.text]


@pytest.mark.parametrize("high", [0.01, 0.35, 1.0, 9.0])
@pytest.mark.parametrize("y", [0.0, 0.35, 20.0, HEIGHT - 0.35])
def test_a_row_has_a_line_above_and_one_below(y: float, high: float) -> None:
    y = min(y, HEIGHT - high)
    image = drawn(QRectF(0, y, WIDTH, high))
    first, last = lines(image, WIDTH // 2)
    assert last - first >= 2
    for x in range(4, WIDTH - 4):
        assert lines(image, x) == [first, last], x
    # As near as the edge lets it, and a light line around it.
    assert first <= max(y, 2)
    assert last >= min(y + high, HEIGHT - 2) - 1
    for beside in (first - 1, last + 1):
        assert image.pixelColor(WIDTH // 2, beside).name() == LIGHT.surface
