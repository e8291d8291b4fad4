"""Narrow models of many families, and torch's own count of what they multiply."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from tests.core.formulas.formula_models import OTHERS, TINY
from tests.core.walkthrough.small_walkthroughs import MORE, SMALL

BERT = TINY["bert"]
_OTHERS = {**SMALL, **MORE, **OTHERS, "rembert": BERT}
NARROW: dict[str, dict[str, Any]] = {
    **TINY,
    **{
        name: _OTHERS[name]
        for name in (
            *("convbert", "fnet", "funnel", "longformer", "mamba", "mixtral", "mobilebert"),
            *("qwen3_moe", "rembert", "switch_transformers", "xlnet"),
        )
    },
}


@contextmanager
def counted_by_torch(model: nn.Module) -> Iterator[dict[str, int]]:
    """Fill a dict with the FLOPs of each module, by path."""
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
