"""The halves of a layer: the attention's output with add & norm, and the feed-forward network."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from bertviewer.core.checking.evaluator import Evaluator, Recomputation
from bertviewer.core.checking.families import BERT, LLAMA, POST_NORM, T5, named


def attention_block(
    module: Evaluator,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    encoder_hidden_states: Tensor | None = None,
    encoder_attention_mask: Tensor | None = None,
    past_key_values: Any = None,
    **_: Any,
) -> Any:
    """BERT's attention with its projection and add & norm."""
    crosses = "Cross" in module.below("self").node.class_name
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
    attention_mask: Tensor | None = None,
    position_bias: Tensor | None = None,
    **_: Any,
) -> Any:
    """MPNet's attention, which projects by itself, with add & norm."""
    y = module.below("attn")(hidden_states, attention_mask, position_bias)[0]
    return (module.below("LayerNorm")(module.round(y + hidden_states)),)


def add_and_norm(module: Evaluator, hidden_states: Tensor, input_tensor: Tensor) -> Tensor:
    """LayerNorm(dense(X) + R)."""
    total = module.round(module.below("dense")(hidden_states) + input_tensor)
    result: Tensor = module.below("LayerNorm")(total)
    return result


def widening(module: Evaluator, x: Tensor) -> Tensor:
    """f(dense(X))."""
    result: Tensor = module.below("intermediate_act_fn")(module.below("dense")(x))
    return result


def feed_forward(first: str, act: str, second: str) -> Recomputation:
    """Return the recomputation of second(f(first(X)))."""

    def recompute(module: Evaluator, x: Tensor) -> Tensor:
        result: Tensor = module.below(second)(module.below(act)(module.below(first)(x)))
        return result

    return recompute


def gated(gate: str, up: str, act: str, down: str) -> Recomputation:
    """Return the recomputation of down(f(gate(X)) · up(X)) (Shazeer 2020)."""

    def recompute(module: Evaluator, x: Tensor) -> Tensor:
        opened = module.below(act)(module.below(gate)(x))
        result: Tensor = module.below(down)(module.round(opened * module.below(up)(x)))
        return result

    return recompute


def t5_feed_forward(module: Evaluator, x: Tensor) -> Tensor:
    """T5's second half of a block: X + FFN(RMSNorm(X))."""
    result: Tensor = x + module.below("DenseReluDense")(module.below("layer_norm")(x))
    return result


def t5_self_attention(
    module: Evaluator,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    position_bias: Tensor | None = None,
    past_key_values: Any = None,
    **_: Any,
) -> Any:
    """X + Attention(RMSNorm(X))."""
    y, bias, weights = module.below("SelfAttention")(
        module.below("layer_norm")(hidden_states),
        mask=attention_mask,
        position_bias=position_bias,
        past_key_values=past_key_values,
    )
    return hidden_states + y, bias, weights


def t5_cross_attention(
    module: Evaluator,
    hidden_states: Tensor,
    key_value_states: Tensor,
    attention_mask: Tensor | None = None,
    position_bias: Tensor | None = None,
    past_key_values: Any = None,
    **_: Any,
) -> Any:
    """X + Attention(RMSNorm(X), X_enc)."""
    y, bias, weights = module.below("EncDecAttention")(
        module.below("layer_norm")(hidden_states),
        mask=attention_mask,
        key_value_states=key_value_states,
        position_bias=position_bias,
        past_key_values=past_key_values,
    )
    return hidden_states + y, bias, weights


BLOCKS: Mapping[str, Recomputation] = {
    **dict.fromkeys(named(BERT, "Attention"), attention_block),
    "MPNetAttention": mpnet_attention_block,
    **dict.fromkeys((*named(POST_NORM, "SelfOutput", "Output"), "MPNetOutput"), add_and_norm),
    **dict.fromkeys(named((*POST_NORM, "MPNet"), "Intermediate"), widening),
    "FFN": feed_forward("lin1", "activation", "lin2"),
    "GPT2MLP": feed_forward("c_fc", "act", "c_proj"),
    **dict.fromkeys(named(LLAMA, "MLP"), gated("gate_proj", "up_proj", "act_fn", "down_proj")),
    **dict.fromkeys(named(T5, "DenseActDense"), feed_forward("wi", "act", "wo")),
    **dict.fromkeys(named(T5, "DenseGatedActDense"), gated("wi_0", "wi_1", "act", "wo")),
    **dict.fromkeys(named(T5, "LayerFF"), t5_feed_forward),
    **dict.fromkeys(named(T5, "LayerSelfAttention"), t5_self_attention),
    **dict.fromkeys(named(T5, "LayerCrossAttention"), t5_cross_attention),
}
