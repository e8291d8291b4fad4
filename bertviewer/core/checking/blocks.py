"""The halves of a layer: the attention's output with add & norm, and the feed-forward network."""

from typing import Any

from torch import Tensor

from bertviewer.core.checking.arithmetic import gelu
from bertviewer.core.checking.evaluator import Evaluator, Given, NoRecomputationError, Recomputation
from bertviewer.core.checking.primitives import ACTIVATIONS
from bertviewer.core.families.layer import Network
from bertviewer.core.families.module_kind import ModuleKind


def attention_block(module: Evaluator, hidden_states: Tensor, *args: Any, **more: Any) -> Any:
    """The attention with its projection and add & norm."""
    mixed, weights = module.below("self")(hidden_states, *args, **more)
    return module.below("output")(mixed, hidden_states), weights


def bert_attention_block(
    module: Evaluator,
    hidden_states: Tensor,
    attention_mask: Given = None,
    encoder_hidden_states: Given = None,
    encoder_attention_mask: Given = None,
    past_key_values: Any = None,
    **_: Any,
) -> Any:
    """BERT's: one module for both attentions picks the mask of its own."""
    crosses = module.below("self").kind is ModuleKind.BERT_CROSS_ATTENTION
    mixed, weights = module.below("self")(
        hidden_states,
        attention_mask=encoder_attention_mask if crosses else attention_mask,
        encoder_hidden_states=encoder_hidden_states,
        past_key_values=past_key_values,
    )
    return module.below("output")(mixed, hidden_states), weights


def mpnet_attention_block(
    module: Evaluator,
    hidden_states: Tensor,
    attention_mask: Given = None,
    position_bias: Given = None,
    **_: Any,
) -> Any:
    """MPNet's attention, which projects by itself, with add & norm."""
    y = module.below("attn")(hidden_states, attention_mask, position_bias)[0]
    return (module.below("LayerNorm")(module.round(y + hidden_states)),)


def add_and_norm(module: Evaluator, hidden_states: Tensor, input_tensor: Tensor) -> Tensor:
    """LayerNorm(dense(X) + R)."""
    total = module.round(module.below("dense")(hidden_states) + input_tensor)
    return module.below("LayerNorm")(total)


def widening(module: Evaluator, x: Tensor) -> Tensor:
    """f(dense(X)); ESM calls GELU as a function."""
    y = module.below("dense")(x)
    return module.below("intermediate_act_fn")(y) if module.has("intermediate_act_fn") else gelu(y)


def feed_forward(module: Evaluator, x: Tensor) -> Tensor:
    """A feed-forward network of which the family says how it is made."""
    made = module.description
    if not isinstance(made, Network):
        raise NoRecomputationError(
            f"{module.node.class_name} is no network that a family describes"
        )
    return network(module, made, x)


def network(module: Evaluator, made: Network, x: Tensor) -> Tensor:
    """second(f(first(X))); with a gate second(f(gate(X)) · first(X)) (Shazeer 2020)."""
    act = activation(module, made.act)
    hidden = act(module.below(made.gate or made.first)(x))
    if made.gate:
        hidden = module.round(hidden * module.below(made.first)(x))
    return module.below(made.second)(hidden)


def activation(module: Evaluator, name: str) -> Recomputation:
    """Return a network's activation: a child, or a function that torch's layers only note.

    Raises:
        NoRecomputationError: the function is none that is known.
    """
    if module.has(name):
        return module.below(name)
    noted = {1: "relu", 2: "gelu"}.get(int(module.attribute("activation_relu_or_gelu") or 0))
    told = noted or str(module.config.get("activation"))
    if told not in ACTIVATIONS:
        raise NoRecomputationError(f"the recomputation does not cover the activation {told!r}")
    function: Recomputation = ACTIVATIONS[told]
    return lambda x: module.round(function(x))


def t5_feed_forward(module: Evaluator, x: Tensor) -> Tensor:
    """T5's second half of a block: X + FFN(RMSNorm(X))."""
    return x + module.below("DenseReluDense")(module.below("layer_norm")(x))


def t5_self_attention(
    module: Evaluator,
    hidden_states: Tensor,
    attention_mask: Given = None,
    position_bias: Given = None,
    past_key_values: Any = None,
    **more: Any,
) -> Any:
    """X + Attention(RMSNorm(X)); of X_enc where that is given."""
    source = more.get("key_value_states")
    y, bias, weights = module.below("SelfAttention" if source is None else "EncDecAttention")(
        module.below("layer_norm")(hidden_states),
        mask=attention_mask,
        key_value_states=source,
        position_bias=position_bias,
        past_key_values=past_key_values,
    )
    return hidden_states + y, bias, weights


def t5_cross_attention(
    module: Evaluator, hidden_states: Tensor, key_value_states: Tensor, *args: Any, **more: Any
) -> Any:
    """X + Attention(RMSNorm(X), X_enc)."""
    more["key_value_states"] = key_value_states
    return t5_self_attention(module, hidden_states, *args, **more)
