"""A tensor's statistics, cheap beside the product that made the tensor.

What is float32 on the CPU, as nearly everything, is measured in one pass where bertviewer was
compiled. The rest goes through torch in four: sums run in the tensor's own dtype, row by row for
the squares and pairwise for the rest, as torch's kernels do it. Where that would lose digits, or
there are NaN or Inf, float64 is used.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviewer.core.schema.row_statistics import (
    figures_of,
    is_compiled,
    measure_rows,
    sums_at,
)
from bertviewer.core.schema.statistics import Statistics
from bertviewer.core.schema.token_statistics import TokenStatistics

Norms = NDArray[np.floating[Any]]
Figures = Callable[[], tuple[Statistics, Norms]]

NESTED = "nested"
"""What a tensor is whose rows differ in length: it has no shape."""

_FAST = frozenset({torch.float32, torch.float64})
_HALVES = frozenset({torch.float16, torch.bfloat16})
_WHOLE = frozenset(
    {
        *(torch.bool, torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
    }
)
# Two numbers in one element.
_PACKED = frozenset({getattr(torch, "float4_e2m1fn_x2", None)})
# Squares far outside of these overflow or vanish in float32; NaN and Inf are outside as well.
_LEAST_SQUARES, _MOST_SQUARES = 1e-20, 1e30
# With a mean this large beside the root mean square, E[x²] - E[x]² cancels digits.
_CANCELLING = 0.9
# A float32 that this many squares were added to begins to swallow the next ones.
_MOST_SUMMED = 4096


def measure(tensor: Tensor) -> tuple[Statistics, Norms]:
    """Return a tensor's statistics, and the Euclidean norms of its rows: [..., D] of any dtype.

    What has no rows, as a scalar, is one row. The work happens on the tensor's device.

    Raises:
        TypeError: it is ``left_out``; torch may raise a RuntimeError instead.
    """
    return add_up(tensor)()


def left_out(tensor: Tensor) -> str:
    """Return in one word what keeps a tensor from being measured, "" where nothing does.

    Complex numbers have no order, quantized and packed ones are not the values that they stand
    for, and of a tensor that is not strided, as a sparse one, most elements are not there.
    """
    if tensor.is_nested:
        return NESTED
    if tensor.layout is not torch.strided:
        return str(tensor.layout).removeprefix("torch.").strip("_")
    is_number = tensor.dtype.is_floating_point or tensor.dtype in _WHOLE
    return "" if is_number and tensor.dtype not in _PACKED else str(tensor.dtype)[len("torch.") :]


def add_up(tensor: Tensor) -> Figures:
    """Add a tensor up now, and return what makes the figures of ``measure`` of it later.

    In the midst of a forward pass a line of Python costs several times of what it costs later: the
    products leave nothing of it in the processor's caches. So this does the least that it can.
    """
    if (
        is_compiled()
        and type(tensor) is Tensor
        and tensor.dtype is torch.float32
        and tensor.is_cpu
        and tensor.is_contiguous()
        and not tensor.is_neg()
        and (count := tensor.numel()) > 1
    ):
        width = tensor.shape[-1]
        return partial(_figures, sums_at(tensor.data_ptr(), count // width, width), width)
    found = _measured(_floats(tensor))
    return lambda: found


def _figures(sums: bytes, width: int) -> tuple[Statistics, Norms]:
    statistics, rows = figures_of(sums, width)
    return statistics, rows.norms


def _measured(values: Tensor) -> tuple[Statistics, Norms]:
    count = values.numel()
    if (
        values.dim() < 2
        or not count
        or (values.is_cpu and values.dtype is torch.float32 and is_compiled())
    ):
        return _measured_exactly(values)
    norms = _array(_norms(values)).reshape(-1)
    exact = norms.astype(np.float64)
    with np.errstate(over="ignore"):  # Inf is not measured so
        squares = float(exact.dot(exact))
    total = values.sum().item()
    offset = total * total / count
    # (mean / root mean square)² is from 0 to 1; NaN fails every comparison.
    if not (_LEAST_SQUARES < squares < _MOST_SQUARES and offset < _CANCELLING * squares):
        return _measured_exactly(values)
    low, high = values.aminmax()
    statistics = Statistics(
        count=count,
        nan_count=0,
        inf_count=0,
        zero_count=_zeros(values),
        total=total,
        deviations=squares - offset,
        min=low.item(),
        max=high.item(),
    )
    return statistics, norms


def measure_tokens(tensor: Tensor) -> TokenStatistics:
    """Return the sums of each row, in float64: [..., D] of any dtype."""
    return measure_rows(_array(_floats(tensor)))[1]


def _floats(tensor: Tensor) -> Tensor:
    """Return [..., D] in float32 or float64: half precision is exact in float32."""
    # Of a conjugate, torch may hold the imaginary part with the sign still to be turned.
    values = (tensor.detach() if tensor.requires_grad else tensor).resolve_neg()
    if values.dtype not in _FAST:
        if word := left_out(tensor):
            raise TypeError(f"{word} is not measured")
        # Apple's devices know no float64.
        values = values.float() if values.dtype in _HALVES else values.cpu().double()
    return values if values.dim() else values.reshape(1)


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


def _measured_exactly(values: Tensor) -> tuple[Statistics, Norms]:
    statistics, rows = measure_rows(_array(values))
    return statistics, rows.norms


def _zeros(values: Tensor) -> int:
    if values.is_cpu:
        # torch makes booleans in all threads, numpy counts them; -0 is False like 0. torch's own
        # count takes twice as long.
        return values.numel() - int(np.count_nonzero(values.bool().numpy()))
    return values.numel() - int(values.count_nonzero())


def _array(tensor: Tensor) -> NDArray[Any]:
    result: NDArray[Any] = tensor.numpy() if tensor.is_cpu else tensor.cpu().numpy()
    return result
