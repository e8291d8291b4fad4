"""ModernBERT: pre-norm, rotated queries and keys, most layers with a narrow window.

Warner et al. 2024, "Smarter, Better, Faster, Longer", section 2.1.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from bertviewer.core.checking.attention_maths import (
    Attention,
    Projection,
    Rotation,
    head_count,
)
from bertviewer.core.checking.embeddings import rotation
from bertviewer.core.checking.families import named
from bertviewer.core.checking.part import NoFormulaError, Part, Recomputation
from bertviewer.core.checking.stacks import visible

_WINDOWED = "sliding_attention"


def read_attention(
    part: Part,
    hidden_states: Tensor,
    position_embeddings: tuple[Tensor, Tensor],
    attention_mask: Tensor | None = None,
    **_: Any,
) -> Attention:
    """One linear layer holds queries, keys and values, each head after head."""
    heads = head_count(part, "num_attention_heads")
    stored = Projection.of(part.below("Wqkv"))
    width = stored.weight.shape[0] // 3
    query, key, value = (stored.rows(start * width, width) for start in range(3))
    x = hidden_states
    scale = (width // heads) ** -0.5
    return Attention(
        query, key, value, heads, heads, scale, x, x, x, attention_mask,
        rotation=Rotation(*position_embeddings),
    )  # fmt: skip


def embeddings(
    part: Part, input_ids: Tensor | None = None, inputs_embeds: Tensor | None = None
) -> Tensor:
    """LayerNorm(W[ids]): positions come in by rotation."""
    x = part.below("tok_embeddings")(input_ids) if inputs_embeds is None else inputs_embeds
    result: Tensor = part.below("norm")(x)
    return result


def network(part: Part, x: Tensor) -> Tensor:
    """Wo(f(H) · G), with H and G the halves of Wi(X)."""
    hidden, gate = part.below("Wi")(x).chunk(2, dim=-1)
    result: Tensor = part.below("Wo")(part.round(part.below("act")(hidden) * gate))
    return result


def turns(part: Part, x: Tensor, position_ids: Tensor, layer_type: str) -> tuple[Tensor, Tensor]:
    """Cosines and sines; windowed layers have a base of their own."""
    return rotation(part, x, position_ids, part.config["rope_parameters"][layer_type])


def layer(
    part: Part,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    position_embeddings: tuple[Tensor, Tensor] | None = None,
    **_: Any,
) -> Tensor:
    """X + Attention(norm(X)), then the same with the network."""
    x = hidden_states
    y = part.below("attn")(part.below("attn_norm")(x), position_embeddings, attention_mask)[0]
    x = part.round(x + y)
    result: Tensor = x + part.below("mlp")(part.below("mlp_norm")(x))
    return result


def model(
    part: Part,
    input_ids: Tensor | None = None,
    *,
    attention_mask: Tensor | None = None,
    position_ids: Tensor | None = None,
    inputs_embeds: Tensor | None = None,
    **_: Any,
) -> dict[str, Any]:
    """Words, layers that look everywhere or through a window, a last norm."""
    x = part.below("embeddings")(input_ids=input_ids, inputs_embeds=inputs_embeds)
    length = x.shape[1]
    positions = torch.arange(length)[None] if position_ids is None else position_ids
    everywhere = visible(attention_mask, length, False)
    states = [x]
    kinds = part.setting_value("layer_types")
    for inner, kind in zip(part.below("layers").children, kinds, strict=True):
        mask = everywhere
        if kind == _WINDOWED:
            near = _near(length, int(part.setting_value("local_attention")) // 2)
            mask = near if everywhere is None else near & everywhere
        angles = part.below("rotary_emb")(x, positions, kind)
        states.append(inner(states[-1], mask, angles))
    last = part.below("final_norm")(states[-1])
    return {"last_hidden_state": last, "hidden_states": (*states[:-1], last)}


def _near(length: int, reach: int) -> Tensor:
    """Return where two positions are at most ``reach`` apart: [1, 1, S, S]."""
    places = torch.arange(length)
    return ((places[:, None] - places).abs() <= reach)[None, None]


def head(part: Part, hidden_states: Tensor) -> Tensor:
    """norm(f(dense(X)))."""
    result: Tensor = part.below("norm")(part.below("act")(part.below("dense")(hidden_states)))
    return result


def masked_lm(part: Part, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Score the vocabulary at every position."""
    base = part.below("model")(*args, **kwargs)
    scores = part.below("decoder")(part.below("head")(base["last_hidden_state"]))
    return base | {"logits": scores}  # type: ignore[no-any-return]


def sequence_classification(
    part: Part, *args: Any, attention_mask: Tensor | None = None, **kwargs: Any
) -> dict[str, Any]:
    """Score the classes from the first token, or from the mean of all."""
    base = part.below("model")(*args, attention_mask=attention_mask, **kwargs)
    x = base["last_hidden_state"]
    pooling = part.setting_value("classifier_pooling")
    if pooling == "cls":
        x = x[:, 0]
    elif pooling == "mean":
        shown = torch.ones(x.shape[:2]) if attention_mask is None else attention_mask
        weights = shown.to(x.dtype)[..., None]
        x = (x * weights).sum(1) / weights.sum(1)
    else:
        raise NoFormulaError(f"the recomputation does not know the pooling {pooling!r}")
    return base | {"logits": part.below("classifier")(part.below("head")(x))}  # type: ignore[no-any-return]


def token_classification(part: Part, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Score the classes of every token."""
    base = part.below("model")(*args, **kwargs)
    scores = part.below("classifier")(part.below("head")(base["last_hidden_state"]))
    return base | {"logits": scores}  # type: ignore[no-any-return]


def question_answering(part: Part, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Score each token as the answer's start and as its end."""
    result = token_classification(part, *args, **kwargs)
    scores = result.pop("logits")
    return result | {"start_logits": scores[..., 0], "end_logits": scores[..., 1]}


MODERNBERT: Mapping[str, Recomputation] = {
    "ModernBertEmbeddings": embeddings,
    "ModernBertMLP": network,
    "ModernBertRotaryEmbedding": turns,
    "ModernBertEncoderLayer": layer,
    "ModernBertModel": model,
    "ModernBertPredictionHead": head,
    **dict.fromkeys(
        named(
            ("ModernBert",),
            *("ForMaskedLM", "LMHeadModel", "ForCausalLM", "ForConditionalGeneration"),
        ),
        masked_lm,
    ),
    "ModernBertForSequenceClassification": sequence_classification,
    "ModernBertForTokenClassification": token_classification,
    "ModernBertForQuestionAnswering": question_answering,
}
