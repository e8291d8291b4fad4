"""Layer norm and its kin."""

from torch import Tensor

from bertviewer.core.checking.part import Part


def layer_norm(part: Part, x: Tensor) -> Tensor:
    """Y = γ (x - mean) / sqrt(var + ε) + β over the features (Ba et al. 2016, section 3)."""
    weight, bias = part.tensor("weight"), part.tensor("bias")
    # torch's own norm runs over all axes that its weight has, other classes over the last.
    torchs = weight is not None and part.node.class_name == "LayerNorm"
    axes = tuple(range(-weight.dim(), 0)) if weight is not None and torchs else (-1,)
    centred = x - x.mean(axes, keepdim=True)
    variance = (centred * centred).mean(axes, keepdim=True)
    y = centred / (variance + _epsilon(part)).sqrt()
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias


def rms_norm(part: Part, x: Tensor) -> Tensor:
    """Y = γ x / sqrt(mean(x²) + ε) (Zhang & Sennrich 2019, section 4)."""
    y = _scaled(part, x)
    weight = part.tensor("weight")
    return y if weight is None else part.round(y) * weight


def rms_norm_one_plus(part: Part, x: Tensor) -> Tensor:
    """Y = (1 + γ) x / sqrt(mean(x²) + ε): Gemma's weight is what is added to 1."""
    return _scaled(part, x) * (1 + part.weight())


def _scaled(part: Part, x: Tensor) -> Tensor:
    return x / ((x * x).mean(-1, keepdim=True) + _epsilon(part)).sqrt()


def _epsilon(part: Part) -> float:
    for name in ("variance_epsilon", "eps", "epsilon"):
        value = part.attribute(name)
        if isinstance(value, float):
            return value
    return part.number("eps")
