"""ESM: a BERT for proteins, pre-norm, with rotated or with learnt positions.

Rives et al. 2021 (ESM-1b) and Lin et al. 2023 (ESM-2); contacts: Rao et al. 2021, section 3.2.
"""

from typing import Any

import torch
from torch import Tensor

from bertviewer.core.checking.attention_maths import Attention, Rotation, head_count, separate
from bertviewer.core.checking.embeddings import counted_from_padding
from bertviewer.core.checking.evaluator import Evaluator, Given
from bertviewer.core.checking.heads import scores
from bertviewer.core.checking.stacks import ended, run, visible

_MASKED_IN_TRAINING = 0.15 * 0.8
"""The share of tokens that training replaced by the mask: 15 % are chosen, 80 % of them masked."""


def read_attention(
    module: Evaluator,
    hidden_states: Tensor,
    attention_mask: Given = None,
    encoder_hidden_states: Given = None,
    encoder_attention_mask: Given = None,
    position_embeddings: tuple[Tensor, Tensor] | None = None,
    **_: Any,
) -> Attention:
    """BERT's, with queries and keys turned where positions are rotary."""
    turns = module.attribute("position_embedding_type") == "rotary"
    mask = attention_mask if encoder_hidden_states is None else encoder_attention_mask
    return separate(
        module,
        ("query", "key", "value"),
        head_count(module, "num_attention_heads"),
        hidden_states,
        encoder_hidden_states,
        mask,
        rotation=Rotation(*position_embeddings) if turns and position_embeddings else None,
    )


def embeddings(
    module: Evaluator,
    input_ids: Given = None,
    attention_mask: Given = None,
    position_ids: Given = None,
    inputs_embeds: Given = None,
) -> Tensor:
    """Words, made up for masked ones, and positions where there is a table; padding becomes 0."""
    x = module.below("word_embeddings")(input_ids) if inputs_embeds is None else inputs_embeds
    if module.attribute("token_dropout") and input_ids is not None:
        masked = input_ids == module.number("mask_token_id")
        length = input_ids.shape[1] if attention_mask is None else attention_mask.sum(-1)
        seen = 1 - masked.sum(-1).to(x.dtype) / length
        x = x.masked_fill(masked[..., None], 0.0) * (1 - _MASKED_IN_TRAINING) / seen[:, None, None]
    if module.has("position_embeddings"):
        if position_ids is None:
            padding = int(module.number("padding_idx"))
            position_ids = counted_from_padding(padding, input_ids, x.shape[1])
        x = x + module.below("position_embeddings")(position_ids)
    if module.has("layer_norm"):
        x = module.below("layer_norm")(module.round(x))
    return x if attention_mask is None else x * attention_mask[..., None].to(x.dtype)


def add(module: Evaluator, hidden_states: Tensor, input_tensor: Tensor) -> Tensor:
    """dense(X) + R: the norms stand before the sub-layers."""
    return module.below("dense")(hidden_states) + input_tensor


def attention_block(module: Evaluator, hidden_states: Tensor, *args: Any, **more: Any) -> Tensor:
    """X + dense(Attention(LayerNorm(X)))."""
    mixed, _weights = module.below("self")(module.below("LayerNorm")(hidden_states), *args, **more)
    return module.below("output")(mixed, hidden_states)


def encoder(module: Evaluator, hidden_states: Tensor, *args: Any, **more: Any) -> Any:
    """The stack, and the norm that follows pre-norm layers."""
    states = run(module.below("layer"), hidden_states, *args, **more)
    return ended(states, module.below("emb_layer_norm_after"))


def model(
    module: Evaluator,
    input_ids: Given = None,
    attention_mask: Given = None,
    position_ids: Given = None,
    inputs_embeds: Given = None,
    **_: Any,
) -> dict[str, Any]:
    """Embeddings, stack, and a pooler where there is one."""
    x = inputs_embeds
    if x is None:
        x = module.below("embeddings")(input_ids, attention_mask, position_ids)
    length = x.shape[1]
    angles = None
    if module.has("rotary_embeddings"):
        places = torch.arange(length)[None] if position_ids is None else position_ids
        angles = module.below("rotary_embeddings")(x, places)
    shown = visible(attention_mask, length, module.is_causal)
    result: dict[str, Any] = module.below("encoder")(x, shown, position_embeddings=angles)
    if module.has("pooler"):
        return result | {"pooler_output": module.below("pooler")(result["last_hidden_state"])}
    return result


def lm_head(module: Evaluator, features: Tensor, **_: Any) -> Tensor:
    """RoBERTa's scores; the bias is the head's own."""
    return scores(module, features) + module.weight("bias")


def contacts(module: Evaluator, tokens: Tensor, attentions: Tensor) -> Tensor:
    """A logistic regression on all heads' attention, made symmetric and corrected for its mean.

    The correction takes from each pair what its row and its column would lead to expect. Of the
    tokens [B, S] the first and the last are left out; ``attentions`` is [B, N, A, S, S].
    """
    real = (tokens != module.number("eos_idx")).to(attentions.dtype)
    x = (attentions * (real[:, None] * real[:, :, None])[:, None, None])[..., 1:-1, 1:-1]
    x = x.flatten(1, 2)
    x = x + x.transpose(-1, -2)
    expected = x.sum(-1, keepdim=True) * x.sum(-2, keepdim=True) / x.sum((-1, -2), keepdim=True)
    features = (x - expected).permute(0, 2, 3, 1)
    scores: Tensor = module.below("activation")(module.below("regression")(features)[..., 0])
    return scores
