"""What was given and what was recomputed, element by element: their difference, and the worst."""

import numpy as np
from msgspec import Struct

from bertviewer.core.checkpoints.decoding import Values
from bertviewer.core.checkpoints.reading import Span
from bertviewer.core.tensors.values import Origin, TensorValues


class Difference(Struct, frozen=True, eq=False):
    """What was given less what was recomputed, in float64, where it is asked for."""

    name: str
    given: TensorValues
    recomputed: TensorValues

    @property
    def shape(self) -> tuple[int, ...]:
        """That of both."""
        return self.given.shape

    @property
    def dtype(self) -> str:
        """What it is calculated in."""
        return "float64"

    @property
    def origin(self) -> Origin:
        """That of what was recomputed."""
        return self.recomputed.origin

    def block(self, rows: Span, columns: Span) -> Values:
        """Return a part; 0 where both are the same infinite number or NaN.

        Raises:
            UserError: it cannot be read any more.
        """
        given, found = (
            each.block(rows, columns).astype(np.float64) for each in (self.given, self.recomputed)
        )
        with np.errstate(invalid="ignore"):
            difference: Values = given - found
        difference[(given == found) | (np.isnan(given) & np.isnan(found))] = 0.0
        return difference


class Worst(Struct, frozen=True):
    """The element that a check is about: of the largest difference, or of one that is not allowed.

    Attributes:
        index: its place in the tensor.
        difference: given less recomputed; NaN where just one of both is a number.
        tolerance: what rounding may do there.
    """

    index: tuple[int, ...]
    difference: float
    tolerance: float
