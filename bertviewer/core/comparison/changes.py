"""How far the values of two tensors, and of whole modules, are apart, summed block by block."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertviewer.core.checkpoints.reading import matrix_shape
from bertviewer.core.comparison.comparison import Change, Comparison
from bertviewer.core.tensors.values import TensorValues
from bertviewer.core.util.progress import Progress, no_progress

BLOCK = 1 << 20
"""Elements that are compared at a time: some tens of megabytes in all."""


def change_between(
    left: TensorValues, right: TensorValues, progress: Progress = no_progress
) -> Change:
    """Compare two tensors of one shape.

    Raises:
        ValueError: the shapes differ.
        UserError: a file cannot be read any more.
    """
    if left.shape != right.shape:
        raise ValueError(f"shapes {left.shape} and {right.shape} differ")
    rows, columns = matrix_shape(left.shape)
    height = max(1, BLOCK // max(1, columns))
    sums = _Sums()
    for start in range(0, rows, height):
        block = (start, min(rows, start + height)), (0, columns)
        progress(start, rows, left.name)
        # Squares of values beyond 1e154, which only float64 has, become infinite.
        with np.errstate(over="ignore", invalid="ignore"):
            sums.add(left.block(*block), right.block(*block))
    return sums.change(math.prod(left.shape))


class _Sums:
    """What is summed over the blocks."""

    def __init__(self) -> None:
        self.equal = self.compared = 0
        self.max_abs = self.squares = self.left = self.right = self.product = 0.0

    def add(self, left: NDArray[Any], right: NDArray[Any]) -> None:
        """Add a block of both tensors."""
        ours, theirs = left.astype(np.float64).ravel(), right.astype(np.float64).ravel()
        finite = np.isfinite(ours) & np.isfinite(theirs)
        # In their own types: float64 cannot tell all large integers apart.
        self.equal += int(np.count_nonzero(left == right))
        self.equal += int(np.count_nonzero(np.isnan(ours) & np.isnan(theirs)))
        if not finite.all():
            ours, theirs = ours[finite], theirs[finite]
        if not ours.size:
            return
        apart = theirs - ours
        self.compared += ours.size
        self.max_abs = max(self.max_abs, float(np.abs(apart).max()))
        self.squares += float(apart.dot(apart))
        self.left += float(ours.dot(ours))
        self.right += float(theirs.dot(theirs))
        self.product += float(ours.dot(theirs))

    def change(self, count: int) -> Change:
        """Return what was summed as figures."""
        norms = math.sqrt(self.left) * math.sqrt(self.right)
        return Change(
            equal=self.equal,
            count=count,
            # Nothing to compare is no distance of 0, but for a tensor without elements.
            max_abs=self.max_abs if self.compared or not count else None,
            rms=self._rms() if self.compared or not count else None,
            relative=math.sqrt(self.squares / self.left) if _is_measured(self.left) else None,
            # Rounding may carry the quotient of equal tensors past 1.
            cosine=max(-1.0, min(1.0, self.product / norms)) if _is_measured(norms) else None,
            difference_norm=math.sqrt(self.squares),
            left_norm=math.sqrt(self.left),
        )

    def _rms(self) -> float:
        return math.sqrt(self.squares / self.compared) if self.compared else 0.0


def _is_measured(norm: float) -> bool:
    return 0 < norm < math.inf


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
