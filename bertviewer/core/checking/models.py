"""Whole models, from token ids to hidden states and scores."""

from typing import Any

import torch
from torch import Tensor

from bertviewer.core.checking.embeddings import sinusoids, sum_of_embeddings
from bertviewer.core.checking.evaluator import Evaluator, Given, NoRecomputationError
from bertviewer.core.checking.stacks import ended, run, visible

Result = dict[str, Any]


def bert(
    module: Evaluator,
    input_ids: Given = None,
    *,
    attention_mask: Given = None,
    token_type_ids: Given = None,
    position_ids: Given = None,
    inputs_embeds: Given = None,
    **_: Any,
) -> Result:
    """BERT and its kin: embeddings, stack, and a pooler where there is one."""
    embeddings = module.below("embeddings")
    segments = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
    x = embeddings(input_ids, position_ids=position_ids, inputs_embeds=inputs_embeds, **segments)
    if module.has("embeddings_project"):
        x = module.below("embeddings_project")(x)
    shown = visible(attention_mask, x.shape[1], module.is_causal)
    result: Result = module.first("encoder", "transformer")(x, shown)
    last = result["last_hidden_state"]
    if module.has("pooler_activation"):
        # ALBERT's pooler is a linear layer and a tanh in the model itself.
        pooled = module.below("pooler_activation")(module.below("pooler")(last[:, 0]))
        return result | {"pooler_output": pooled}
    if module.has("pooler"):
        return result | {"pooler_output": module.below("pooler")(last)}
    return result


def gpt2(
    module: Evaluator,
    input_ids: Given = None,
    *,
    attention_mask: Given = None,
    encoder_hidden_states: Given = None,
    encoder_attention_mask: Given = None,
    **given: Any,
) -> Result:
    """GPT-2: words and positions, blocks, a last layer norm."""
    x = sum_of_embeddings(module, "wte", "wpe", input_ids, **given)
    mask = visible(attention_mask, x.shape[1], module.is_causal)
    other = visible(encoder_attention_mask, x.shape[1], False)
    states = run(module.below("h"), x, None, mask, encoder_hidden_states, other)
    return ended(states, module.below("ln_f"))


def llama(
    module: Evaluator,
    input_ids: Given = None,
    *,
    attention_mask: Given = None,
    inputs_embeds: Given = None,
    position_ids: Given = None,
    **_: Any,
) -> Result:
    """Llama: words, layers with rotated queries and keys, a last RMSNorm."""
    x = module.below("embed_tokens")(input_ids) if inputs_embeds is None else inputs_embeds
    length = x.shape[1]
    positions = torch.arange(length)[None] if position_ids is None else position_ids
    turns = module.below("rotary_emb")(x, positions)
    mask = visible(attention_mask, length, module.is_causal)
    states = [x]
    layers = module.below("layers").children
    for layer, window in zip(layers, _windows(module, len(layers)), strict=True):
        shown = mask if window is None or mask is None else mask & _within(length, window)
        states.append(layer(states[-1], shown, position_embeddings=turns))
    return ended(tuple(states), module.below("norm"))


def _windows(module: Evaluator, layers: int) -> list[int | None]:
    """Return how many positions back each layer sees, ``None`` for all: Mistral's and Qwen's."""
    window = module.config.get("sliding_window")
    kinds = module.config.get("layer_types")
    if kinds is None:
        return [window] * layers
    return [window if kind == "sliding_attention" else None for kind in kinds]


def _within(length: int, window: int) -> Tensor:
    places = torch.arange(length)
    return (places > places[:, None] - window)[None, None]


def encoder_decoder(
    module: Evaluator,
    input_ids: Given = None,
    *,
    attention_mask: Given = None,
    decoder_input_ids: Given = None,
    decoder_attention_mask: Given = None,
    encoder_outputs: object = None,
    **_: Any,
) -> Result:
    """BART and T5: the decoder looks at the encoder's last hidden state."""
    if decoder_input_ids is None or encoder_outputs is not None:
        raise NoRecomputationError("the recomputation needs the ids of both sides")
    encoded = module.below("encoder")(input_ids=input_ids, attention_mask=attention_mask)
    memory = encoded["last_hidden_state"]
    decoded = module.below("decoder")(
        input_ids=decoder_input_ids,
        attention_mask=decoder_attention_mask,
        encoder_hidden_states=memory,
        encoder_attention_mask=attention_mask,
    )
    return {
        "last_hidden_state": decoded["last_hidden_state"],
        "decoder_hidden_states": decoded["hidden_states"],
        "encoder_last_hidden_state": memory,
        "encoder_hidden_states": encoded["hidden_states"],
    }


def encoder_only(module: Evaluator, *args: Any, **kwargs: Any) -> Result:
    """T5's encoder as a model of its own."""
    return module.below("encoder")(*args, **kwargs)


def transformer_base(
    module: Evaluator, input_ids: Tensor, decoder_input_ids: Tensor, **_: Any
) -> Result:
    """The Transformer of 2017: scaled words plus sinusoids on both sides."""

    def embed(ids: Tensor) -> Tensor:
        x = module.below("embedding")(ids)
        width = x.shape[-1]
        return module.round(x * width**0.5 + module.round(sinusoids(ids.shape[1], width, x.dtype)))

    source, target = embed(input_ids), embed(decoder_input_ids)
    shown = visible(None, target.shape[1], True)
    # torch's masks say what is hidden.
    hidden = None if shown is None else ~shown[0, 0]
    return {"last_hidden_state": module.below("transformer")(source, target, tgt_mask=hidden)}
