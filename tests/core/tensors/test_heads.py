import numpy as np
import pytest
from numpy.testing import assert_allclose

from bertviewer.core.backend import torch
from bertviewer.core.loading.opening import open_model
from bertviewer.core.source.parsing import parse_source
from bertviewer.core.tensors.heads import HeadLayout, Part, head_layout, seen_heads

ROWS = HeadLayout("rows", ("query",), 12, 64)
STACKED: tuple[Part, ...] = ("query", "key", "value")


def layouts(name: str) -> dict[str, HeadLayout | None]:
    architecture = open_model(parse_source(name)).architecture
    return {tensor.name: head_layout(architecture, tensor) for tensor in architecture.parameters}


def test_berts_heads() -> None:
    found = layouts("bert-base-uncased")
    layer = "encoder.layer.3.attention."
    for name in STACKED:
        for tensor in ("weight", "bias"):
            layout = found[f"{layer}self.{name}.{tensor}"]
            assert layout == HeadLayout("rows", (name,), 12, 64)
    assert found[f"{layer}output.dense.weight"] == HeadLayout("columns", ("output",), 12, 64)
    divided = [name for name, layout in found.items() if layout is not None]
    assert len(divided) == 12 * 7
    assert ROWS.span(0, 5) == (320, 384)


@pytest.mark.parametrize(
    ("name", "count", "fused", "layout", "output", "taken"),
    [
        (
            "gpt2", 12 * 3, "h.0.attn.c_attn.weight", HeadLayout("columns", STACKED, 12, 64),
            "h.0.attn.c_proj.weight", "rows",
        ),
        (
            "transformer-base", 18 * 3,
            "transformer.decoder.layers.0.multihead_attn.in_proj_weight",
            HeadLayout("rows", STACKED, 8, 64),
            "transformer.decoder.layers.0.multihead_attn.out_proj.weight", "columns",
        ),
        (
            "distilbert-base-uncased", 6 * 7, "transformer.layer.0.attention.v_lin.bias",
            HeadLayout("rows", ("value",), 12, 64),
            "transformer.layer.0.attention.out_lin.weight", "columns",
        ),
        (
            "albert-base-v2", 7,
            "encoder.albert_layer_groups.0.albert_layers.0.attention.key.weight",
            HeadLayout("rows", ("key",), 12, 64),
            "encoder.albert_layer_groups.0.albert_layers.0.attention.dense.weight", "columns",
        ),
    ],
)  # fmt: skip
def test_other_families_heads(
    name: str, count: int, fused: str, layout: HeadLayout, output: str, *, taken: str
) -> None:
    found = layouts(name)
    assert found[fused] == layout
    of_output = found[output]
    assert of_output is not None
    assert (of_output.axis, of_output.parts) == (taken, ("output",))
    assert sum(one is not None for one in found.values()) == count


def test_the_parts_of_a_fused_tensor_follow_one_another() -> None:
    layout = HeadLayout("columns", STACKED, 12, 64)
    assert layout.span(0, 0) == (0, 64)
    assert layout.span(1, 0) == (768, 832)
    assert layout.span(2, 11) == (2240, 2304)
    for part, head in ((3, 0), (0, 12), (-1, 0), (0, -1)):
        with pytest.raises(IndexError):
            layout.span(part, head)


def test_gpt2s_columns_are_what_a_head_asks_for() -> None:
    # GPT-2 itself: with the other columns zeroed, only this head's queries are left.
    from transformers import GPT2Config
    from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

    torch.manual_seed(0)
    attention = GPT2Attention(GPT2Config(n_embd=12, n_head=3), layer_idx=0)
    layout = HeadLayout("columns", STACKED, 3, 4)
    x = torch.randn(1, 5, 12)
    query = attention.c_attn(x).split(12, dim=2)[0].view(1, 5, 3, 4)
    for head in range(3):
        start, stop = layout.span(0, head)
        made = x @ attention.c_attn.weight[:, start:stop] + attention.c_attn.bias[start:stop]
        assert_allclose(
            made.detach().numpy(), query[:, :, head].detach().numpy(), rtol=1e-5, atol=1e-6
        )
    assert np.isfinite(made.detach().numpy()).all()


def test_heads_of_what_modules_take_and_give() -> None:
    architecture = open_model(parse_source("bert-base-uncased")).architecture
    attention = "encoder.layer.0.attention"
    query = seen_heads(architecture, f"{attention}.self.query", (1, 9, 768), is_given=True)
    assert query == HeadLayout("columns", ("query",), 12, 64)
    dense = f"{attention}.output.dense"
    assert seen_heads(architecture, dense, (1, 9, 768), is_given=False) == HeadLayout(
        "columns", ("output",), 12, 64
    )
    assert seen_heads(architecture, dense, (1, 9, 768), is_given=True) is None
    probabilities = seen_heads(architecture, f"{attention}.self", (1, 12, 9, 9), is_given=True)
    assert probabilities == HeadLayout("matrices", ("head",), 12, 1)
    assert seen_heads(architecture, f"{attention}.self", (1, 1, 9, 9), is_given=False) is None
    assert seen_heads(architecture, "pooler", (1, 768), is_given=True) is None
