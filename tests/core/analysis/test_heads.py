import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bertviewer.core.analysis.heads import HeadLayout, Part, head_layout, recorded_heads
from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source

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
    query = recorded_heads(architecture, f"{attention}.self.query", (1, 9, 768), is_output=True)
    assert query == HeadLayout("columns", ("query",), 12, 64)
    dense = f"{attention}.output.dense"
    assert recorded_heads(architecture, dense, (1, 9, 768), is_output=False) == HeadLayout(
        "columns", ("output",), 12, 64
    )
    assert recorded_heads(architecture, dense, (1, 9, 768), is_output=True) is None
    probabilities = recorded_heads(architecture, f"{attention}.self", (1, 12, 9, 9), is_output=True)
    assert probabilities == HeadLayout("matrices", ("head",), 12, 1)
    assert recorded_heads(architecture, f"{attention}.self", (1, 1, 9, 9), is_output=False) is None
    assert recorded_heads(architecture, "pooler", (1, 768), is_output=True) is None


SMALL = {
    **{"vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4},
    **{"intermediate_size": 40, "max_position_embeddings": 40, "pad_token_id": 0},
    **{"initializer_range": 0.3},
}
GPT = {"vocab_size": 60, "n_embd": 32, "n_layer": 1, "n_head": 4, "n_positions": 40}
MPT = {"vocab_size": 60, "d_model": 32, "n_layers": 1, "n_heads": 4, "max_seq_len": 40}
FUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "bloom": ("query_key_value", {"vocab_size": 60, "hidden_size": 32, "n_layer": 1, "n_head": 4}),
    "deberta": ("in_proj", {**SMALL, "relative_attention": True, "pos_att_type": ["c2p"]}),
    "falcon": ("query_key_value", SMALL),
    "falcon groups": (
        "query_key_value",
        {**SMALL, "new_decoder_architecture": True, "num_kv_heads": 2},
    ),
    "gpt_bigcode": ("c_attn", GPT),
    "gpt_bigcode all": ("c_attn", {**GPT, "multi_query": False}),
    "gpt_neox": ("query_key_value", SMALL),
    "modernbert": ("Wqkv", SMALL),
    "mpt": ("Wqkv", MPT),
    "openai-gpt": ("c_attn", GPT),
    "phi3": ("qkv_proj", {**SMALL, "num_key_value_heads": 2}),
}


@pytest.mark.parametrize("kind", FUSED)
def test_the_heads_of_fused_weights_are_those_that_the_model_reads(
    kind: str, tmp_path: Path
) -> None:
    name, values = FUSED[kind]
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"model_type": kind.split(maxsplit=1)[0], **values}))
    architecture = open_model(parse_source(str(file))).architecture
    tensor = next(t for t in architecture.parameters if t.name.endswith(f".{name}.weight"))
    layout = head_layout(architecture, tensor)
    assert layout is not None
    assert (layout.parts, layout.heads) == (STACKED, 4)
    config = transformers.AutoConfig.from_pretrained(tmp_path)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.AutoModel.from_config(config, attn_implementation="eager").eval()
    weight = model.get_parameter(tensor.name)

    def looked_at() -> Any:
        with torch.no_grad():
            given = model(input_ids=torch.arange(5, 12)[None], output_attentions=True)
        return given.attentions[0][0]

    before = looked_at()
    for part, head in ((part, head) for part in range(3) for head in range(4)):
        rows = slice(*layout.span(part, head))
        place = rows if layout.axis == "rows" else (slice(None), rows)
        kept = weight.data.clone()
        weight.data[place] += torch.randn(
            weight.data[place].shape, generator=torch.Generator().manual_seed(1)
        )
        moved = [
            not torch.allclose(*pair, atol=1e-6) for pair in zip(looked_at(), before, strict=True)
        ]
        weight.data.copy_(kept)
        shared = 4 // layout.heads_of(part)
        same = [other // shared == head // shared for other in range(4)]
        assert moved == (same if part < 2 else [False] * 4)


def test_fused_weights_in_an_order_of_their_own_have_no_heads(tmp_path: Path) -> None:
    # CodeGen's rows are in four groups, and values come before keys.
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"model_type": "codegen", **GPT, "rotary_dim": 4}))
    architecture = open_model(parse_source(str(file))).architecture
    tensor = next(t for t in architecture.parameters if t.name.endswith(".qkv_proj.weight"))
    assert head_layout(architecture, tensor) is None
