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
    f"_scaled_dot_product_{kind}"
    for kind in (
        *("flash_attention", "flash_attention_for_cpu", "efficient_attention"),
        *("cudnn_attention", "fused_attention_overrideable"),
    )
)
_HIDDEN_NAMES = """
    addbmm addbmm_ addmm_ _addmm_activation baddbmm_ bilinear chain_matmul _conv_depthwise2d
    conv_depthwise3d conv_tbc _cslt_sparse_mm _cudnn_attention_forward
    cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose _cudnn_rnn
    _dyn_quant_matmul_4bit fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation
    fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation
    _flash_attention_forward_no_dropout_inplace _foreach_mm hspmm _int_mm _lstm_mps
    miopen_convolution miopen_convolution_add_relu miopen_convolution_relu
    miopen_convolution_transpose miopen_depthwise_convolution miopen_rnn _mixed_dtypes_linear
    mkldnn_convolution mkldnn_linear mkldnn_rnn_layer _mps_convolution
    _mps_convolution_transpose _native_multi_head_attention _nnpack_spatial_convolution
    quantized_gru quantized_gru_cell quantized_lstm quantized_lstm_cell quantized_rnn_relu_cell
    quantized_rnn_tanh_cell _scaled_dot_product_attention_math_for_mps _scaled_grouped_mm
    _scaled_grouped_mm_v2 _scaled_mm_v2 slow_conv3d_forward slow_conv_dilated2d
    slow_conv_dilated3d slow_conv_transpose2d slow_conv_transpose3d smm _sparse_addmm _sparse_mm
    _sparse_mm_reduce_impl sparse_sampled_addmm _sparse_semi_structured_addmm
    _sparse_semi_structured_linear _sparse_semi_structured_mm _sparse_sparse_matmul sspaddmm
    _transformer_encoder_layer_fwd _trilinear _triton_multi_head_attention
    _triton_scaled_dot_attention _weight_int4pack_mm _weight_int4pack_mm_for_cpu
    _weight_int4pack_mm_with_scales_and_zeros _weight_int8pack_mm
    _wrapped_quantized_linear_prepacked
"""
_HIDDEN = frozenset(_HIDDEN_NAMES.split())
"""They multiply matrices inside of one operation, and torch does not count them."""
_KNOWN_NAMESPACES = frozenset({"aten", "prim", "prims", "profiler"})


@cache
def is_product(operation: Any) -> bool:
    """Tell whether an operation multiplies matrices, or may: one that torch did not write may."""
    packet = operation.overloadpacket
    return (
        packet in flop_registry
        or packet.__name__ in _FUSED_ATTENTION | _HIDDEN | {"linear", "_grouped_mm"}
        or operation.namespace not in _KNOWN_NAMESPACES
    )


def product_dimensions(operation: Any, args: tuple[Any, ...], output: Any) -> Dimensions | None:
    """Return the dimensions whose product is the operation's multiply-adds.

    Args:
        operation: as a dispatch mode gets it, ``aten.mm.default``.
        args: what it was called with, in the order of torch's native functions.
        output: what it returned.

    Returns:
        ``(m, k, n)`` for [m, k] × [k, n], with the batch in front if there is one; for a
        convolution output positions, channels and kernel; for fused attention queries, keys, and
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
            # The weight of linear is [out, in].
            return (*args[0].shape, args[1].shape[0 if name == "linear" else -1])
        case "addmm" | "baddbmm":
            return (*args[1].shape, args[2].shape[-1])
        case "convolution":
            # Each output element sums over a kernel's weights, [C_out, C_in / groups, kernel];
            # transposed, each input element is spread by [C_in, C_out / groups, kernel].
            image, weight, transposed = args[0], args[1], args[6]
            return (*(image if transposed else output).shape, *weight.shape[1:])
        case "_grouped_mm" if (args[0].dim(), args[1].dim()) == (2, 3):
            # Each row is multiplied by its own group's matrix.
            return (*args[0].shape, args[1].shape[-1])
        case _ if name in _FUSED_ATTENTION:
            # Q·Kᵀ and the weights times V, [B, A, S, K] each (Vaswani et al. 2017, section 3.2.1).
            query, key, value = args[:3]
            return (*query.shape[:-1], key.shape[-2], query.shape[-1] + value.shape[-1])
        case _:
            raise NotImplementedError(
                f"the matrix products of {operation.namespace}::{name} are not known"
            )
