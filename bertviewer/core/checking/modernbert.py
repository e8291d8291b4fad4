"""ModernBERT: pre-norm, rotated queries and keys, most layers with a narrow window.

Warner et al. 2024, "Smarter, Better, Faster, Longer", section 2.1.
"""

from typing import Any

import torch
from torch import Tensor

from bertviewer.core.checking.attention_maths import (
    Attention,
    Projection,
    Rotation,
    head_count,
)
from bertviewer.core.checking.evaluator import Evaluator, Given
from bertviewer.core.checking.stacks import ended, visible

_WINDOWED = "sliding_attention"


def read_attention(
    module: Evaluator,
    hidden_states: Tensor,
    position_embeddings: tuple[Tensor, Tensor],
    attention_mask: Given = None,
    **_: Any,
) -> Attention:
    """One linear layer holds queries, keys and values, each head after head."""
    heads = head_count(module, "num_attention_heads")
    stored = Projection.of(module.below("Wqkv"))
    width = stored.weight.shape[0] // 3
    query, key, value = (stored.rows(start * width, width) for start in range(3))
    x = hidden_states
    scale = (width // heads) ** -0.5
    return Attention(
        query, key, value, heads, heads, scale, x, x, x, attention_mask,
        rotation=Rotation(*position_embeddings),
    )  # fmt: skip


def embeddings(
    module: Evaluator, input_ids: Given = None, inputs_embeds: Tensor | None = None
) -> Tensor:
    """LayerNorm(W[ids]): positions come in by rotation."""
    x = module.below("tok_embeddings")(input_ids) if inputs_embeds is None else inputs_embeds
    return module.below("norm")(x)


def network(module: Evaluator, x: Tensor) -> Tensor:
    """Wo(f(H) · G), with H and G the halves of Wi(X)."""
    hidden, gate = module.below("Wi")(x).chunk(2, dim=-1)
    return module.below("Wo")(module.round(module.below("act")(hidden) * gate))


def model(
    module: Evaluator,
    input_ids: Given = None,
    *,
    attention_mask: Given = None,
    position_ids: Given = None,
    inputs_embeds: Given = None,
    **_: Any,
) -> dict[str, Any]:
    """Words, layers that look everywhere or through a window, a last norm."""
    x = module.below("embeddings")(input_ids=input_ids, inputs_embeds=inputs_embeds)
    length = x.shape[1]
    positions = torch.arange(length)[None] if position_ids is None else position_ids
    everywhere = visible(attention_mask, length, False)
    states = [x]
    kinds = module.setting_value("layer_types")
    for inner, kind in zip(module.below("layers").children, kinds, strict=True):
        mask = everywhere
        if kind == _WINDOWED:
            near = _near(length, int(module.setting_value("local_attention")) // 2)
            mask = near if everywhere is None else near & everywhere
        angles = module.below("rotary_emb")(x, positions, kind)
        states.append(inner(states[-1], mask, angles))
    return ended(tuple(states), module.below("final_norm"))


def _near(length: int, reach: int) -> Tensor:
    """Return where two positions are at most ``reach`` apart: [1, 1, S, S]."""
    places = torch.arange(length)
    return ((places[:, None] - places).abs() <= reach)[None, None]
