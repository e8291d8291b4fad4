"""Flows of small models of well-known families."""

from bertviewer.core.schema.flow import Flow
from tests.core.walkthrough.small_walkthroughs import small

REAL = {
    "bert layer": ("bert", "encoder.layer.0"),
    "gpt2 block": ("gpt2", "h.0"),
    "llama layer": ("llama", "layers.0"),
    "mixtral layer": ("mixtral", "layers.0"),
    "t5 decoder block": ("t5", "decoder.block.0"),
    "deberta attention": ("deberta-v2", "encoder.layer.0.attention"),
    "bert": ("bert", ""),
    "t5": ("t5", ""),
}
"""Family and module by name."""


def real_flow(family: str, path: str = "") -> Flow:
    """Return the flow of a module of a small model."""
    flows = small(family).flows
    assert flows is not None
    flow = flows.flow(path)
    assert flow is not None
    return flow
