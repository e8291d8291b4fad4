"""What one pass over a tensor tells, as plain data."""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.core.schema.statistics import Statistics

Norms = NDArray[np.float64]


class Survey(Struct, frozen=True, eq=False):
    """What one pass over a tensor tells.

    Attributes:
        statistics: of its finite elements.
        row_norms: the Euclidean norm of each row; NaN and Inf go into it.
        column_norms: that of each column.
    """

    statistics: Statistics
    row_norms: Norms
    column_norms: Norms
