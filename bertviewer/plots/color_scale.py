"""Which colour a value has: by its size, or by its square root."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QImage

from bertviewer.charts.levels import Levels, Values
from bertviewer.plots.colors import SHADES, ColorTable
from bertviewer.plots.magnitude import power_of


@dataclass(frozen=True, slots=True, eq=False)
class ColorScale:
    """The colours of a chart's values, from the table's start at the lower level to its end.

    Attributes:
        levels: the values of both ends; those beyond have the ends' colours.
        table: the colours.
        is_signed: the values are about 0, where a block of them is shown by the farthest from it.
        is_root: colours follow the square roots of the values, with their signs: small ones can
            be told apart beside large ones then.
    """

    levels: Levels
    table: ColorTable
    is_signed: bool = False
    is_root: bool = False

    @property
    def power(self) -> int:
        """The power of ten that is 1 where values stand."""
        return power_of(self.levels)

    @property
    def ends(self) -> Levels:
        """Where both levels stand."""
        low, high = self.stands(np.array(self.levels)).tolist()
        return low, high

    def stands(self, values: Values) -> Values:
        """Return where values stand: as far from one another as their colours."""
        if self.power:
            values = values / 10.0**self.power
        return np.copysign(np.sqrt(np.abs(values)), values) if self.is_root else values

    def shades(self, values: Values) -> NDArray[np.intp]:
        """Return each value's place in the table; what is not finite has the last one."""
        low, high = self.ends
        with np.errstate(invalid="ignore", over="ignore"):
            places = self.stands(np.asarray(values, dtype=np.float64))
            parts = (places - low) / (high - low) * (SHADES - 1)
        numbers = np.isfinite(values)
        inside = np.clip(np.where(numbers, parts, 0), 0, SHADES - 1)
        return np.where(numbers, inside, SHADES).astype(np.intp)

    def picture(self, values: Values) -> QImage:
        """Return values [rows, columns] as an image of so many pixels, row 0 first."""
        pixels = np.ascontiguousarray(self.table[self.shades(values)])
        rows, columns = pixels.shape
        # The image only borrows the pixels; its copy has its own.
        return QImage(
            pixels.data, columns, rows, 4 * columns, QImage.Format.Format_ARGB32_Premultiplied
        ).copy()
