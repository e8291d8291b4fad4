"""Colours of values as tables, and many values as few."""

from functools import cache
from itertools import pairwise

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtGui import QColor

from bertviewer.charts.levels import Values
from bertviewer.plots.theme import PlotTheme

SHADES = 256
ColorTable = NDArray[np.uint32]
"""``SHADES`` opaque colours as 0xAARRGGBB, and last one that cannot be seen."""


@cache
def color_table(theme: PlotTheme, is_signed: bool) -> ColorTable:
    """Return a theme's colours from low to high, or from negative to positive."""
    stops = theme.diverging
    colormap = (
        pg.ColorMap(np.linspace(0, 1, len(stops)), stops)
        if is_signed
        else pg.colormap.get(theme.colormap)
    )
    red, green, blue = colormap.getLookupTable(nPts=SHADES)[:, :3].astype(np.uint32).T
    colors = np.uint32(0xFF000000) | red << 16 | green << 8 | blue
    return np.append(colors, np.uint32(0)).astype(np.uint32)


def tinted(color: str, opacity: float) -> QColor:
    """Return a colour that lets through what is behind it."""
    tint = QColor(color)
    tint.setAlphaF(opacity)
    return tint


def reduced(values: Values, rows: int, columns: int, is_signed: bool = False) -> Values:
    """Return at most so many rows and columns: each is the largest of a block of values.

    Of signed values it is the one farthest from 0. The largest and not the mean, so that a line
    one cell wide stays visible where a pixel holds many cells. Values are [..., rows, columns].
    """
    if values.shape[-2] <= rows and values.shape[-1] <= columns:
        return values
    # NaN is no value: a block has one if any of its values is a number.
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
