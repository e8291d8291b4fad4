"""Statistics of tensors: which can be measured, and their sums by row.

Every dtype is converted to float32 or float64 and summed by ``row_statistics`` on the CPU. Tensors
on an accelerator are summed there, and copied only where these sums would be inexact.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviewer.core.schema.statistics import Statistics
from bertviewer.core.statistics.row_statistics import (
    TokenStatistics,
    is_compiled,
    measure_rows,
    statistics_of,
    sums_at,
)

Norms = NDArray[np.floating[Any]]
FinishMeasuring = Callable[[], tuple[Statistics, Norms]]
"""Returns the result of ``measure`` from sums that were taken before."""

NESTED = "nested"
"""``skip_reason`` of a tensor whose rows differ in length: it has no shape."""

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
# Squares far outside of these overflow or underflow in float32; NaN and Inf are outside as well.
_MIN_SQUARES, _MAX_SQUARES = 1e-20, 1e30
_CANCELLATION = 0.9
"""Above this fraction of E[x²], E[x]² cancels digits of E[x²] - E[x]²."""
_MAX_SUMMED = 4096
"""A float32 sum of more squares than this begins to lose the next ones."""


def measure(tensor: Tensor) -> tuple[Statistics, Norms]:
    """Return a tensor's statistics, and the Euclidean norms of its rows: [..., D] of any dtype.

    A scalar is one row.

    Raises:
        TypeError: the tensor cannot be measured (``skip_reason``); torch may raise a RuntimeError.
    """
    return start_measuring(tensor)()


def skip_reason(tensor: Tensor) -> str:
    """Return why a tensor has no statistics, such as "complex64"; "" if it has them.

    Complex numbers have no order, quantized and packed elements are not the values that they
    represent, and most elements of sparse tensors are not stored.
    """
    if tensor.is_nested:
        return NESTED
    if tensor.layout is not torch.strided:
        return str(tensor.layout).removeprefix("torch.").strip("_")
    is_number = tensor.dtype.is_floating_point or tensor.dtype in _WHOLE
    return "" if is_number and tensor.dtype not in _PACKED else str(tensor.dtype)[len("torch.") :]


def start_measuring(tensor: Tensor) -> FinishMeasuring:
    """Sum a tensor [..., D] now, and return a function that computes its statistics later.

    Within a forward pass Python code runs several times slower than after it, as the products
    evict it from the processor's caches. So this does as little as possible.
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
        return partial(_finish, sums_at(tensor.data_ptr(), count // width, width), width)
    values = _floats(tensor)
    found = None if values.is_cpu else _measured_on_device(values)
    if found is None:
        statistics, rows = measure_rows(_rows(values))
        found = statistics, rows.norms
    return lambda: found


def measure_tokens(tensor: Tensor) -> TokenStatistics:
    """Return the sums of each row, in float64: [..., D] of any dtype."""
    return measure_rows(_rows(_floats(tensor)))[1]


def _finish(sums: bytes, width: int) -> tuple[Statistics, Norms]:
    statistics, rows = statistics_of(sums, width)
    return statistics, rows.norms


def as_array(tensor: Tensor) -> NDArray[Any]:
    """Return an array; floats of 16 and 8 bits become float32. On the CPU memory is shared."""
    values = tensor.detach()
    if values.is_floating_point() and values.element_size() < 4:
        values = values.float()
    result: NDArray[Any] = values.cpu().numpy()
    return result


def _floats(tensor: Tensor) -> Tensor:
    """Return [..., D] in float32 or float64: half precision is exact in float32."""
    # The imaginary part of a conjugate may be stored with its sign still to be changed.
    values = (tensor.detach() if tensor.requires_grad else tensor).resolve_neg()
    if values.dtype not in _FAST:
        if reason := skip_reason(tensor):
            raise TypeError(f"{reason} is not measured")
        # Apple's devices have no float64.
        values = values.float() if values.dtype in _HALVES else values.cpu().double()
    return values if values.dim() else values.reshape(1)


def _rows(values: Tensor) -> NDArray[Any]:
    result: NDArray[Any] = values.cpu().numpy()
    return result


def _measured_on_device(values: Tensor) -> tuple[Statistics, Norms] | None:
    """Measure [..., D] on its device; ``None`` if its sums there are not exact enough."""
    count = values.numel()
    if values.dim() < 2 or not count:
        return None
    pieces = torch.split(values, _MAX_SUMMED, dim=-1)
    of_pieces = torch.stack([torch.linalg.vector_norm(piece, dim=-1) for piece in pieces], dim=-1)
    norms = _rows(torch.linalg.vector_norm(of_pieces, dim=-1)).reshape(-1)
    exact = norms.astype(np.float64)
    with np.errstate(over="ignore"):  # Inf is out of range
        squares = float(exact.dot(exact))
    total = values.sum().item()
    offset = total * total / count
    # NaN fails every comparison.
    if not (_MIN_SQUARES < squares < _MAX_SQUARES and offset < _CANCELLATION * squares):
        return None
    low, high = values.aminmax()
    statistics = Statistics(
        count=count,
        nan_count=0,
        inf_count=0,
        zero_count=count - int(values.count_nonzero()),
        total=total,
        deviations=squares - offset,
        min=low.item(),
        max=high.item(),
    )
    return statistics, norms
