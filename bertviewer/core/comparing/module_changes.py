"""How far whole modules moved: what the changes of their tensors add up to."""

import math
from collections.abc import Mapping

from bertviewer.core.comparing.comparison import Comparison


def module_changes(comparison: Comparison) -> Mapping[str, float]:
    """Return ‖Δ‖ / ‖left‖ over all compared tensors in each module, by its path; the root is "".

    A module without compared tensors, or whose left tensors are all 0, is left out.
    """
    sums: dict[str, tuple[float, float]] = {}
    for tensor in comparison.tensors:
        if tensor.change is None:
            continue
        moved, norm = tensor.change.difference_norm, tensor.change.left_norm
        path = tensor.name
        while path:
            path = path.rpartition(".")[0]
            # Not of squares: those of large norms are infinite.
            before = sums.get(path, (0.0, 0.0))
            sums[path] = math.hypot(before[0], moved), math.hypot(before[1], norm)
    return {
        path: moved / norm
        for path, (moved, norm) in sums.items()
        if 0 < norm < math.inf and moved < math.inf
    }
