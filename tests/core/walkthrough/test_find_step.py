"""In which step of a walk a module is, in models of many kinds."""

import pytest

from bertviewer.core.walkthrough.build import build_walkthrough
from bertviewer.core.walkthrough.walkthrough import find_step
from tests.core.opened import plain
from tests.core.walkthrough.small_walkthroughs import small


@pytest.mark.parametrize(
    ("family", "path", "name"),
    [
        ("bert", "encoder.layer.0.attention.self", "Multi-head self-attention"),
        ("bert", "encoder.layer.0.attention.self.query", "Multi-head self-attention"),
        ("bert", "encoder.layer.0.attention.output.dense", "Multi-head self-attention"),
        ("bert", "encoder.layer.0.attention.output.LayerNorm", "Norm"),
        ("bert", "encoder.layer.0.output.dense", "Feed-forward network"),
        ("bert", "encoder.layer.1.output.dense", "Layer 1"),
        ("bert", "encoder", "Multi-head self-attention"),
        ("bert", "pooler.dense", "Pooler"),
        ("gpt2", "h.0.attn.c_attn", "Multi-head self-attention"),
        ("t5", "decoder.block.0.layer.1.EncDecAttention.k", "Multi-head cross-attention"),
        ("bart", "encoder.layers.0.fc2", "Feed-forward network"),
        ("bart", "shared", "Token embedding"),
        ("albert", "encoder.albert_layer_groups.0", "Multi-head self-attention"),
        ("mixtral", "layers.0.mlp.experts", "Experts"),
    ],
)
def test_a_module_inside_of_a_step_finds_it(family: str, path: str, name: str) -> None:
    architecture = small(family)
    step = find_step(build_walkthrough(architecture).steps, architecture, path)
    assert step is not None
    assert step.name == name


def test_without_a_flow_names_alone_tell_it() -> None:
    architecture = plain("bert-base-uncased")
    steps = build_walkthrough(architecture).steps
    step = find_step(steps, architecture, "encoder.layer.0.attention.self.query")
    assert step is not None
    assert step.path == "encoder.layer.0.attention"
    assert find_step(steps, architecture, "") is None
