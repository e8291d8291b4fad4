"""Colours of values: linear, square-root and logarithmic scales over a theme's colour tables."""

from functools import cache
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QImage

from bertviewer.charts.levels import Levels, Values
from bertviewer.charts.theme import Theme
from bertviewer.plots.ticks import power_of

SHADES = 256
ColorTable = NDArray[np.uint32]
"""``SHADES`` opaque colours as 0xAARRGGBB, and a transparent one at the end."""


@cache
def color_table(theme: Theme, is_signed: bool) -> ColorTable:
    """Return a theme's colours from low to high, or from negative to positive."""
    stops = theme.diverging if is_signed else theme.colormap
    channels = np.array([list(bytes.fromhex(stop[1:])) for stop in stops], dtype=np.float64).T
    places, ends = np.linspace(0, 1, SHADES), np.linspace(0, 1, len(stops))
    red, green, blue = (np.interp(places, ends, each).astype(np.uint32) for each in channels)
    colors = np.uint32(0xFF000000) | red << 16 | green << 8 | blue
    return np.append(colors, np.uint32(0)).astype(np.uint32)


def tinted(color: str, opacity: float) -> QColor:
    """Return a translucent colour."""
    tint = QColor(color)
    tint.setAlphaF(opacity)
    return tint


def reduced(values: Values, rows: int, columns: int, is_signed: bool = False) -> Values:
    """Reduce values [..., rows, columns] to at most ``rows`` and ``columns``.

    Each result is the largest of a block, of signed values the one farthest from 0. The largest and
    not the mean, so that a line one cell wide stays visible where a pixel holds many cells.
    """
    if values.shape[-2] <= rows and values.shape[-1] <= columns:
        return values
    # NaN is missing: a block is NaN only if all of its values are.
    most = _blocks(np.fmax, values, rows, columns)
    if not is_signed:
        return most
    least = _blocks(np.fmin, values, rows, columns)
    return np.where(-least > most, least, most)


def _blocks(choose: np.ufunc, values: Values, rows: int, columns: int) -> Values:
    size = values.shape[-2]
    if rows < size:
        # Block by block: reduceat() takes ten times as long to go down columns.
        edges = np.arange(rows + 1) * size // rows
        values = np.stack(
            [choose.reduce(values[..., a:b, :], axis=-2) for a, b in pairwise(edges.tolist())],
            axis=-2,
        )
    size = values.shape[-1]
    if columns < size:
        values = choose.reduceat(values, np.arange(columns) * size // columns, axis=-1)
    return values


class ColorScale(Struct, frozen=True, eq=False):
    """The colours of a chart's values, from the table's start at the lower level to its end.

    Attributes:
        levels: the values of both ends; values beyond them have the ends' colours.
        table: the colours.
        is_signed: values are about 0, and a block is represented by the value farthest from it.
        is_root: colours follow the signed square roots of the values, which separates small values
            next to large ones.
        is_log: colours follow the logarithms; both levels are positive.
    """

    levels: Levels
    table: ColorTable
    is_signed: bool = False
    is_root: bool = False
    is_log: bool = False

    @property
    def power(self) -> int:
        """The power of ten in whose units positions are."""
        return 0 if self.is_log else power_of(self.levels)

    @property
    def ends(self) -> Levels:
        """The positions of both levels."""
        low, high = self.positions(np.array(self.levels)).tolist()
        return low, high

    def positions(self, values: Values) -> Values:
        """Return the positions of values on the colour bar."""
        if self.is_log:
            return np.log10(np.fmax(values, self.levels[0]))
        if self.power:
            values = values / 10.0**self.power
        return np.copysign(np.sqrt(np.abs(values)), values) if self.is_root else values

    def shades(self, values: Values) -> NDArray[np.intp]:
        """Return the index of each value in the table, the last one if it is not finite."""
        low, high = self.ends
        with np.errstate(invalid="ignore", over="ignore"):
            places = self.positions(np.asarray(values, dtype=np.float64))
            parts = (places - low) / (high - low) * (SHADES - 1)
        numbers = np.isfinite(values)
        inside = np.clip(np.where(numbers, parts, 0), 0, SHADES - 1)
        return np.where(numbers, inside, SHADES).astype(np.intp)

    def image(self, values: Values) -> QImage:
        """Return values [rows, columns] as an image with a pixel each, row 0 first."""
        pixels = np.ascontiguousarray(self.table[self.shades(values)])
        rows, columns = pixels.shape
        # The image only borrows the pixels; its copy has its own.
        return QImage(
            pixels.data, columns, rows, 4 * columns, QImage.Format.Format_ARGB32_Premultiplied
        ).copy()
