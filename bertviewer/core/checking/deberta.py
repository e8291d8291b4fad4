"""DeBERTa, both versions: scores from contents and from distances (He et al. 2021, section 3.1)."""

import math
from typing import Any

import torch
from torch import Tensor

from bertviewer.core.checking.arithmetic import affine
from bertviewer.core.checking.attention_maths import (
    Attention,
    Projection,
    TalkingHeads,
    head_count,
    in_heads,
)
from bertviewer.core.checking.evaluator import Evaluator, Given, NoRecomputationError
from bertviewer.core.checking.heads import transform
from bertviewer.core.checking.primitives import activation_named
from bertviewer.core.checking.stacks import through


def read_attention(
    module: Evaluator,
    hidden_states: Tensor,
    attention_mask: Tensor,
    output_attentions: bool = False,
    query_states: Given = None,
    relative_pos: Given = None,
    rel_embeddings: Given = None,
) -> Attention:
    """Contents to contents, plus what contents make of the distance, as a bias."""
    if query_states is not None:
        raise NoRecomputationError("the recomputation does not cover external queries")
    heads = head_count(module, "num_attention_heads")
    x = hidden_states
    q, k, v = _projections(module, heads)
    kinds = module.config.get("pos_att_type") or ()
    if not module.has("in_proj"):
        # The second version counts the kinds that it knows, the first all that are named.
        kinds = [kind for kind in kinds if kind in ("c2p", "p2c")]
    # The paper's sqrt(3 d): one d for each kind of score that is added.
    scale = (q.weight.shape[0] // heads * (1 + len(kinds))) ** -0.5
    bias = None
    if module.config.get("relative_attention"):
        if relative_pos is None or rel_embeddings is None:
            raise NoRecomputationError("the recomputation needs the encoder's relative positions")
        query, key = in_heads(module, x, q, heads), in_heads(module, x, k, heads)
        bias = scale * _distances(module, query, key, heads, relative_pos, rel_embeddings)
    mask = attention_mask.bool()
    return Attention(q, k, v, heads, heads, scale, x, x, x, mask, bias, talk=_talk(module))


def _projections(module: Evaluator, heads: int) -> tuple[Projection, ...]:
    """Return W_Q, W_K and W_V; the first version keeps them in one tensor, head by head."""
    if not module.has("in_proj"):
        names = ("query_proj", "key_proj", "value_proj")
        return tuple(Projection.of(module.below(name)) for name in names)
    stored = module.below("in_proj").weight()
    width = stored.shape[1]
    # [A, 3, d, D]: each head has its queries' rows, its keys' and its values'.
    rows = stored.reshape(heads, 3, -1, width).transpose(0, 1).reshape(3, -1, width)
    biases = module.weight("q_bias"), None, module.weight("v_bias")
    return tuple(Projection(*pair) for pair in zip(rows, biases, strict=True))


def _talk(module: Evaluator) -> TalkingHeads | None:
    if not module.has("head_logits_proj"):
        return None
    return TalkingHeads(
        module.below("head_logits_proj").weight(), module.below("head_weights_proj").weight()
    )


def _distances(
    module: Evaluator, query: Tensor, key: Tensor, heads: int, relative_pos: Tensor, table: Tensor
) -> Tensor:
    """Content to position and position to content, of every head: [B, A, S, S']."""
    span = table.shape[0] // 2
    length = query.shape[-2]
    is_first = module.has("in_proj")
    if is_first:
        # Of the rows it takes those of the distances that a sequence so long can have.
        table = table[max(span - length, 0) : span + length]
        span = min(span, length)
    distance = relative_pos.reshape(-1, length, length)[0]
    shared = not is_first and bool(module.config.get("share_att_key"))
    key_name, query_name = (
        ("key_proj", "query_proj") if shared else ("pos_key_proj", "pos_query_proj")
    )
    if is_first:
        key_name, query_name = "pos_proj", "pos_q_proj"
    total = torch.zeros(1, dtype=query.dtype)
    kinds = module.config.get("pos_att_type") or ()
    if "c2p" in kinds:
        places = in_heads(module, table[None], Projection.of(module.below(key_name)), heads)
        scores = module.round(query @ places.transpose(-1, -2))
        index = (distance + span).clamp(0, 2 * span - 1)
        total = total + scores.gather(-1, index.expand(*scores.shape[:2], -1, -1))
    if "p2c" in kinds:
        places = in_heads(module, table[None], Projection.of(module.below(query_name)), heads)
        scores = module.round(key @ places.transpose(-1, -2))
        index = (span - distance).clamp(0, 2 * span - 1)
        total = total + scores.gather(-1, index.expand(*scores.shape[:2], -1, -1)).transpose(-1, -2)
    return total


def encoder(
    module: Evaluator, hidden_states: Tensor, attention_mask: Tensor, *_: Any, **more: Any
) -> Any:
    """The stack: one table of distances serves all layers."""
    if module.has("conv") or more.get("query_states") is not None:
        raise NoRecomputationError("the recomputation does not cover the encoder's convolution")
    if attention_mask.dim() <= 2:
        row = attention_mask[:, None, None, :]
        attention_mask = row * row.transpose(-1, -2)
    given = {}
    if module.config.get("relative_attention"):
        table = module.below("rel_embeddings").weight()
        if module.has("LayerNorm"):
            table = module.below("LayerNorm")(table)
        given = {
            "relative_pos": _positions(module, hidden_states.shape[1]),
            "rel_embeddings": table,
        }
    return through(module.below("layer"), hidden_states, attention_mask, **given)


def _positions(module: Evaluator, length: int) -> Tensor:
    """Return the distances q - k, far ones in buckets that grow with the logarithm: [1, S, S]."""
    farthest = int(module.config.get("max_relative_positions", -1))
    if farthest < 1:
        farthest = int(module.setting_value("max_position_embeddings"))
    # The first version has no buckets, whatever its configuration holds.
    buckets = int(module.attribute("position_buckets") or -1)
    rows = [
        [_bucket(query - key, buckets, farthest) for key in range(length)]
        for query in range(length)
    ]
    return torch.tensor(rows)[None]


def _bucket(distance: int, buckets: int, farthest: int) -> int:
    near = buckets // 2
    if buckets <= 0 or abs(distance) <= near:
        return distance
    share = math.log(abs(distance) / near) / math.log((farthest - 1) / near)
    # Rounded first, so that 3.0000000001 stays 3 before it is rounded up.
    place = math.ceil(round(share * (near - 1), 6)) + near
    return place if distance > 0 else -place


def embeddings(
    module: Evaluator,
    input_ids: Given = None,
    token_type_ids: Given = None,
    position_ids: Given = None,
    mask: Given = None,
    inputs_embeds: Given = None,
) -> Tensor:
    """Words, and positions and segments where there are tables for them; padding becomes 0."""
    x = module.below("word_embeddings")(input_ids) if inputs_embeds is None else inputs_embeds
    if module.has("position_embeddings"):
        if position_ids is None:
            position_ids = torch.arange(x.shape[1])[None]
        x = x + module.below("position_embeddings")(position_ids)
    if module.has("token_type_embeddings"):
        if token_type_ids is None:
            token_type_ids = torch.zeros(x.shape[:2], dtype=torch.long)
        x = x + module.below("token_type_embeddings")(token_type_ids)
    if module.has("embed_proj"):
        x = module.below("embed_proj")(module.round(x))
    x = module.below("LayerNorm")(module.round(x))
    return x if mask is None else x * mask.reshape(*x.shape[:2], 1).to(x.dtype)


def model(
    module: Evaluator,
    input_ids: Given = None,
    attention_mask: Given = None,
    token_type_ids: Given = None,
    position_ids: Given = None,
    inputs_embeds: Given = None,
    **_: Any,
) -> dict[str, Any]:
    """Embeddings and stack."""
    if (module.attribute("z_steps") or 0) not in (0, 1):
        raise NoRecomputationError("the recomputation does not cover a repeated last layer")
    if attention_mask is None and input_ids is not None:
        attention_mask = torch.ones_like(input_ids)
    x = module.below("embeddings")(
        input_ids, token_type_ids, position_ids, attention_mask, inputs_embeds
    )
    result: dict[str, Any] = module.below("encoder")(x, attention_mask)
    return result


def pooler(module: Evaluator, hidden_states: Tensor) -> Tensor:
    """f(dense(x_0))."""
    act = activation_named(module, "pooler_hidden_act")
    return act(module.below("dense")(hidden_states[:, 0]))


def lm_head(module: Evaluator, hidden_states: Tensor, word_embeddings: Any) -> Tensor:
    """The scores of the published code: LayerNorm(f(dense(X))) times the table of words."""
    x = transform(module, hidden_states)
    # A model hands over the module that holds the table, a recomputation its module.
    known = isinstance(word_embeddings, Evaluator)
    table = (
        word_embeddings.weight()
        if known
        else module.setting.arithmetic.take(word_embeddings.weight)
    )
    return affine(x, table, module.weight("bias"))
