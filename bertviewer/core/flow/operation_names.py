"""torch's functions by what they do to numbers, whatever the code calls them by.

``x + y``, ``torch.add``, ``x.add_(y)`` and ``x += y`` are all ``add``.
"""

from functools import cache

_SAME: dict[str, str] = {
    **dict.fromkeys(("__matmul__", "__rmatmul__", "bmm", "mm", "linalg_matmul"), "matmul"),
    **dict.fromkeys(("true_divide", "divide"), "div"),
    **dict.fromkeys(("__rdiv__", "__rtruediv__"), "rdiv"),
    **dict.fromkeys(("multiply", "__rmul__"), "mul"),
    **dict.fromkeys(("subtract",), "sub"),
    **dict.fromkeys(("__rsub__",), "rsub"),
    **dict.fromkeys(("__rpow__",), "rpow"),
    **dict.fromkeys(("__radd__",), "add"),
    **dict.fromkeys(("concat", "concatenate"), "cat"),
    **dict.fromkeys(("_softmax", "softmax"), "softmax"),
    **dict.fromkeys(("native_layer_norm",), "layer_norm"),
    **dict.fromkeys(("absolute",), "abs"),
    **dict.fromkeys(("negative",), "neg"),
    **dict.fromkeys(("_grouped_mm", "grouped_mm"), "grouped_mm"),
    "__itruediv__": "div",
}

MOVEMENT = frozenset(
    (
        *("view", "reshape", "transpose", "permute", "contiguous", "to", "float", "half", "double"),
        *("bfloat16", "type", "type_as", "clone", "expand", "expand_as", "unsqueeze", "squeeze"),
        *("flatten", "unflatten", "view_as", "reshape_as", "T", "mT", "H", "mH", "data", "detach"),
        *("movedim", "moveaxis", "swapaxes", "swapdims", "t", "ravel", "repeat_interleave"),
        *("cpu", "cuda", "requires_grad", "repeat", "tile", "alias", "real", "view_as_real"),
        *("view_as_complex", "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout"),
        *("feature_dropout", "feature_alpha_dropout", "roll", "flip", "bool", "int", "long"),
    )
)
"""What changes the form of a tensor and none of its numbers; dropout in evaluation too."""

SELECTION = frozenset(
    (
        *("chunk", "split", "tensor_split", "unbind", "split_with_sizes", "narrow", "select"),
        *("hsplit", "vsplit", "__getitem__", "unfold"),
    )
)
"""What takes a part of a tensor."""

SIZED_LIKE = frozenset(
    (
        *("new_zeros", "new_ones", "new_full", "new_empty", "new_tensor", "zeros_like"),
        *("ones_like", "full_like", "empty_like", "rand_like", "randn_like"),
    )
)
"""What makes a tensor as large as another, and takes none of its numbers."""

ELEMENTWISE = frozenset(
    (
        *("add", "sub", "rsub", "mul", "div", "rdiv", "pow", "rpow", "neg", "abs", "square"),
        *("sqrt", "rsqrt", "exp", "log", "log1p", "expm1", "tanh", "sigmoid", "erf", "relu"),
        *("gelu", "silu", "softplus", "mish", "elu", "selu", "celu", "leaky_relu", "relu6"),
        *("hardswish", "hardsigmoid", "hardtanh", "logsigmoid", "clamp", "clip", "clamp_min"),
        *("clamp_max", "maximum", "minimum", "where", "masked_fill", "reciprocal", "sin", "cos"),
        *("sign", "threshold", "softsign", "tanhshrink", "softshrink", "hardshrink", "glu"),
    )
)

ACTIVATIONS: dict[str, str] = {
    "gelu": "GELU",
    "relu": "ReLU",
    "silu": "SiLU",
    "tanh": "tanh",
    "sigmoid": "sigmoid",
    "mish": "Mish",
    "elu": "ELU",
    "selu": "SELU",
    "celu": "CELU",
    "leaky_relu": "Leaky ReLU",
    "relu6": "ReLU6",
    "hardswish": "Hardswish",
    "hardsigmoid": "Hardsigmoid",
    "hardtanh": "Hardtanh",
    "logsigmoid": "log sigmoid",
    "softplus": "softplus",
    "softsign": "softsign",
    "glu": "GLU",
}
"""Functions of one number each that torch has a word for, as people write them."""

LINEAR = frozenset(("linear", "addmm", "matmul", "einsum", "conv1d", "conv2d", "conv3d", "baddbmm"))
"""What multiplies by a matrix; a layer if that is a parameter."""

CONVOLUTIONS = frozenset(
    (
        *("conv1d", "conv2d", "conv3d"),
        *("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
    )
)


@cache
def word_of(function: str) -> str:
    """Return the one word for a function: ``add`` for ``torch.Tensor.__iadd__``."""
    word = function.removesuffix(".__get__").rpartition(".")[2]
    if word in _SAME:
        return _SAME[word]
    if word.startswith("__") and word.endswith("__"):
        if word in ("__getitem__", "__setitem__"):
            return word
        inner = word[2:-2]
        if inner.startswith("i") and inner[1:] in ELEMENTWISE:
            inner = inner[1:]
        return _SAME.get(inner, inner)
    word = word.removesuffix("_") if not word.startswith("_") else word
    return _SAME.get(word, word)
