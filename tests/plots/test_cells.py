"""Coloured cells, by the pixels that they make."""

from collections.abc import Sequence

import numpy as np
import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPicture
from PySide6.QtWidgets import QApplication

from bertviewer.charts.levels import levels_of
from bertviewer.charts.theme import LIGHT
from bertviewer.plots.cells import MAX_RECTANGLES, CellGrid, CellImages
from bertviewer.plots.color_scale import ColorScale, color_table

LOWEST, HIGHEST = (68, 1, 84), (253, 231, 37)
"""Viridis' two ends."""
EMPTY = (255, 0, 255)
SIZE = 20
"""Pixels of one cell."""

pytestmark = pytest.mark.usefixtures("qapp")


class Cells:
    """Values [rows, columns] in their colours; row 0 is on top."""

    def __init__(self, values: Sequence[Sequence[float]], is_signed: bool = False) -> None:
        self.values = np.array(values, dtype=float)
        table = color_table(LIGHT, is_signed)
        self.scale = ColorScale(levels_of(self.values, is_signed), table, is_signed)

    def paint(self, painter: QPainter, width: float, height: float) -> None:
        rows, columns = self.values.shape
        grid = CellGrid((rows, columns), lambda: self.values, self.scale)
        CellImages(LIGHT).draw(painter, QRectF(0, 0, width, height), grid)


def drawn(item: Cells, is_paper: bool = False) -> QImage:
    """Draw cells of ``SIZE`` pixels. For paper they are recorded first."""
    rows, columns = item.values.shape
    size = columns * SIZE, rows * SIZE
    image = QImage(*size, QImage.Format.Format_RGB32)
    image.fill(QColor(*EMPTY))
    painter = QPainter(image)
    if is_paper:
        picture = QPicture()
        recorder = QPainter(picture)
        item.paint(recorder, *size)
        recorder.end()
        painter.drawPicture(0, 0, picture)
    else:
        item.paint(painter, *size)
    painter.end()
    return image


def color_of(image: QImage, row: int, column: int) -> tuple[int, int, int]:
    """Return the colour in the middle of a cell."""
    x = column * SIZE + SIZE // 2
    y = row * SIZE + SIZE // 2
    return rgb(image, x, y)


def rgb(image: QImage, x: int, y: int) -> tuple[int, int, int]:
    color = image.pixelColor(x, y)
    return color.red(), color.green(), color.blue()


@pytest.mark.parametrize("is_paper", [False, True])
def test_extremes_have_the_colormaps_ends(is_paper: bool) -> None:
    image = drawn(Cells([[3.0, 7.0], [11.0, 5.0]]), is_paper=is_paper)
    assert color_of(image, 0, 0) == LOWEST
    assert color_of(image, 1, 0) == HIGHEST
    assert color_of(image, 0, 1) not in (LOWEST, HIGHEST, EMPTY)


def test_row_0_is_on_top() -> None:
    image = drawn(Cells([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]))
    assert (image.width(), image.height()) == (3 * SIZE, 2 * SIZE)
    for column in range(3):
        assert color_of(image, 0, column) == LOWEST
        assert color_of(image, 1, column) == HIGHEST
    assert rgb(image, 5, image.height() - 1) == HIGHEST
    assert rgb(image, 5, 0) == LOWEST


def test_equal_values_have_equal_colours_and_more_is_brighter() -> None:
    image = drawn(Cells([[0.0, 1.0, 2.0, 3.0, 4.0, 2.0]]))
    colors = [color_of(image, 0, column) for column in range(6)]
    assert colors[2] == colors[5]
    lightness = [QColor(*color).lightness() for color in colors[:5]]
    assert len(set(colors[:5])) == 5
    assert lightness[0] < lightness[2] < lightness[4]


@pytest.mark.parametrize("hole", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("is_paper", [False, True])
def test_a_cell_without_a_number_stays_empty(hole: float, is_paper: bool) -> None:
    image = drawn(Cells([[1.0, hole], [hole, 2.0]]), is_paper=is_paper)
    assert color_of(image, 0, 0) == LOWEST
    assert color_of(image, 0, 1) == EMPTY
    assert color_of(image, 1, 0) == EMPTY
    assert color_of(image, 1, 1) == HIGHEST


def test_nothing_but_holes() -> None:
    image = drawn(Cells([[np.nan, np.nan]]))
    assert color_of(image, 0, 0) == color_of(image, 0, 1) == EMPTY


def test_one_value_everywhere_has_one_colour() -> None:
    for value in (0.0, 4.0, -1e-30, 1e30):
        image = drawn(Cells([[value, value]]))
        assert color_of(image, 0, 0) == color_of(image, 0, 1) != EMPTY


def test_rounding_errors_are_not_blown_up() -> None:
    image = drawn(Cells([[5.0, 5.0 + 1e-9]]))
    assert color_of(image, 0, 0) == color_of(image, 0, 1)


@pytest.mark.parametrize("is_paper", [False, True])
@pytest.mark.parametrize("shape", [(5, 7), (40, 100)])
def test_no_background_shows_between_smooth_cells(shape: tuple[int, int], is_paper: bool) -> None:
    # With fractions of pixels, as on paper and on scaled screens.
    item = Cells(np.ones(shape).tolist())
    picture = QPicture()
    recorder = QPainter(picture)
    item.paint(recorder, 150, 110)
    recorder.end()
    image = QImage(150, 110, QImage.Format.Format_RGB32)
    image.fill(QColor(*EMPTY))
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    if is_paper:
        painter.drawPicture(0, 0, picture)
    else:
        item.paint(painter, 150, 110)
    painter.end()
    colors = {rgb(image, x, y) for x in range(1, 149) for y in range(1, 109)}
    assert len(colors) == 1


@pytest.mark.parametrize("is_signed", [False, True])
def test_a_pixel_shows_the_largest_of_its_Cells(is_signed: bool) -> None:
    values = np.zeros((300, 400))
    values[137, 211] = 1.0
    values[20, 20] = -1.0
    item = Cells(values.tolist(), is_signed)
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    image.fill(QColor(*EMPTY))
    painter = QPainter(image)
    item.paint(painter, 40, 30)
    painter.end()
    ends = color_table(LIGHT, is_signed)
    assert image.pixelColor(21, 13).rgb() == ends[255]
    found = {image.pixelColor(x, y).rgb() for x in range(40) for y in range(30)}
    assert len(found) == (3 if is_signed else 2)
    assert (int(ends[0]) in found) == is_signed


def test_paper_gets_rectangles_until_there_are_too_many() -> None:
    sizes = []
    for rows in (50, 70, 71, 80):
        values = np.add.outer(np.arange(rows), np.arange(MAX_RECTANGLES // 70)).astype(float)
        picture = QPicture()
        painter = QPainter(picture)
        Cells(values.tolist()).paint(painter, 300, 300)
        painter.end()
        sizes.append(picture.size() / values.size)
    # A rectangle takes tens of bytes, a pixel of a picture at most four.
    assert min(sizes[:2]) > 20
    assert max(sizes[2:]) < 5


def test_drawing_leaves_no_outline_and_stays_inside(qapp: QApplication) -> None:
    item = Cells([[1.0, 2.0]])
    image = QImage(60, 40, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    painter.translate(10, 10)
    item.paint(painter, 40, 20)
    painter.end()
    inside = {(x, y) for x in range(10, 50) for y in range(10, 30)}
    colored = {(x, y) for x in range(60) for y in range(40) if rgb(image, x, y) != (255,) * 3}
    assert colored == inside
    assert {rgb(image, x, y) for x, y in inside} == {LOWEST, HIGHEST}
