"""Comparison of two open models, including the values that their checkpoints store."""

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from bertviewer.core.checkpoints.reading import matrix_shape
from bertviewer.core.checkpoints.stored import TORCH_NAMES
from bertviewer.core.comparison.comparison import Change, Comparison, compare_architectures
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.schema.source_info import QUANTIZED
from bertviewer.core.tensors.values import TensorValues, file_values
from bertviewer.core.util.progress import Progress, no_progress

if TYPE_CHECKING:
    from bertviewer.core.loading.loaded_model import LoadedModel

BLOCK = 1 << 20
"""Elements that are compared at a time: some tens of megabytes in all."""


def compare_models(
    left: "LoadedModel", right: "LoadedModel", progress: Progress = no_progress
) -> Comparison:
    """Compare structure, configuration and values; these are read from the files in blocks.

    No weights are loaded. A tensor that one of the files lacks, and that would be initialised at
    random, is not compared.

    Raises:
        UserError: a file is no longer readable.
        Cancelled: by ``progress``.
    """
    plain = compare_architectures(left.architecture, right.architecture)
    total = len(plain.tensors)
    tensors = []
    for number, tensor in enumerate(plain.tensors):
        report = partial(_report, progress, number, total, tensor.name)
        report()
        change = None
        ours, theirs = left.stored(tensor.name), right.stored(tensor.name)
        if tensor.state == "not compared" and ours and theirs and ours.shape == theirs.shape:
            one, other = file_values(tensor.name, ours), file_values(tensor.name, theirs)
            change = change_between(one, other, report)
        tensors.append(
            replace(
                tensor,
                left=_as_stored(left, tensor.left),
                right=_as_stored(right, tensor.right),
                change=change,
            )
        )
    return replace(plain, tensors=tuple(tensors))


def change_between(
    left: TensorValues, right: TensorValues, progress: Progress = no_progress
) -> Change:
    """Compare two tensors of one shape in blocks.

    Raises:
        ValueError: the shapes differ.
        UserError: a file is no longer readable.
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


def _report(progress: Progress, number: int, total: int, name: str, *_: object) -> None:
    """Count tensors, also while a large one is read."""
    progress(number, total, name)


class _Sums:
    """Sums over the blocks of two tensors."""

    def __init__(self) -> None:
        self.equal = self.compared = 0
        self.max_abs = self.squares = self.left = self.right = self.product = 0.0

    def add(self, left: NDArray[Any], right: NDArray[Any]) -> None:
        """Add a block of both tensors."""
        ours, theirs = left.astype(np.float64).ravel(), right.astype(np.float64).ravel()
        finite = np.isfinite(ours) & np.isfinite(theirs)
        # In their own types: float64 cannot distinguish all large integers.
        self.equal += int(np.count_nonzero(left == right))
        self.equal += int(np.count_nonzero(np.isnan(ours) & np.isnan(theirs)))
        if not finite.all():
            ours, theirs = ours[finite], theirs[finite]
        if not ours.size:
            return
        difference = theirs - ours
        self.compared += ours.size
        self.max_abs = max(self.max_abs, float(np.abs(difference).max()))
        self.squares += float(difference.dot(difference))
        self.left += float(ours.dot(ours))
        self.right += float(theirs.dot(theirs))
        self.product += float(ours.dot(theirs))

    def change(self, count: int) -> Change:
        """Return the result for tensors with ``count`` elements."""
        norms = math.sqrt(self.left) * math.sqrt(self.right)
        # Without finite elements there is no distance, except for an empty tensor.
        is_compared = bool(self.compared or not count)
        return Change(
            equal=self.equal,
            count=count,
            max_abs=self.max_abs if is_compared else None,
            rms=math.sqrt(self.squares / max(1, self.compared)) if is_compared else None,
            relative=math.sqrt(self.squares / self.left) if 0 < self.left < math.inf else None,
            # Rounding can exceed 1.
            cosine=max(-1.0, min(1.0, self.product / norms)) if 0 < norms < math.inf else None,
            difference_norm=math.sqrt(self.squares),
            left_norm=math.sqrt(self.left),
        )


def _as_stored(model: "LoadedModel", tensor: TensorInfo | None) -> TensorInfo | None:
    """Return a tensor with the dtype of its file, ``QUANTIZED`` for codes."""
    if tensor is None:
        return None
    stored = model.stored(tensor.name)
    if model.architecture.stored_dtype(tensor) == QUANTIZED:
        return replace(tensor, dtype=QUANTIZED)
    return tensor if stored is None else replace(tensor, dtype=TORCH_NAMES[stored.dtype])
