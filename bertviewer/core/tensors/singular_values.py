"""Calculates the singular values of a tensor."""

import numpy as np
import torch
from numpy.typing import NDArray

from bertviewer.core.checkpoints.reading import Span
from bertviewer.core.tensors.matrix import TILE, Matrix
from bertviewer.core.tensors.spectrum import Spectrum
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress

MOST_SIDE = 8192
"""The smaller side of a matrix has at most so many rows: its square has to fit into memory."""


def singular_values(matrix: Matrix, progress: Progress = no_progress, label: str = "") -> Spectrum:
    """Calculate them in float64.

    A long matrix is reduced first, block by block, to the triangular factor of its QR
    decomposition, which has the same singular values.

    Raises:
        UserError: there are NaN or Inf or no elements at all, the values are beyond float64's
            range, or the file cannot be read any more.
        Cancelled: ``progress`` said so.
    """
    height, width = matrix.shape
    if not height or not width:
        raise UserError(f"{matrix.values.name} has no elements and therefore no singular values")
    if min(height, width) > MOST_SIDE:
        raise UserError(
            f"{matrix.values.name} is too large for singular values: {height:,} × {width:,}; its "
            f"shorter side may have at most {MOST_SIDE:,} elements"
        )
    short, long = sorted((height, width))
    step = long if long <= 2 * short else max(short, TILE // short)
    starts = range(0, long, step)
    factor = torch.zeros((0, short), dtype=torch.float64)
    for number, start in enumerate(starts):
        progress(number, len(starts) + 1, label)
        piece = _float64(matrix, (start, min(start + step, long)))
        factor = torch.cat((factor, piece))
        if len(starts) > 1:
            factor = torch.linalg.qr(factor, mode="r").R
    progress(len(starts), len(starts) + 1, label)
    found: NDArray[np.float64] = torch.linalg.svdvals(factor).numpy()
    if not np.isfinite(found).all():
        raise UserError(f"{matrix.values.name} has singular values that are too large for float64")
    return Spectrum(found, long, matrix.values.dtype)


def _float64(matrix: Matrix, span: Span) -> torch.Tensor:
    """Return some of the rows, or of the columns as rows where there are more of these."""
    height, width = matrix.shape
    values = matrix.block(span) if height >= width else matrix.block((0, height), span).T
    values = values.astype(np.float64, order="C")
    if not np.isfinite(values).all():
        raise UserError(
            f"{matrix.values.name} contains NaN or Inf and therefore has no singular values"
        )
    return torch.from_numpy(values)
