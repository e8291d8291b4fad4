"""RoFormer: BERT with queries and keys that turn with their position (Su et al. 2021, section 3).

The paper turns the features in neighbouring pairs, and so does this family's code.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from bertviewer.core.checking.attention_maths import (
    Attention,
    Rotation,
    check_cache,
    head_count,
    separate,
)
from bertviewer.core.checking.part import Part, Recomputation
from bertviewer.core.checking.stacks import use_crosses, visible


def read_attention(
    part: Part,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    sinusoidal_pos: Tensor | None = None,
    encoder_hidden_states: Tensor | None = None,
    past_key_values: Any = None,
    *_: Any,
    **__: Any,
) -> Attention:
    """``sinusoidal_pos`` [1, 1, S, d] holds the sines of the d/2 angles, then the cosines."""
    check_cache(past_key_values, hidden_states.shape[1])
    rotation = None
    if sinusoidal_pos is not None and encoder_hidden_states is None:
        sine, cosine = (
            side.repeat_interleave(2, dim=-1)[:, 0] for side in sinusoidal_pos.chunk(2, dim=-1)
        )
        values = bool(part.attribute("rotary_value"))
        rotation = Rotation(cosine, sine, neighbours=True, values=values)
    return separate(
        part,
        ("query", "key", "value"),
        head_count(part, "num_attention_heads"),
        hidden_states,
        encoder_hidden_states,
        attention_mask,
        rotation=rotation,
    )


def attention_block(part: Part, hidden_states: Tensor, *args: Any, **more: Any) -> Any:
    """The attention with its projection and add & norm."""
    mixed, weights = part.below("self")(hidden_states, *args, **more)
    return part.below("output")(mixed, hidden_states), weights


def layer(
    part: Part,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    sinusoidal_pos: Tensor | None = None,
    encoder_hidden_states: Tensor | None = None,
    encoder_attention_mask: Tensor | None = None,
    past_key_values: Any = None,
    *_: Any,
    **__: Any,
) -> Any:
    """BERT's layer, with the sines and cosines handed on."""
    x, weights = part.below("attention")(
        hidden_states, attention_mask, sinusoidal_pos, past_key_values=past_key_values
    )
    given = [weights]
    if part.has("crossattention") and encoder_hidden_states is not None:
        x, weights = part.below("crossattention")(
            x, encoder_attention_mask, sinusoidal_pos, encoder_hidden_states
        )
        given.append(weights)
    return (part.below("output")(part.below("intermediate")(x), x), *given)


def encoder(
    part: Part,
    hidden_states: Tensor,
    attention_mask: Tensor | None = None,
    encoder_hidden_states: Tensor | None = None,
    encoder_attention_mask: Tensor | None = None,
    **_: Any,
) -> Any:
    """The stack: one table of sines and cosines serves all layers."""
    turns = part.below("embed_positions")(hidden_states.shape[:-1])[None, None]
    more = (encoder_hidden_states, encoder_attention_mask) if use_crosses(part) else ()
    states = [hidden_states]
    for inner in part.below("layer").children:
        states.append(inner(states[-1], attention_mask, turns, *more)[0])
    return {"last_hidden_state": states[-1], "hidden_states": tuple(states)}


def model(
    part: Part,
    input_ids: Tensor | None = None,
    attention_mask: Tensor | None = None,
    token_type_ids: Tensor | None = None,
    inputs_embeds: Tensor | None = None,
    **_: Any,
) -> dict[str, Any]:
    """Embeddings, widened where they are narrow, and the stack."""
    x = part.below("embeddings")(
        input_ids=input_ids, token_type_ids=token_type_ids, inputs_embeds=inputs_embeds
    )
    if part.has("embeddings_project"):
        x = part.below("embeddings_project")(x)
    shown = visible(attention_mask, x.shape[1], bool(part.config.get("is_decoder")))
    result: dict[str, Any] = part.below("encoder")(x, shown)
    return result


ROFORMER: Mapping[str, Recomputation] = {
    "RoFormerAttention": attention_block,
    "RoFormerLayer": layer,
    "RoFormerEncoder": encoder,
    "RoFormerModel": model,
}
