"""T5's bias for the distance between two positions (Raffel et al. 2020, section 2.1)."""

import torch
from torch import Tensor

from bertviewer.core.checking.evaluator import Evaluator
from bertviewer.core.formulas.templates.position_scores import bucket_of


def t5_position_bias(module: Evaluator, queries: int, keys: int) -> Tensor:
    """Return what a T5 attention adds to its scores: [1, A, S, S'], zeros where it has no table.

    Distances share buckets: near ones have one each, farther ones fall into buckets that grow
    with the logarithm of the distance; an encoder has half of the buckets for either direction.
    """
    if not module.has("relative_attention_bias"):
        heads = int(module.setting_value("num_heads"))
        return torch.zeros(1, heads, queries, keys, dtype=module.setting.arithmetic.compute)
    buckets = int(module.setting_value("relative_attention_num_buckets"))
    farthest = int(module.setting_value("relative_attention_max_distance"))
    return bucket_bias(
        module, queries, keys, buckets, farthest, is_decoder=bool(module.attribute("is_decoder"))
    )


def bucket_bias(
    module: Evaluator, queries: int, keys: int, buckets: int, farthest: int, *, is_decoder: bool
) -> Tensor:
    """Look the buckets of all distances up in the module's table: [1, A, S, S']."""
    rows = [
        [_bucket(key - query, buckets, farthest, is_decoder) for key in range(keys)]
        for query in range(queries)
    ]
    found = module.below("relative_attention_bias").rows(torch.tensor(rows))
    return found.permute(2, 0, 1)[None]


def _bucket(distance: int, buckets: int, farthest: int, is_decoder: bool) -> int:
    start = 0
    if is_decoder:
        distance = max(-distance, 0)
    else:
        buckets //= 2
        start = buckets if distance > 0 else 0
        distance = abs(distance)
    return start + bucket_of(distance, buckets, farthest)
