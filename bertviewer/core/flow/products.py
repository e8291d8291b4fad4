"""The matrix products among torch's operations, and the dimensions that each multiplies over.

The same operations count as in ``torch.utils.flop_counter``, and a few that do the same work in
one step: fused attention on the CPU, linear layers on some devices, and experts by groups.
"""

from functools import cache
from typing import Any

from torch import Tensor
from torch.utils.flop_counter import flop_registry

Dimensions = tuple[int, ...]

_FUSED_ATTENTION = frozenset(
    {
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_cudnn_attention",
        "_scaled_dot_product_fused_attention_overrideable",
    }
)
# They multiply matrices inside, and torch does not count them; nor do we know how.
HIDDEN = frozenset(
    {
        *("_addmm_activation", "addbmm", "addbmm_", "addmm_", "baddbmm_", "chain_matmul"),
        *("_foreach_mm", "_int_mm", "_scaled_grouped_mm", "_scaled_grouped_mm_v2"),
        *("_scaled_mm_v2", "_sparse_addmm", "_sparse_mm", "_sparse_mm_reduce_impl", "hspmm", "smm"),
        *("_sparse_semi_structured_addmm", "_sparse_semi_structured_linear", "sspaddmm"),
        *("_sparse_semi_structured_mm", "_sparse_sparse_matmul", "sparse_sampled_addmm"),
        *("_cslt_sparse_mm", "_dyn_quant_matmul_4bit", "_mixed_dtypes_linear", "_trilinear"),
        *("_weight_int4pack_mm", "_weight_int4pack_mm_for_cpu", "_weight_int8pack_mm"),
        *("_weight_int4pack_mm_with_scales_and_zeros", "_wrapped_quantized_linear_prepacked"),
        *("fbgemm_linear_fp16_weight", "fbgemm_linear_fp16_weight_fp32_activation"),
        *("fbgemm_linear_int8_weight", "fbgemm_linear_int8_weight_fp32_activation"),
        *("mkldnn_linear", "mkldnn_convolution", "_conv_depthwise2d", "conv_depthwise3d"),
        *("conv_tbc", "cudnn_convolution_add_relu", "cudnn_convolution_relu"),
        *("cudnn_convolution_transpose", "miopen_convolution", "miopen_convolution_add_relu"),
        *(
            "miopen_convolution_relu",
            "miopen_convolution_transpose",
            "miopen_depthwise_convolution",
        ),
        *(
            "_mps_convolution",
            "_mps_convolution_transpose",
            "bilinear",
            "_nnpack_spatial_convolution",
            "slow_conv3d_forward",
        ),
        *("slow_conv_dilated2d", "slow_conv_dilated3d", "slow_conv_transpose2d"),
        *("slow_conv_transpose3d", "_cudnn_attention_forward"),
        *("_flash_attention_forward_no_dropout_inplace", "_native_multi_head_attention"),
        *("_triton_multi_head_attention", "_triton_scaled_dot_attention"),
        *("_scaled_dot_product_attention_math_for_mps", "_transformer_encoder_layer_fwd"),
        *("_cudnn_rnn", "_lstm_mps", "miopen_rnn", "mkldnn_rnn_layer"),
        *("quantized_gru", "quantized_lstm", "quantized_gru_cell", "quantized_lstm_cell"),
        *("quantized_rnn_relu_cell", "quantized_rnn_tanh_cell"),
    }
)
_OURS_TO_READ = frozenset({"aten", "prim", "prims", "profiler"})


@cache
def is_product(operation: Any) -> bool:
    """Tell whether an operation multiplies matrices, or may: what torch did not write may."""
    packet = operation.overloadpacket
    name = packet.__name__
    return (
        packet in flop_registry
        or name in _FUSED_ATTENTION
        or name in HIDDEN
        or name in ("linear", "_grouped_mm")
        or operation.namespace not in _OURS_TO_READ
    )


def product_dimensions(operation: Any, args: tuple[Any, ...], output: Any) -> Dimensions | None:
    """Return the dimensions whose product is the operation's multiply-adds.

    Args:
        operation: as a dispatch mode is given it, ``aten.mm.default``.
        args: what it was called with, in the order of torch's native functions.
        output: what it gave.

    Returns:
        ``(m, k, n)`` for [m, k] × [k, n], with the batch in front where there is one; a
        convolution's output positions, channels and kernel; of fused attention queries, keys, and
        a head's features of both products together. ``None`` for all that is no product.

    Raises:
        NotImplementedError: it multiplies matrices, or may, and it is not known here how.
    """
    if not is_product(operation):
        return None
    name = operation.overloadpacket.__name__
    if any(isinstance(arg, Tensor) and arg.is_nested for arg in args):
        raise NotImplementedError("the rows of its tensors have different lengths")
    match name:
        case "mm" | "bmm" | "linear":
            # linear is given its weight as [out, in].
            return (*args[0].shape, args[1].shape[0 if name == "linear" else -1])
        case "addmm" | "baddbmm":
            return (*args[1].shape, args[2].shape[-1])
        case "convolution":
            return _convolution(args, output)
        case "_grouped_mm" if (args[0].dim(), args[1].dim()) == (2, 3):
            # Each row meets its own group's matrix, and no other.
            return (*args[0].shape, args[1].shape[-1])
        case _ if name in _FUSED_ATTENTION:
            return _attention(*args[:3])
        case _:
            raise NotImplementedError(
                f"the matrix products of {operation.namespace}::{name} are not known"
            )


def _attention(query: Tensor, key: Tensor, value: Tensor) -> Dimensions:
    """Q·Kᵀ and the weights times V, [B, A, S, K] each (Vaswani et al. 2017, section 3.2.1)."""
    return (*query.shape[:-1], key.shape[-2], query.shape[-1] + value.shape[-1])


def _convolution(args: tuple[Any, ...], output: Tensor) -> Dimensions:
    """Each output element sums over a kernel's weights; transposed, each input element is spread.

    A weight is [C_out, C_in / groups, kernel], transposed [C_in, C_out / groups, kernel].
    """
    image, weight, transposed = args[0], args[1], args[6]
    return (*(image if transposed else output).shape, *weight.shape[1:])
