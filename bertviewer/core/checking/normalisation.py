"""Layer norm and its kin."""

from torch import Tensor

from bertviewer.core.checking.evaluator import Evaluator
from bertviewer.core.families.module_kind import EPSILONS, ModuleKind


def layer_norm(module: Evaluator, x: Tensor) -> Tensor:
    """Y = γ (x - mean) / sqrt(var + ε) + β over the features (Ba et al. 2016, section 3)."""
    weight, bias = module.tensor("weight"), module.tensor("bias")
    # torch's own norm runs over all axes that its weight has, other classes over the last.
    torchs = module.kind is ModuleKind.LAYER_NORM
    axes = tuple(range(-weight.dim(), 0)) if weight is not None and torchs else (-1,)
    centred = x - x.mean(axes, keepdim=True)
    variance = (centred * centred).mean(axes, keepdim=True)
    y = centred / (variance + _epsilon(module)).sqrt()
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias


def rms_norm(module: Evaluator, x: Tensor) -> Tensor:
    """Y = γ x / sqrt(mean(x²) + ε) (Zhang & Sennrich 2019, section 4)."""
    y = _scaled(module, x)
    weight = module.tensor("weight")
    return y if weight is None else module.round(y) * weight


def rms_norm_one_plus(module: Evaluator, x: Tensor) -> Tensor:
    """Y = (1 + γ) x / sqrt(mean(x²) + ε): Gemma's weight is what is added to 1."""
    return _scaled(module, x) * (1 + module.weight())


def _scaled(module: Evaluator, x: Tensor) -> Tensor:
    return x / ((x * x).mean(-1, keepdim=True) + _epsilon(module)).sqrt()


def _epsilon(module: Evaluator) -> float:
    for name in EPSILONS:
        value = module.attribute(name)
        if isinstance(value, float):
            return value
    return module.number("eps")
