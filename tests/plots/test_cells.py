"""Coloured cells as images and rectangles, and frames around them."""

from collections.abc import Sequence

import numpy as np
import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPicture

from bertviewer.charts.levels import levels_of
from bertviewer.charts.theme import LIGHT
from bertviewer.plots.cells import MAX_RECTANGLES, THIN, CellGrid, CellImages, draw_frame
from bertviewer.plots.color_scale import ColorScale, color_table
from tests.plots.looking import HIGHEST, LOWEST, colors_of, numbers

EMPTY = "#ff00ff"
SIZE = 20
"""Pixels of one cell."""

pytestmark = pytest.mark.usefixtures("qapp")
DEVICES = pytest.mark.parametrize("is_paper", [False, True], ids=["screen", "paper"])


def paint(
    painter: QPainter,
    values: Sequence[Sequence[float]] | np.ndarray,
    width: float,
    height: float,
    is_signed: bool = False,
) -> None:
    """Paint values in their colours into a rectangle."""
    array = np.array(values, dtype=float)
    scale = ColorScale(levels_of(array, is_signed), color_table(LIGHT, is_signed), is_signed)
    rows, columns = array.shape
    grid = CellGrid((rows, columns), lambda: array, scale)
    CellImages(LIGHT).draw(painter, QRectF(0, 0, width, height), grid)


def drawn(
    values: Sequence[Sequence[float]] | np.ndarray,
    size: tuple[int, int] | None = None,
    *,
    is_paper: bool = False,
    is_signed: bool = False,
    antialiased: bool = False,
) -> QImage:
    """Return an image of cells; for paper, the painting is recorded and replayed."""
    rows, columns = np.shape(values)
    width, height = size or (columns * SIZE, rows * SIZE)
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(QColor(EMPTY))
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, antialiased)
    if is_paper:
        painter.drawPicture(0, 0, recorded(values, width, height))
    else:
        paint(painter, values, width, height, is_signed)
    painter.end()
    return image


def recorded(
    values: Sequence[Sequence[float]] | np.ndarray, width: float, height: float
) -> QPicture:
    picture = QPicture()
    painter = QPainter(picture)
    paint(painter, values, width, height)
    painter.end()
    return picture


def cells_of(image: QImage) -> list[list[str]]:
    """Return the colours in the middle of all cells."""
    xs, ys = (range(SIZE // 2, end, SIZE) for end in (image.width(), image.height()))
    return [[image.pixelColor(x, y).name() for x in xs] for y in ys]


@DEVICES
def test_the_ends_of_the_colour_map_are_the_extremes_and_row_0_is_on_top(is_paper: bool) -> None:
    ((a, b), (c, d)) = cells_of(drawn([[3.0, 7.0], [11.0, 5.0]], is_paper=is_paper))
    assert (a, c) == (LOWEST, HIGHEST)
    assert len({a, b, c, d, EMPTY}) == 5
    ((a, b), (c, d)) = cells_of(drawn([[1.0, np.nan], [np.inf, 2.0]], is_paper=is_paper))
    assert (a, b, c, d) == (LOWEST, EMPTY, EMPTY, HIGHEST)
    assert cells_of(drawn([[np.nan, -np.inf]], is_paper=is_paper)) == [[EMPTY] * 2]


def test_equal_values_have_equal_colours_and_more_is_lighter() -> None:
    (colors,) = cells_of(drawn([[0.0, 1.0, 2.0, 3.0, 4.0, 2.0]]))
    assert colors[2] == colors[5]
    lightness = [QColor(color).lightness() for color in colors[:5]]
    assert len(set(colors)) == 5
    assert lightness[0] < lightness[2] < lightness[4]
    for value in (0.0, 4.0, -1e-30, 1e30):
        ((one, other),) = cells_of(drawn([[value, value]]))
        assert one == other != EMPTY
    # Rounding errors are not amplified.
    ((one, other),) = cells_of(drawn([[5.0, 5.0 + 1e-9]]))
    assert one == other


@DEVICES
@pytest.mark.parametrize("shape", [(5, 7), (40, 100)])
def test_no_background_shows_between_smooth_cells(shape: tuple[int, int], is_paper: bool) -> None:
    # Cells end within pixels, as on paper and on scaled screens.
    image = drawn(np.ones(shape), (150, 110), is_paper=is_paper, antialiased=True)
    assert len(colors_of(image.copy(1, 1, 148, 108))) == 1


@pytest.mark.parametrize("is_signed", [False, True])
def test_a_pixel_shows_the_largest_of_its_cells(is_signed: bool) -> None:
    values = np.zeros((300, 400))
    values[137, 211] = 1.0
    values[20, 20] = -1.0
    image = drawn(values, (40, 30), is_signed=is_signed)
    ends = color_table(LIGHT, is_signed)
    assert image.pixelColor(21, 13).rgb() == ends[255]
    assert len(colors_of(image)) == (3 if is_signed else 2)
    assert (int(ends[0]) in numbers(image)) == is_signed


def test_paper_gets_rectangles_unless_there_are_too_many() -> None:
    sizes = []
    for rows in (50, 70, 71, 80):
        values = np.add.outer(np.arange(rows), np.arange(MAX_RECTANGLES // 70)).astype(float)
        sizes.append(recorded(values, 300, 300).size() / values.size)
    # A rectangle takes tens of bytes, a pixel of an image at most four.
    assert min(sizes[:2]) > 20
    assert max(sizes[2:]) < 5


def test_cells_have_no_outline_and_stay_inside() -> None:
    image = QImage(60, 40, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    painter.translate(10, 10)
    paint(painter, [[1.0, 2.0]], 40, 20)
    painter.end()
    colored = np.argwhere(numbers(image) != 0xFFFFFFFF)
    assert (colored.min(axis=0).tolist(), colored.max(axis=0).tolist()) == ([10, 10], [29, 49])
    assert colors_of(image.copy(10, 10, 40, 20)) == {LOWEST, HIGHEST}


@pytest.mark.parametrize("high", [0.01, 0.35, 1.0, 9.0])
@pytest.mark.parametrize("y", [0.0, 0.35, 20.0, 39.65])
def test_a_frame_has_two_lines_around_a_row_of_any_height(y: float, high: float) -> None:
    width, height = 60, 40
    y = min(y, height - high)
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(QColor("blue"))
    painter = QPainter(image)
    draw_frame(painter, QRectF(0, y, width, high), QRectF(image.rect()), LIGHT, THIN)
    painter.end()

    def lines(x: int) -> list[int]:
        return [row for row in range(height) if image.pixelColor(x, row).name() == LIGHT.text]

    first, last = lines(width // 2)
    assert last - first >= 2
    assert all(lines(x) == [first, last] for x in range(4, width - 4))
    # As near as the edge permits, with a light line around it.
    assert first <= max(y, 2)
    assert last >= min(y + high, height - 2) - 1
    for beside in (first - 1, last + 1):
        assert image.pixelColor(width // 2, beside).name() == LIGHT.surface
