"""BigBird: BERT whose long sequences look at some blocks of positions only (Zaheer et al. 2020).

Section 2: each block looks at the first and the last one, at its neighbours and at some random
ones; the first and the last block look at all. A sequence that is short looks everywhere.
"""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from bertviewer.core.checking.attention_maths import Attention, check_cache, head_count, separate
from bertviewer.core.checking.evaluator import Evaluator, Given, NoRecomputationError
from bertviewer.core.checking.stacks import through, use_crosses, visible
from bertviewer.core.checking.task_models import base_of

_HIDDEN = -10_000.0
"""What block-sparse attention adds to the score of a position that is padding."""
_OUT_OF_THE_RACE = 1e6
"""What the question's tokens lose as the answer's start and end."""


def is_sparse(module: Evaluator, length: int) -> bool:
    """Whether a sequence so long looks at some blocks only; shorter ones have too few of them.

    transformers exchanges the attention of a model once it meets a sequence that is too short.
    """
    config = module.config
    if config.get("attention_type") != "block_sparse" or config.get("add_cross_attention"):
        return False
    return length > (5 + 2 * int(config["num_random_blocks"])) * int(config["block_size"])


def read_attention(
    module: Evaluator,
    hidden_states: Tensor,
    *args: Any,
    attention_mask: Given = None,
    encoder_hidden_states: Given = None,
    encoder_attention_mask: Given = None,
    past_key_values: Any = None,
    **more: Any,
) -> Attention:
    """BERT's attention, and what block-sparse attention adds to its scores."""
    if is_sparse(module, hidden_states.shape[1]):
        return _read_sparse(module, hidden_states, *args, **more)
    check_cache(past_key_values, hidden_states.shape[1])
    crosses = encoder_hidden_states is not None
    return separate(
        module,
        _NAMES,
        head_count(module, "num_attention_heads"),
        hidden_states,
        encoder_hidden_states,
        encoder_attention_mask if crosses else attention_mask,
    )


_NAMES = ("query", "key", "value")


def _read_sparse(
    module: Evaluator,
    hidden_states: Tensor,
    band_mask: Given = None,
    from_mask: Given = None,
    to_mask: Given = None,
    *_: Any,
    **__: Any,
) -> Attention:
    """A block that is looked at n times counts n times: log n is added to its scores."""
    length, size = hidden_states.shape[1], int(module.config["block_size"])
    heads = head_count(module, "num_attention_heads")
    if to_mask is None or from_mask is None:
        raise NoRecomputationError("the recomputation needs the padding mask")
    if not bool(to_mask[..., :-size].all()):
        raise NoRecomputationError("the recomputation covers padding in the last block only")
    counts = _counts(length // size, int(module.config["num_random_blocks"]))
    counts = counts.repeat_interleave(size, 0).repeat_interleave(size, 1)
    bias = counts.to(hidden_states.dtype).log()[None, None]
    mask = (1 - to_mask) * _HIDDEN
    return replace(
        separate(module, _NAMES, heads, hidden_states, None, mask), bias=bias, shown=from_mask[:, 0]
    )


def _counts(blocks: int, random: int) -> Tensor:
    """Return how often each block looks at each other one.

    In evaluation transformers draws nothing: all the random blocks are block 0.
    """
    counts = torch.zeros(blocks, blocks)
    counts[[0, -1]] = 1
    for block in range(1, blocks - 1):
        counts[block, [0, block - 1, block, block + 1, blocks - 1]] = 1
        counts[block, 0] += random
    return counts


def finish(_module: Evaluator, attention: Attention, mixed: Tensor, weights: Tensor) -> Any:
    """Of a block that is looked at several times, block-sparse attention tells one share."""
    if attention.bias is None:
        return mixed, weights
    return mixed, weights * (-attention.bias).exp().nan_to_num(posinf=0.0)


_TAKEN = (
    *("attention_mask", "encoder_hidden_states", "encoder_attention_mask", "past_key_values"),
    *("band_mask", "from_mask", "to_mask"),
)


def attention_block(module: Evaluator, hidden_states: Tensor, *args: Any, **more: Any) -> Any:
    """The attention with its projection and add & norm; either kind takes what it knows."""
    given = dict(zip(_TAKEN, args, strict=False)) | more
    mixed, weights = module.below("self")(hidden_states, **given)
    return module.below("output")(mixed, hidden_states), weights


def encoder(module: Evaluator, hidden_states: Tensor, **given: Any) -> Any:
    """The stack."""
    if use_crosses(module) and given.get("encoder_hidden_states") is not None:
        raise NoRecomputationError("the recomputation does not cover BigBird with cross-attention")
    return through(module.below("layer"), hidden_states, **given)


def model(
    module: Evaluator,
    input_ids: Given = None,
    attention_mask: Given = None,
    token_type_ids: Given = None,
    position_ids: Given = None,
    inputs_embeds: Given = None,
    **_: Any,
) -> dict[str, Any]:
    """BERT; a long sequence is filled up to whole blocks first, and cut off again at the end."""
    if input_ids is None or inputs_embeds is not None or position_ids is not None:
        raise NoRecomputationError("the recomputation needs token ids and positions counted from 0")
    length = input_ids.shape[1]
    real = torch.ones_like(input_ids) if attention_mask is None else attention_mask
    given: dict[str, Any]
    if is_sparse(module, length):
        size = int(module.config["block_size"])
        more = -length % size
        input_ids = _longer(input_ids, more, int(module.setting_value("pad_token_id")))
        real = _longer(real, more, 0)
        if token_type_ids is not None:
            token_type_ids = _longer(token_type_ids, more, 0)
        given = {"from_mask": real[:, None, :, None], "to_mask": real[:, None, None, :]}
    else:
        given = {"attention_mask": visible(attention_mask, length, module.is_causal)}
    x = module.below("embeddings")(input_ids=input_ids, token_type_ids=token_type_ids)
    result = module.below("encoder")(x, **given)
    last = result["last_hidden_state"][:, :length]
    # transformers cuts off the last hidden state and leaves the others as they are.
    found = {"last_hidden_state": last, "hidden_states": (*result["hidden_states"][:-1], last)}
    if module.has("pooler"):
        found["pooler_output"] = module.below("activation")(module.below("pooler")(last[:, 0]))
    return found


def _longer(row: Tensor, more: int, value: int) -> Tensor:
    return torch.cat((row, row.new_full((row.shape[0], more), value)), dim=1)


def answer_head(module: Evaluator, encoder_output: Tensor) -> Tensor:
    """A feed-forward network with add & norm, and the scores of start and end."""
    x = module.below("output")(module.below("intermediate")(encoder_output), encoder_output)
    return module.below("qa_outputs")(x)


def question_answering(
    module: Evaluator, input_ids: Tensor, question_lengths: Given = None, **given: Any
) -> dict[str, Any]:
    """Score each token as the answer's start and end; the question's tokens are out of the race.

    The question ends with the first separator. The first token stays: it stands for no answer.
    """
    if question_lengths is not None:
        raise NoRecomputationError("the recomputation needs a separator to find the question")
    ends = (input_ids == module.setting_value("sep_token_id")).int().argmax(-1, keepdim=True)
    places = torch.arange(input_ids.shape[1])[None]
    asked = (places <= ends) & (places > 0)
    if given.get("token_type_ids") is None:
        given["token_type_ids"] = (places > ends).long()
    base = base_of(module, input_ids, **given)
    scores = module.below("qa_classifier")(base["last_hidden_state"])
    scores = scores - _OUT_OF_THE_RACE * asked[..., None].to(scores.dtype)
    return base | {"start_logits": scores[..., 0], "end_logits": scores[..., 1]}
