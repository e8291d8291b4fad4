"""Multiply-adds of one call of a module, by arithmetic on shapes.

1 MAC = 2 FLOPs. Only matrix products count, as in ``torch.utils.flop_counter``: for attention
these are Q·Kᵀ and the weights times V, 2·B·S_q·S_k·D (Vaswani et al. 2017, section 3.2.1).
"""

import math

from torch import nn
from transformers.pytorch_utils import Conv1D

Shape = tuple[int, ...]

# Attention that multiplies queries, keys and values in its own forward; its projections are
# children and count for themselves.
_ATTENTION_CORES = frozenset(
    {
        "BertSelfAttention",
        "RobertaSelfAttention",
        "ElectraSelfAttention",
        "AlbertAttention",
        "DistilBertSelfAttention",
        "MultiHeadSelfAttention",
        "GPT2Attention",
    }
)


def own_macs(module: nn.Module, input_shapes: tuple[Shape, ...], output_shape: Shape) -> int | None:
    """Return the multiply-adds that ``module`` does itself, without its children's.

    ``input_shapes`` are those of the tensors it was called with, in order. ``None`` means that
    it is an attention whose arithmetic is not known here.
    """
    if isinstance(module, nn.Linear):
        return math.prod(output_shape) * module.in_features
    if isinstance(module, Conv1D):
        return math.prod(output_shape) * int(module.nx)
    if isinstance(module, nn.MultiheadAttention):
        return _multihead_macs(module.embed_dim, input_shapes)
    name = type(module).__name__
    if name in _ATTENTION_CORES:
        batch, length, width = output_shape
        return 2 * batch * length * length * width
    if name.endswith("Attention") and not _holds_attention(module):
        return None
    return 0


def _holds_attention(module: nn.Module) -> bool:
    """Whether a module below does the attention's arithmetic."""
    return any(
        type(child).__name__.endswith("Attention")
        for child in module.modules()
        if child is not module
    )


def _multihead_macs(width: int, input_shapes: tuple[Shape, ...]) -> int:
    """torch.nn's attention projects in its own forward: its children are never called."""
    query, key, *_ = input_shapes
    batch, queries, keys = query[0], query[1], key[1]
    projections = batch * (2 * queries + 2 * keys) * width * width
    return projections + 2 * batch * queries * keys * width
