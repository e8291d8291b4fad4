"""RoFormer: BERT with queries and keys that turn with their position (Su et al. 2021, section 3).

The paper turns the features in neighbouring pairs, and so does this family's code.
"""

from typing import Any

from torch import Tensor

from bertviewer.core.checking.attention_maths import (
    Attention,
    Rotation,
    check_cache,
    head_count,
    separate,
)
from bertviewer.core.checking.evaluator import Evaluator, Given
from bertviewer.core.checking.stacks import through, use_crosses


def read_attention(
    module: Evaluator,
    hidden_states: Tensor,
    attention_mask: Given = None,
    sinusoidal_pos: Given = None,
    encoder_hidden_states: Given = None,
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
        values = bool(module.attribute("rotary_value"))
        rotation = Rotation(cosine, sine, neighbours=True, values=values)
    return separate(
        module,
        ("query", "key", "value"),
        head_count(module, "num_attention_heads"),
        hidden_states,
        encoder_hidden_states,
        attention_mask,
        rotation=rotation,
    )


def encoder(
    module: Evaluator,
    hidden_states: Tensor,
    attention_mask: Given = None,
    encoder_hidden_states: Given = None,
    encoder_attention_mask: Given = None,
    **_: Any,
) -> Any:
    """The stack: one table of sines and cosines serves all layers."""
    turns = module.below("embed_positions")(hidden_states.shape[:-1])[None, None]
    more = (encoder_hidden_states, encoder_attention_mask) if use_crosses(module) else ()
    return through(module.below("layer"), hidden_states, attention_mask, turns, *more)
