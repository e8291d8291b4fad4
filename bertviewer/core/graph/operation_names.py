"""Canonical names of torch's functions, and sets of functions of one kind.

``x + y``, ``torch.add``, ``x.add_(y)`` and ``x += y`` are all ``add``.
"""

from functools import cache


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SYNONYMS: dict[str, str] = {
    "matmul": "__matmul__ __rmatmul__ bmm mm linalg_matmul",
    "div": "true_divide divide __itruediv__",
    "rdiv": "__rdiv__ __rtruediv__",
    "mul": "multiply __rmul__",
    "sub": "subtract",
    "rsub": "__rsub__",
    "rpow": "__rpow__",
    "add": "__radd__",
    "cat": "concat concatenate",
    "softmax": "_softmax",
    "layer_norm": "native_layer_norm",
    "abs": "absolute",
    "neg": "negative",
    "grouped_mm": "_grouped_mm",
}
_SAME = {name: word for word, names in _SYNONYMS.items() for name in names.split()}

VIEWS = _words("""
    view reshape transpose permute contiguous to float half double bfloat16 type type_as clone
    expand expand_as unsqueeze squeeze flatten unflatten view_as reshape_as T mT H mH data detach
    movedim moveaxis swapaxes swapdims t ravel repeat_interleave cpu cuda requires_grad repeat tile
    alias real view_as_real view_as_complex dropout dropout1d dropout2d dropout3d alpha_dropout
    feature_dropout feature_alpha_dropout roll flip bool int long
""")
"""View operations: new shape, layout or dtype, same numbers; also dropout in evaluation mode."""

SELECTIONS = _words("""
    chunk split tensor_split unbind split_with_sizes narrow select hsplit vsplit __getitem__ unfold
""")
"""Functions that select a part of a tensor."""

SIZED_LIKE = _words("""
    new_zeros new_ones new_full new_empty new_tensor zeros_like ones_like full_like empty_like
    rand_like randn_like
""")
"""Functions that create a tensor of the size of another without reading its numbers."""

ELEMENTWISE = _words("""
    add sub rsub mul div rdiv pow rpow neg abs square sqrt rsqrt exp log log1p expm1 tanh sigmoid
    erf relu gelu silu softplus mish elu selu celu leaky_relu relu6 hardswish hardsigmoid hardtanh
    logsigmoid clamp clip clamp_min clamp_max maximum minimum where masked_fill reciprocal sin cos
    sign threshold softsign tanhshrink softshrink hardshrink glu
""")

ACTIVATIONS: dict[str, str] = {
    **{word: word for word in ("tanh", "sigmoid", "softplus", "softsign")},
    **{word: word.upper() for word in ("gelu", "elu", "selu", "celu", "glu")},
    **{word: word.capitalize() for word in ("mish", "hardswish", "hardsigmoid", "hardtanh")},
    "relu": "ReLU",
    "silu": "SiLU",
    "leaky_relu": "Leaky ReLU",
    "relu6": "ReLU6",
    "logsigmoid": "log sigmoid",
}
"""Activations that are functions of torch, with their usual names."""

LINEAR = _words("linear addmm matmul einsum conv1d conv2d conv3d baddbmm")
"""Products with a matrix; linear layers if it is a parameter."""

TABLES = _words("embedding embedding_bag index_select grouped_mm addmm")
"""Functions besides products whose parameters are not shown as nodes."""

CONVOLUTIONS = _words("""
    conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
""")


@cache
def word_of(function: str) -> str:
    """Return the canonical name of a function: ``add`` for ``torch.Tensor.__iadd__``."""
    word = function.removesuffix(".__get__").rpartition(".")[2]
    if word in _SAME or word in ("__getitem__", "__setitem__"):
        return _SAME.get(word, word)
    if word.startswith("__") and word.endswith("__"):
        word = word[2:-2]
        if word.startswith("i") and word[1:] in ELEMENTWISE:
            word = word[1:]
    elif not word.startswith("_"):
        word = word.removesuffix("_")
    return _SAME.get(word, word)
