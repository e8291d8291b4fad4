"""SqueezeBERT: BERT with grouped convolutions in place of linear layers (Iandola et al. 2020).

Section 3: a convolution of one position is a linear layer; with g groups each group of features is
made from its own group only. Between the layers, tensors are [B, D, S].
"""

from typing import Any

import torch
from torch import Tensor

from bertviewer.core.checking.arithmetic import affine, softmax
from bertviewer.core.checking.attention_maths import Attention, Projection, head_count
from bertviewer.core.checking.evaluator import Evaluator, Given, NoRecomputationError
from bertviewer.core.checking.normalisation import layer_norm


def read_attention(
    module: Evaluator, hidden_states: Tensor, attention_mask: Given = None, *_: Any, **__: Any
) -> Attention:
    """BERT's, of [B, D, S]."""
    heads = head_count(module, "num_attention_heads")
    query, key, value = (_projection(module.below(name)) for name in ("query", "key", "value"))
    x = hidden_states.transpose(1, 2)
    scale = (query.weight.shape[0] // heads) ** -0.5
    return Attention(query, key, value, heads, heads, scale, x, x, x, attention_mask)


def _projection(module: Evaluator) -> Projection:
    """Return a convolution of one position as a matrix that is 0 outside of the groups."""
    weight = module.weight()
    groups = int(module.number("groups"))
    is_pointwise = weight.dim() == 3 and weight.shape[-1] == 1 and not _moves(module)
    if not is_pointwise or weight.shape[1] * groups != module.number("in_channels"):
        raise NoRecomputationError("the recomputation covers convolutions of width 1 only")
    blocks = weight[..., 0].chunk(groups)
    whole: Tensor = torch.block_diag(*blocks)  # type: ignore[no-untyped-call]
    return Projection(whole, module.tensor("bias"))


def _moves(module: Evaluator) -> bool:
    """Whether a convolution leaves positions out or adds some."""
    inner: Any = module.setting.module.get_submodule(module.path)
    return tuple(inner.stride) != (1,) or tuple(inner.padding) != (0,)


def given(output: Any) -> tuple[Tensor]:
    """What the attention gives, as [B, S, D]; probabilities it gives none."""
    return (output["context_layer"].transpose(1, 2),)


def convolution(module: Evaluator, x: Tensor) -> Tensor:
    """Y = W X + b over the features, each group by itself."""
    found = _projection(module)
    return affine(x.transpose(-1, -2), found.weight, found.bias).transpose(-1, -2)


def norm(module: Evaluator, x: Tensor) -> Tensor:
    """Layer norm over the features of [B, D, S]."""
    return layer_norm(module, x.transpose(1, 2)).transpose(1, 2)


def convolution_and_norm(module: Evaluator, hidden_states: Tensor, input_tensor: Tensor) -> Tensor:
    """LayerNorm(conv(X) + R)."""
    total = module.round(module.below("conv1d")(hidden_states) + input_tensor)
    return module.below("layernorm")(total)


def convolution_and_act(module: Evaluator, x: Tensor) -> Tensor:
    """f(conv(X))."""
    return module.below("act")(module.below("conv1d")(x))


def layer(
    module: Evaluator, hidden_states: Tensor, attention_mask: Given = None, *_: Any, **__: Any
) -> dict[str, Tensor]:
    """BERT's layer, of [B, D, S]."""
    mixed = module.below("attention")(hidden_states, attention_mask)[0].transpose(1, 2)
    x = module.below("post_attention")(mixed, hidden_states)
    return {"feature_map": module.below("output")(module.below("intermediate")(x), x)}


def encoder(
    module: Evaluator, hidden_states: Tensor, attention_mask: Given = None, *_: Any, **__: Any
) -> dict[str, Any]:
    """The stack: [B, S, D] in and out, [B, D, S] between the layers."""
    states = [hidden_states]
    for inner in module.below("layers").children:
        y = inner(states[-1].transpose(1, 2), attention_mask)["feature_map"]
        states.append(y.transpose(1, 2))
    return {"last_hidden_state": states[-1], "hidden_states": tuple(states)}


def product(_module: Evaluator, mat1: Tensor, mat2: Tensor) -> Tensor:
    """A B."""
    return mat1 @ mat2


def probabilities(module: Evaluator, x: Tensor) -> Tensor:
    """Softmax over the axis that the module says."""
    axis = int(module.number("dim"))
    return softmax(x.movedim(axis, -1)).movedim(-1, axis)
