"""A tensor's statistics in four passes over it, cheap beside the product that made the tensor.

Sums run in the tensor's own dtype, row by row for the squares and pairwise for the rest, as torch's
kernels do it. Where that would lose digits, or there are NaN or Inf, float64 is used.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviewer.core.run.statistics import Statistics
from bertviewer.core.run.token_statistics import TokenStatistics

Norms = NDArray[np.floating[Any]]

_FAST = frozenset({torch.float32, torch.float64})
_HALVES = frozenset({torch.float16, torch.bfloat16})
# Squares far outside of these overflow or vanish in float32; NaN and Inf are outside as well.
_LEAST_SQUARES, _MOST_SQUARES = 1e-20, 1e30
# With a mean this large beside the root mean square, E[x²] - E[x]² cancels digits.
_CANCELLING = 0.9
# A float32 that this many squares were added to begins to swallow the next ones.
_MOST_SUMMED = 4096


def measure(tensor: Tensor) -> tuple[Statistics, Norms]:
    """Return a tensor's statistics, and the Euclidean norms of its rows: [..., D] of any dtype.

    What has no rows, as a scalar, is one row. The work happens on the tensor's device.
    """
    # Lean on purpose: on 128 tokens the calls cost as much as the passes.
    if tensor.dtype not in _FAST or tensor.dim() < 2 or not tensor.numel():
        return _measured_otherwise(tensor)
    values = tensor.detach() if tensor.requires_grad else tensor
    count = values.numel()
    norms = _array(_norms(values)).reshape(-1)
    exact = norms.astype(np.float64)
    squares = float(exact.dot(exact))
    total = values.sum().item()
    offset = total * total / count
    # (mean / root mean square)² is from 0 to 1; NaN fails every comparison.
    if not (_LEAST_SQUARES < squares < _MOST_SQUARES and offset < _CANCELLING * squares):
        return _measured_exactly(_rows(values))
    low, high = values.aminmax()
    zeros = _zeros(values)
    return Statistics(count, 0, 0, zeros, total, squares - offset, low.item(), high.item()), norms


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
            values[..., start : start + _MOST_SUMMED] for start in range(0, width, _MOST_SUMMED)
        ]
        values = torch.stack([_norms(piece) for piece in pieces], dim=-1)
    norms: Tensor = torch.linalg.vector_norm(values, dim=-1)
    return norms


def _measured_otherwise(tensor: Tensor) -> tuple[Statistics, Norms]:
    """Measure what has no rows, or another dtype: half precision is exact in float32."""
    values = _rows(tensor)
    if values.dtype in _HALVES and values.numel():
        return measure(values.float())
    return (
        measure(values) if values.dtype in _FAST and values.numel() else _measured_exactly(values)
    )


def _measured_exactly(values: Tensor) -> tuple[Statistics, Norms]:
    tokens = measure_tokens(values)
    return tokens.of(range(len(tokens))), tokens.norms


def _zeros(values: Tensor) -> int:
    if values.is_cpu:
        # torch makes booleans in all threads, numpy counts them; -0 is False like 0. torch's own
        # count takes twice as long.
        return values.numel() - int(np.count_nonzero(values.bool().numpy()))
    return values.numel() - int(values.count_nonzero())


def _array(tensor: Tensor) -> NDArray[Any]:
    result: NDArray[Any] = tensor.numpy() if tensor.is_cpu else tensor.cpu().numpy()
    return result
