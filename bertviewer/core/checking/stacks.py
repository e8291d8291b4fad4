"""Stacks of layers; each gives its hidden states, from its input on."""

from typing import Any

import torch
from torch import Tensor

from bertviewer.core.checking.evaluator import Evaluator, Given
from bertviewer.core.checking.layers import hidden
from bertviewer.core.checking.position_bias import bucket_bias


def run(layers: Evaluator, x: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """Run every layer of a list on the output of the one before: N + 1 hidden states."""
    states = [x]
    for layer in layers.children:
        states.append(hidden(layer(states[-1], *args, **kwargs)))
    return tuple(states)


def through(layers: Evaluator, x: Tensor, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Return what a stack gives that is its layers alone."""
    states = run(layers, x, *args, **kwargs)
    return {"last_hidden_state": states[-1], "hidden_states": states}


def ended(states: tuple[Tensor, ...], norm: Evaluator) -> dict[str, Any]:
    """Put the last hidden state through the last norm, as transformers reports it."""
    last = norm(states[-1])
    return {"last_hidden_state": last, "hidden_states": (*states[:-1], last)}


def visible(mask: Tensor | None, queries: int, is_causal: bool) -> Tensor | None:
    """Return where each query may look, true or false: [B, 1, S, S'], ``None`` for everywhere.

    ``mask`` [B, S'] is 1 for tokens and 0 for padding.
    """
    shown = None
    if is_causal and queries > 1:
        shown = torch.ones(queries, queries, dtype=torch.bool).tril()[None, None]
    if mask is not None and not bool(mask.bool().all()):
        real = mask.bool()[:, None, None, :]
        shown = real if shown is None else shown & real
    return shown


def encoder(
    module: Evaluator,
    hidden_states: Tensor,
    attention_mask: Given = None,
    encoder_hidden_states: Given = None,
    encoder_attention_mask: Given = None,
    **_: Any,
) -> Any:
    """BERT's and DistilBERT's stack."""
    more = (encoder_hidden_states, encoder_attention_mask) if use_crosses(module) else ()
    return through(module.below("layer"), hidden_states, attention_mask, *more)


def use_crosses(module: Evaluator) -> bool:
    """Whether the layers of a stack can look at an encoder."""
    return any(layer.has("crossattention") for layer in module.below("layer").children)


def mpnet(module: Evaluator, hidden_states: Tensor, attention_mask: Given = None, **_: Any) -> Any:
    """MPNet's stack: one bias for the distance serves all layers (Song et al. 2020)."""
    length = hidden_states.shape[1]
    bias = bucket_bias(module, length, length, buckets=32, farthest=128, is_decoder=False)
    return through(module.below("layer"), hidden_states, attention_mask, bias)


def albert(module: Evaluator, hidden_states: Tensor, attention_mask: Given = None, **_: Any) -> Any:
    """ALBERT's stack: the same groups again and again (Lan et al. 2020, section 3.1)."""
    states = [module.below("embedding_hidden_mapping_in")(hidden_states)]
    groups = module.below("albert_layer_groups").children
    count = int(module.setting_value("num_hidden_layers"))
    for layer in range(count):
        group = groups[int(layer / (count / len(groups)))]
        for inner in group.below("albert_layers").children:
            states.append(inner(states[-1], attention_mask))
    return {"last_hidden_state": states[-1], "hidden_states": tuple(states)}


def albert_group(
    module: Evaluator, hidden_states: Tensor, attention_mask: Given = None, **_: Any
) -> Tensor:
    """ALBERT's group of layers, in order."""
    return run(module.below("albert_layers"), hidden_states, attention_mask)[-1]


def bart(
    module: Evaluator,
    input_ids: Given = None,
    attention_mask: Given = None,
    encoder_hidden_states: Given = None,
    encoder_attention_mask: Given = None,
    inputs_embeds: Given = None,
    **_: Any,
) -> Any:
    """BART's encoder or decoder: embeddings, layer norm, layers."""
    x = module.below("embed_tokens")(input_ids) if inputs_embeds is None else inputs_embeds
    x = module.round(x + module.below("embed_positions")(x[..., 0]))
    x = module.below("layernorm_embedding")(x)
    decodes = encoder_hidden_states is not None
    mask = visible(attention_mask, x.shape[1], module.is_causal)
    more = (encoder_hidden_states, visible(encoder_attention_mask, x.shape[1], False))
    states = run(module.below("layers"), x, mask, *(more if decodes else ()))
    if module.has("layer_norm"):
        # mBART's layers are pre-norm, so that a last norm follows them.
        return ended(states, module.below("layer_norm"))
    return {"last_hidden_state": states[-1], "hidden_states": states}


def t5(
    module: Evaluator,
    input_ids: Given = None,
    attention_mask: Given = None,
    encoder_hidden_states: Given = None,
    encoder_attention_mask: Given = None,
    inputs_embeds: Given = None,
    **_: Any,
) -> Any:
    """T5's encoder or decoder: the first block's position biases serve all of them."""
    x = module.below("embed_tokens")(input_ids) if inputs_embeds is None else inputs_embeds
    length = x.shape[1]
    mask = visible(attention_mask, length, module.is_causal)
    other = visible(encoder_attention_mask, length, False)
    states, bias, cross_bias = [x], None, None
    for block in module.below("block").children:
        x, bias, cross_bias = block(x, mask, bias, encoder_hidden_states, other, cross_bias)
        states.append(x)
    return ended(tuple(states), module.below("final_layer_norm"))


def torch_encoder(
    module: Evaluator,
    src: Tensor,
    mask: Given = None,
    src_key_padding_mask: Given = None,
    is_causal: bool | None = None,
) -> Tensor:
    """torch.nn's stack of encoder layers, with a last norm where it has one."""
    return _normed(module, run(module.below("layers"), src, mask, src_key_padding_mask)[-1])


def torch_decoder(
    module: Evaluator,
    tgt: Tensor,
    memory: Tensor,
    tgt_mask: Given = None,
    memory_mask: Given = None,
    tgt_key_padding_mask: Given = None,
    memory_key_padding_mask: Given = None,
    tgt_is_causal: bool | None = None,
    memory_is_causal: bool = False,
) -> Tensor:
    """torch.nn's stack of decoder layers."""
    masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
    return _normed(module, run(module.below("layers"), tgt, memory, *masks)[-1])


def _normed(module: Evaluator, x: Tensor) -> Tensor:
    return module.below("norm")(x) if module.has("norm") else x


def torch_transformer(
    module: Evaluator,
    src: Tensor,
    tgt: Tensor,
    src_mask: Given = None,
    tgt_mask: Given = None,
    memory_mask: Given = None,
    src_key_padding_mask: Given = None,
    tgt_key_padding_mask: Given = None,
    memory_key_padding_mask: Given = None,
    **_: Any,
) -> Tensor:
    """torch.nn.Transformer (Vaswani et al. 2017, section 3.1)."""
    memory = module.below("encoder")(src, src_mask, src_key_padding_mask)
    masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
    return module.below("decoder")(tgt, memory, *masks)


def transformer(module: Evaluator, *args: Any, **kwargs: Any) -> Any:
    """DistilBERT's stack and torch's encoder-decoder are both called Transformer."""
    return (encoder if module.has("layer") else torch_transformer)(module, *args, **kwargs)
