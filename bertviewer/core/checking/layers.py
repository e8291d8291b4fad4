"""Whole layers: attention and feed-forward network with their residuals and norms."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from bertviewer.core.checking.blocks import network
from bertviewer.core.checking.evaluator import Evaluator, Given, NoRecomputationError
from bertviewer.core.families.layer import Halves, Layer, SubLayer


def layer(module: Evaluator, *args: Any, **kwargs: Any) -> Any:
    """A layer of which the family says how it is made: norms after the residuals, or before."""
    made = described(module)
    given = arguments(made, args, kwargs)
    x: Tensor = given[made.takes[0]]
    weights: list[Any] = []
    for part in sub_layers(module, made, given):
        is_free = norms_before(module, made) and not part.block  # a block holds its norm
        taken = module.below(part.norm)(x) if is_free else x
        found = _attended(module, part, taken, given)
        y = hidden(found)
        weights += [] if y is found else found[1:2]
        x = y if part.block else _normed_sum(module, made, part.norm, x, y)
    x = _through_network(module, made, x)
    return x if made.gives == "state" else (x, *(weights if made.gives == "weights" else ()))


def described(module: Evaluator) -> Layer:
    """Return how a layer is made.

    Raises:
        NoRecomputationError: no family says so.
    """
    if not isinstance(module.description, Layer):
        raise NoRecomputationError(f"{module.node.class_name} is no layer that a family describes")
    return module.description


def arguments(made: Layer, args: Any, kwargs: Any) -> dict[str, Any]:
    """Return what a layer was called with, by name."""
    return dict(zip(made.takes, args, strict=False)) | dict(kwargs)


def sub_layers(module: Evaluator, made: Layer, given: Any) -> Iterator[SubLayer]:
    """Yield the attentions that a layer has and, with these arguments, goes through."""
    yield made.attention
    cross = made.cross
    if cross is not None and module.has(cross.path) and given.get(cross.source) is not None:
        yield cross


def norms_before(module: Evaluator, made: Layer) -> bool:
    """Whether a layer's norms stand before its sub-layers."""
    chosen = made.norms == "chosen" and bool(module.attribute("norm_first"))
    return chosen or made.norms == "before"


def _attended(module: Evaluator, part: SubLayer, x: Tensor, given: Any) -> Any:
    more = {name: given.get(own) if own else x for name, own in part.arguments.items()}
    return module.below(part.block or part.path)(x, **more)


def _normed_sum(module: Evaluator, made: Layer, norm: str, x: Tensor, y: Tensor) -> Tensor:
    total = module.round(x + y)
    return total if norms_before(module, made) else module.below(norm)(total)


def _through_network(module: Evaluator, made: Layer, x: Tensor) -> Tensor:
    taken = module.below(made.network_norm)(x) if norms_before(module, made) else x
    if isinstance(made.network, Halves):
        first, second = module.below(made.network.first), module.below(made.network.second)
        return second(first(taken), x)
    if isinstance(made.network, str):
        y = module.below(made.network)(taken)
    else:
        y = network(module, made.network, taken)
    return _normed_sum(module, made, made.network_norm, x, y)


def t5(
    module: Evaluator,
    hidden_states: Tensor,
    attention_mask: Given = None,
    position_bias: Given = None,
    encoder_hidden_states: Given = None,
    encoder_attention_mask: Given = None,
    encoder_decoder_position_bias: Given = None,
    past_key_values: Any = None,
    **_: Any,
) -> Any:
    """T5's block: two or three pre-norm sub-layers; gives its position biases as well."""
    first, *middle, last = module.below("layer").children
    x, bias, _weights = first(hidden_states, attention_mask, position_bias, past_key_values)
    cross_bias = None
    if middle and encoder_hidden_states is not None:
        x, cross_bias, _weights = middle[0](
            x, encoder_hidden_states, encoder_attention_mask, encoder_decoder_position_bias
        )
    return last(x), bias, cross_bias


def hidden(result: Any) -> Tensor:
    """Return a layer's hidden state: all that it gives, or the first."""
    return result if isinstance(result, torch.Tensor) else result[0]
