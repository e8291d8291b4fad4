"""A tensor's statistics in four passes over it, cheap beside the product that made the tensor.

Sums run in the tensor's own dtype, row by row for the squares and pairwise for the rest, as torch's
kernels do it. Where that would lose digits, or there are NaN or Inf, float64 is used.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviewer.core.run.statistics import Statistics
from bertviewer.core.run.token_statistics import TokenStatistics

# Squares far outside of these overflow or vanish in float32; NaN and Inf are outside as well.
_LEAST_SQUARES, _MOST_SQUARES = 1e-20, 1e30
# With a mean this large beside the root mean square, E[x²] - E[x]² cancels digits.
_CANCELLING = 0.9
_FACTORS, _LARGEST_FACTOR = 8, 1e4
# A float32 that this many squares were added to begins to swallow the next ones.
_MOST_SUMMED = 4096


def measure(tensor: Tensor) -> tuple[Statistics, NDArray[np.floating]]:
    """Return a tensor's statistics, and the Euclidean norms of its rows: [..., D] of any dtype.

    What has no rows, as a scalar, is one row. The work happens on the tensor's device.
    """
    values = _rows(tensor)
    if not values.is_floating_point() or values.numel() == 0:
        return _measured_exactly(values)
    if values.element_size() < 4:
        values = values.float()
    norms = _array(_norms(values))
    total, squares = values.sum().item(), _sum_of_squares(norms)
    # (mean / root mean square)², from 0 to 1; NaN fails every comparison.
    part = total * total / (values.numel() * squares or 1.0)
    if not (_LEAST_SQUARES < squares < _MOST_SQUARES and part < _CANCELLING):
        return _measured_exactly(values)
    extremes = values.aminmax()
    low, high = extremes[0].item(), extremes[1].item()
    deviations = squares - total * total / values.numel()
    return Statistics(values.numel(), 0, 0, _zeros(values), total, deviations, low, high), norms


def measure_tokens(tensor: Tensor) -> TokenStatistics:
    """Return the sums of each row, in float64: [..., D] of any dtype."""
    values = _rows(tensor)
    # Apple's devices know no float64.
    values = (values.cpu() if values.is_mps else values).double()
    nan, inf = values.isnan(), values.isinf()
    left_out = nan | inf
    finite = values.masked_fill(left_out, 0.0)
    rows, width = values.shape
    totals = finite.sum(-1)
    means = (totals / (width - left_out.sum(-1)).clamp(min=1)).unsqueeze(-1)
    if width:
        mins = values.masked_fill(left_out, torch.inf).amin(-1)
        maxs = values.masked_fill(left_out, -torch.inf).amax(-1)
    else:
        mins, maxs = values.new_full((rows,), torch.inf), values.new_full((rows,), -torch.inf)
    return TokenStatistics(
        width=width,
        nan_counts=_array(nan.sum(-1)),
        inf_counts=_array(inf.sum(-1)),
        zero_counts=_array((values == 0).sum(-1)),
        totals=_array(totals),
        deviations=_array((finite - means).masked_fill(left_out, 0.0).square().sum(-1)),
        mins=_array(mins),
        maxs=_array(maxs),
    )


def _rows(tensor: Tensor) -> Tensor:
    values = tensor.detach()
    return values.flatten(0, -2) if values.dim() > 1 else values.reshape(1, -1)


def _norms(values: Tensor) -> Tensor:
    width = values.shape[-1]
    if width > _MOST_SUMMED:
        # The scores of a vocabulary: the norm of the norms of shorter pieces.
        pieces = [
            values[:, start : start + _MOST_SUMMED] for start in range(0, width, _MOST_SUMMED)
        ]
        values = torch.stack([_norms(piece) for piece in pieces], dim=-1)
    norms: Tensor = torch.linalg.vector_norm(values, dim=-1)
    return norms


def _measured_exactly(values: Tensor) -> tuple[Statistics, NDArray[np.floating]]:
    tokens = measure_tokens(values)
    return tokens.of(range(len(tokens))), tokens.norms


def _may_have_zeros(values: Tensor, low: float, high: float) -> bool:
    """Tell whether it is worth to count zeros, in half the time that counting takes.

    A product is zero where one of its factors is. It may also be one of tiny factors, which is
    then found out; but none is lost, because so few factors of this size do not overflow.
    """
    if max(-low, high) > _LARGEST_FACTOR:
        return True
    factors = values.reshape(-1)
    whole = factors.numel() // _FACTORS * _FACTORS
    products = factors[:whole].view(_FACTORS, -1).prod(0)
    return not (_array(products).all() and _array(factors[whole:]).all())


def _zeros(values: Tensor) -> int:
    if values.is_cpu:
        # numpy compares four times as fast as torch does, and both know that -0 is 0.
        return int(np.count_nonzero(values.numpy() == 0))
    return values.numel() - int(values.count_nonzero())


def _sum_of_squares(norms: NDArray[np.floating]) -> float:
    exact = norms.astype(np.float64)
    return float(exact.dot(exact))


def _array(tensor: Tensor) -> NDArray[np.floating]:
    result: NDArray[np.floating] = tensor.numpy() if tensor.is_cpu else tensor.cpu().numpy()
    return result
