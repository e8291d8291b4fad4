"""The rows of a tensor in float32 on the CPU, as sums take them."""

import torch
from torch import Tensor

from bertviewer.core.corpus.layouts import Layout


def rows_of(tensor: Tensor, layout: Layout) -> Tensor:
    """Return [rows, width]; a copy only where they do not lie so."""
    values = tensor.detach() if tensor.requires_grad else tensor
    if not layout.is_plain:
        values = values.permute(layout.axes)
    if values.dtype is not torch.float32 or not values.is_cpu:
        # Halves are exact in float32; the bins of a histogram are of its bits.
        values = values.float().cpu()
    return values.reshape(-1, layout.width).contiguous().resolve_neg()
