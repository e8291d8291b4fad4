"""Whole layers: attention and feed-forward network with their residuals and norms."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from bertviewer.core.checking.families import BERT, LLAMA, T5, named
from bertviewer.core.checking.part import NoFormulaError, Part, Recomputation
from bertviewer.core.checking.primitives import ACTIVATIONS


def bert(
    part: Part,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    encoder_hidden_states: Tensor | None = None,
    encoder_attention_mask: Tensor | None = None,
    past_key_values: Any = None,
    **_: Any,
) -> Tensor:
    """BERT's layer, post-norm; a decoder's attends to an encoder in between."""
    x, _weights = part.below("attention")(
        hidden_states, attention_mask, past_key_values=past_key_values
    )
    if part.has("crossattention") and encoder_hidden_states is not None:
        x, _weights = part.below("crossattention")(
            x, None, encoder_hidden_states, encoder_attention_mask
        )
    result: Tensor = part.below("output")(part.below("intermediate")(x), x)
    return result


def mpnet(
    part: Part,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    position_bias: Tensor | None = None,
    **_: Any,
) -> Any:
    """MPNet's: BERT's, with a bias for the distance."""
    x = part.below("attention")(hidden_states, attention_mask, position_bias)[0]
    return (part.below("output")(part.below("intermediate")(x), x),)


def albert(
    part: Part, hidden_states: Tensor, attention_mask: Tensor | None = None, **_: Any
) -> Tensor:
    """ALBERT's: BERT's, with the feed-forward network in the layer itself."""
    x, _weights = part.below("attention")(hidden_states, attention_mask)
    y = part.below("ffn_output")(part.below("activation")(part.below("ffn")(x)))
    result: Tensor = part.below("full_layer_layer_norm")(part.round(y + x))
    return result


def distilbert(
    part: Part, hidden_states: Tensor, attention_mask: Tensor | None = None, **_: Any
) -> Tensor:
    """DistilBERT's: BERT's."""
    y, _weights = part.below("attention")(hidden_states, attention_mask=attention_mask)
    x = part.below("sa_layer_norm")(part.round(y + hidden_states))
    result: Tensor = part.below("output_layer_norm")(part.round(part.below("ffn")(x) + x))
    return result


def gpt2(
    part: Part,
    hidden_states: Tensor,
    past_key_values: Any = None,
    attention_mask: Tensor | None = None,
    encoder_hidden_states: Tensor | None = None,
    encoder_attention_mask: Tensor | None = None,
    **_: Any,
) -> Tensor:
    """GPT-2's block, pre-norm (Radford et al. 2019, section 2.3)."""
    x = hidden_states
    y = part.below("attn")(part.below("ln_1")(x), past_key_values, attention_mask)[0]
    x = part.round(x + y)
    if encoder_hidden_states is not None:
        y = part.below("crossattention")(
            part.below("ln_cross_attn")(x),
            encoder_hidden_states=encoder_hidden_states,
            encoder_attention_mask=encoder_attention_mask,
        )[0]
        x = part.round(x + y)
    return x + part.below("mlp")(part.below("ln_2")(x))  # type: ignore[no-any-return]


def bart(
    part: Part,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    encoder_hidden_states: Tensor | None = None,
    encoder_attention_mask: Tensor | None = None,
    past_key_values: Any = None,
    **_: Any,
) -> Tensor:
    """BART's encoder or decoder layer, post-norm."""
    x = hidden_states
    y = part.below("self_attn")(x, attention_mask=attention_mask, past_key_values=past_key_values)[
        0
    ]
    x = part.below("self_attn_layer_norm")(part.round(x + y))
    if encoder_hidden_states is not None:
        y = part.below("encoder_attn")(
            x, key_value_states=encoder_hidden_states, attention_mask=encoder_attention_mask
        )[0]
        x = part.below("encoder_attn_layer_norm")(part.round(x + y))
    y = part.below("fc2")(part.below("activation_fn")(part.below("fc1")(x)))
    result: Tensor = part.below("final_layer_norm")(part.round(x + y))
    return result


def mbart(
    part: Part,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    encoder_hidden_states: Tensor | None = None,
    encoder_attention_mask: Tensor | None = None,
    past_key_values: Any = None,
    **_: Any,
) -> Tensor:
    """BART's layer of many languages, pre-norm: of encoder or decoder."""
    x = hidden_states
    y = part.below("self_attn_layer_norm")(x)
    y = part.below("self_attn")(y, attention_mask=attention_mask, past_key_values=past_key_values)
    x = part.round(x + y[0])
    if encoder_hidden_states is not None:
        y = part.below("encoder_attn")(
            part.below("encoder_attn_layer_norm")(x),
            key_value_states=encoder_hidden_states,
            attention_mask=encoder_attention_mask,
        )
        x = part.round(x + y[0])
    y = part.below("activation_fn")(part.below("fc1")(part.below("final_layer_norm")(x)))
    result: Tensor = x + part.below("fc2")(y)
    return result


def llama(
    part: Part,
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
    y = part.below("self_attn")(
        part.below("input_layernorm")(x),
        position_embeddings,
        attention_mask,
        past_key_values=past_key_values,
    )[0]
    x = part.round(x + y)
    return x + part.below("mlp")(part.below("post_attention_layernorm")(x))  # type: ignore[no-any-return]


def t5(
    part: Part,
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
    first, *middle, last = part.below("layer").children
    x, bias, _weights = first(hidden_states, attention_mask, position_bias, past_key_values)
    cross_bias = None
    if middle and encoder_hidden_states is not None:
        x, cross_bias, _weights = middle[0](
            x, encoder_hidden_states, encoder_attention_mask, encoder_decoder_position_bias
        )
    return last(x), bias, cross_bias


def torch_encoder_layer(
    part: Part,
    src: Tensor,
    src_mask: Tensor | None = None,
    src_key_padding_mask: Tensor | None = None,
    is_causal: bool = False,
) -> Tensor:
    """torch.nn's encoder layer, pre-norm or post-norm."""
    del is_causal  # a hint beside the mask
    attend = _attention(part, "self_attn", None, src_mask, src_key_padding_mask)
    return _torch_layer(part, src, (attend, _network(part)))


def torch_decoder_layer(
    part: Part,
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
    attend = _attention(part, "self_attn", None, tgt_mask, tgt_key_padding_mask)
    look = _attention(part, "multihead_attn", memory, memory_mask, memory_key_padding_mask)
    return _torch_layer(part, tgt, (attend, look, _network(part)))


def _attention(
    part: Part, name: str, memory: Tensor | None, mask: Tensor | None, padding: Tensor | None
) -> Recomputation:
    def attend(x: Tensor) -> Tensor:
        other = x if memory is None else memory
        inner = part.below(name)
        result: Tensor = inner(x, other, other, key_padding_mask=padding, attn_mask=mask)[0]
        return result

    return attend


def _network(part: Part) -> Recomputation:
    return lambda x: part.below("linear2")(torch_activation(part)(part.below("linear1")(x)))


def torch_activation(part: Part) -> Recomputation:
    """Return the activation of a layer of torch.nn: a child, or a function that it only notes."""
    if part.has("activation"):
        return part.below("activation")
    noted = {1: "relu", 2: "gelu"}.get(int(part.attribute("activation_relu_or_gelu") or 0))
    name = noted or str(part.config.get("activation"))
    if name not in ACTIVATIONS:
        raise NoFormulaError(f"the recomputation does not know the activation {name!r}")
    function: Recomputation = ACTIVATIONS[name]
    return lambda x: part.round(function(x))


def _torch_layer(part: Part, x: Tensor, parts: tuple[Recomputation, ...]) -> Tensor:
    for number, function in enumerate(parts, 1):
        norm = part.below(f"norm{number}")
        if part.attribute("norm_first"):
            x = part.round(x + function(norm(x)))
        else:
            x = norm(part.round(x + function(x)))
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
