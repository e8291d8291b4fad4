"""Whole layers: attention and feed-forward network with their residuals and norms."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from bertviewer.core.checking.evaluator import Evaluator, NoFormulaError, Recomputation
from bertviewer.core.checking.families import BERT, LLAMA, T5, named
from bertviewer.core.checking.primitives import ACTIVATIONS


def bert(
    module: Evaluator,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    encoder_hidden_states: Tensor | None = None,
    encoder_attention_mask: Tensor | None = None,
    past_key_values: Any = None,
    **_: Any,
) -> Tensor:
    """BERT's layer, post-norm; a decoder's attends to an encoder in between."""
    x, _weights = module.below("attention")(
        hidden_states, attention_mask, past_key_values=past_key_values
    )
    if module.has("crossattention") and encoder_hidden_states is not None:
        x, _weights = module.below("crossattention")(
            x, None, encoder_hidden_states, encoder_attention_mask
        )
    result: Tensor = module.below("output")(module.below("intermediate")(x), x)
    return result


def mpnet(
    module: Evaluator,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    position_bias: Tensor | None = None,
    **_: Any,
) -> Any:
    """MPNet's: BERT's, with a bias for the distance."""
    x = module.below("attention")(hidden_states, attention_mask, position_bias)[0]
    return (module.below("output")(module.below("intermediate")(x), x),)


def albert(
    module: Evaluator, hidden_states: Tensor, attention_mask: Tensor | None = None, **_: Any
) -> Tensor:
    """ALBERT's: BERT's, with the feed-forward network in the layer itself."""
    x, _weights = module.below("attention")(hidden_states, attention_mask)
    y = module.below("ffn_output")(module.below("activation")(module.below("ffn")(x)))
    result: Tensor = module.below("full_layer_layer_norm")(module.round(y + x))
    return result


def distilbert(
    module: Evaluator, hidden_states: Tensor, attention_mask: Tensor | None = None, **_: Any
) -> Tensor:
    """DistilBERT's: BERT's."""
    y, _weights = module.below("attention")(hidden_states, attention_mask=attention_mask)
    x = module.below("sa_layer_norm")(module.round(y + hidden_states))
    result: Tensor = module.below("output_layer_norm")(module.round(module.below("ffn")(x) + x))
    return result


def gpt2(
    module: Evaluator,
    hidden_states: Tensor,
    past_key_values: Any = None,
    attention_mask: Tensor | None = None,
    encoder_hidden_states: Tensor | None = None,
    encoder_attention_mask: Tensor | None = None,
    **_: Any,
) -> Tensor:
    """GPT-2's block, pre-norm (Radford et al. 2019, section 2.3)."""
    x = hidden_states
    y = module.below("attn")(module.below("ln_1")(x), past_key_values, attention_mask)[0]
    x = module.round(x + y)
    if encoder_hidden_states is not None:
        y = module.below("crossattention")(
            module.below("ln_cross_attn")(x),
            encoder_hidden_states=encoder_hidden_states,
            encoder_attention_mask=encoder_attention_mask,
        )[0]
        x = module.round(x + y)
    return x + module.below("mlp")(module.below("ln_2")(x))  # type: ignore[no-any-return]


def bart(
    module: Evaluator,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    encoder_hidden_states: Tensor | None = None,
    encoder_attention_mask: Tensor | None = None,
    past_key_values: Any = None,
    **_: Any,
) -> Tensor:
    """BART's encoder or decoder layer, post-norm."""
    x = hidden_states
    y = module.below("self_attn")(
        x, attention_mask=attention_mask, past_key_values=past_key_values
    )[0]
    x = module.below("self_attn_layer_norm")(module.round(x + y))
    if encoder_hidden_states is not None:
        y = module.below("encoder_attn")(
            x, key_value_states=encoder_hidden_states, attention_mask=encoder_attention_mask
        )[0]
        x = module.below("encoder_attn_layer_norm")(module.round(x + y))
    y = module.below("fc2")(module.below("activation_fn")(module.below("fc1")(x)))
    result: Tensor = module.below("final_layer_norm")(module.round(x + y))
    return result


def mbart(
    module: Evaluator,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    encoder_hidden_states: Tensor | None = None,
    encoder_attention_mask: Tensor | None = None,
    past_key_values: Any = None,
    **_: Any,
) -> Tensor:
    """BART's layer of many languages, pre-norm: of encoder or decoder."""
    x = hidden_states
    y = module.below("self_attn_layer_norm")(x)
    y = module.below("self_attn")(y, attention_mask=attention_mask, past_key_values=past_key_values)
    x = module.round(x + y[0])
    if encoder_hidden_states is not None:
        y = module.below("encoder_attn")(
            module.below("encoder_attn_layer_norm")(x),
            key_value_states=encoder_hidden_states,
            attention_mask=encoder_attention_mask,
        )
        x = module.round(x + y[0])
    y = module.below("activation_fn")(module.below("fc1")(module.below("final_layer_norm")(x)))
    result: Tensor = x + module.below("fc2")(y)
    return result


def llama(
    module: Evaluator,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    position_ids: Tensor | None = None,
    past_key_values: Any = None,
    use_cache: bool | None = False,
    position_embeddings: tuple[Tensor, Tensor] | None = None,
    **_: Any,
) -> Tensor:
    """Llama's layer, pre-norm with RMSNorm (Touvron et al. 2023, section 2.2)."""
    del position_ids, use_cache
    x = hidden_states
    y = module.below("self_attn")(
        module.below("input_layernorm")(x),
        position_embeddings,
        attention_mask,
        past_key_values=past_key_values,
    )[0]
    x = module.round(x + y)
    return x + module.below("mlp")(module.below("post_attention_layernorm")(x))  # type: ignore[no-any-return]


def t5(
    module: Evaluator,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    position_bias: Tensor | None = None,
    encoder_hidden_states: Tensor | None = None,
    encoder_attention_mask: Tensor | None = None,
    encoder_decoder_position_bias: Tensor | None = None,
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


def torch_encoder_layer(
    module: Evaluator,
    src: Tensor,
    src_mask: Tensor | None = None,
    src_key_padding_mask: Tensor | None = None,
    is_causal: bool = False,
) -> Tensor:
    """torch.nn's encoder layer, pre-norm or post-norm."""
    del is_causal  # a hint beside the mask
    attend = _attention(module, "self_attn", None, src_mask, src_key_padding_mask)
    return _torch_layer(module, src, (attend, _network(module)))


def torch_decoder_layer(
    module: Evaluator,
    tgt: Tensor,
    memory: Tensor,
    tgt_mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
    tgt_key_padding_mask: Tensor | None = None,
    memory_key_padding_mask: Tensor | None = None,
    tgt_is_causal: bool = False,
    memory_is_causal: bool = False,
) -> Tensor:
    """torch.nn's decoder layer: self-attention, attention to the encoder, feed-forward network."""
    del tgt_is_causal, memory_is_causal  # hints beside the masks
    attend = _attention(module, "self_attn", None, tgt_mask, tgt_key_padding_mask)
    look = _attention(module, "multihead_attn", memory, memory_mask, memory_key_padding_mask)
    return _torch_layer(module, tgt, (attend, look, _network(module)))


def _attention(
    module: Evaluator, name: str, memory: Tensor | None, mask: Tensor | None, padding: Tensor | None
) -> Recomputation:
    def attend(x: Tensor) -> Tensor:
        other = x if memory is None else memory
        inner = module.below(name)
        result: Tensor = inner(x, other, other, key_padding_mask=padding, attn_mask=mask)[0]
        return result

    return attend


def _network(module: Evaluator) -> Recomputation:
    return lambda x: module.below("linear2")(torch_activation(module)(module.below("linear1")(x)))


def torch_activation(module: Evaluator) -> Recomputation:
    """Return the activation of a layer of torch.nn: a child, or a function that it only notes."""
    if module.has("activation"):
        return module.below("activation")
    noted = {1: "relu", 2: "gelu"}.get(int(module.attribute("activation_relu_or_gelu") or 0))
    name = noted or str(module.config.get("activation"))
    if name not in ACTIVATIONS:
        raise NoFormulaError(f"the recomputation does not know the activation {name!r}")
    function: Recomputation = ACTIVATIONS[name]
    return lambda x: module.round(function(x))


def _torch_layer(module: Evaluator, x: Tensor, parts: tuple[Recomputation, ...]) -> Tensor:
    for number, function in enumerate(parts, 1):
        norm = module.below(f"norm{number}")
        if module.attribute("norm_first"):
            x = module.round(x + function(norm(x)))
        else:
            x = norm(module.round(x + function(x)))
    return x


LAYERS: Mapping[str, Recomputation] = {
    **dict.fromkeys(named(BERT, "Layer"), bert),
    "MPNetLayer": mpnet,
    "AlbertLayer": albert,
    "TransformerBlock": distilbert,
    "GPT2Block": gpt2,
    "BartEncoderLayer": bart,
    "BartDecoderLayer": bart,
    "MBartEncoderLayer": mbart,
    "MBartDecoderLayer": mbart,
    **dict.fromkeys(named(LLAMA, "DecoderLayer"), llama),
    **dict.fromkeys(named(T5, "Block"), t5),
    "TransformerEncoderLayer": torch_encoder_layer,
    "TransformerDecoderLayer": torch_decoder_layer,
}


def hidden(result: Any) -> Tensor:
    """Return a layer's hidden state: all that it gives, or the first."""
    return result if isinstance(result, torch.Tensor) else result[0]
