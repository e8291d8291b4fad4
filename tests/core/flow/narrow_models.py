"""Narrow models of many families, and torch's own count of what they multiply."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from tests.core.formulas.formula_models import TINY

BERT = TINY["bert"]
_MOE = {**TINY["llama"], "moe_intermediate_size": 20, "num_experts_per_tok": 2}

NARROW: dict[str, dict[str, Any]] = {
    **TINY,
    **dict.fromkeys(("fnet", "rembert"), BERT),
    "roformer": {**BERT, "embedding_size": 16},
    "esm": {**BERT, "pad_token_id": 0},
    "squeezebert": {**BERT, "embedding_size": 24, "num_attention_heads": 4},
    "mobilebert": {**BERT, "embedding_size": 16, "intra_bottleneck_size": 12},
    "deberta": {**BERT, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "convbert": {**BERT, "embedding_size": 16, "num_attention_heads": 4},
    "longformer": {**BERT, "attention_window": 4},
    "xlnet": {"vocab_size": 97, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 40},
    "funnel": {
        **{"architectures": ["FunnelModel"], "block_sizes": [1, 1], "num_decoder_layers": 1},
        **{"vocab_size": 97, "d_model": 24, "n_head": 3, "d_head": 8, "d_inner": 40},
    },
    "mamba": {"vocab_size": 97, "hidden_size": 24, "num_hidden_layers": 2, "state_size": 4},
    "mixtral": {**TINY["llama"], "num_local_experts": 4},
    "qwen3_moe": {**_MOE, "num_experts": 4, "head_dim": 8},
    "switch_transformers": {
        **{"vocab_size": 97, "d_model": 24, "d_kv": 8, "d_ff": 40, "num_heads": 3},
        **{"num_layers": 2, "num_decoder_layers": 2, "num_experts": 4, "expert_capacity": 3},
        **{"num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1},
    },
}


@contextmanager
def counted_by_torch(model: nn.Module) -> Iterator[dict[str, int]]:
    """Fill a dict with the FLOPs of each module that torch saw a product in."""
    found: dict[str, int] = {}
    # Done in steps, attention is seen by torch's counter; the CPU's fused kernel hides it.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        yield found
    name = type(model).__name__
    for path, flops in counter.get_flop_counts().items():
        found[path.removeprefix(name).removeprefix(".")] = sum(flops.values())


def is_known_to_torch(module: nn.Module) -> bool:
    """Tell whether torch's counter sees a module's calls.

    What only holds others is not called, and SqueezeBERT calls its layers' ``forward()``.
    """
    return not isinstance(module, nn.ModuleList | nn.ModuleDict) and (
        type(module).__name__ != "SqueezeBertModule"
    )
