"""What one pass over a tensor tells, as plain data."""

import numpy as np
from numpy.typing import NDArray

from bertviewer.core.activations.statistics import Statistics
from bertviewer.core.frozen import frozen

Norms = NDArray[np.float64]


@frozen(eq=False)
class Survey:
    """What one pass over a tensor tells.

    Attributes:
        statistics: of its finite elements.
        row_norms: the Euclidean norm of each row; NaN and Inf go into it.
        column_norms: that of each column.
    """

    statistics: Statistics
    row_norms: Norms
    column_norms: Norms
