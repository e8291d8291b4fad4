import numpy as np
from numpy.typing import NDArray

def row_sums(
    values: NDArray[np.float32], width: int, out: NDArray[np.float64], /
) -> tuple[int, int, int, float, float, float, float]: ...
