"""Positions of heads in weights, and in what modules take and return."""

import json
from pathlib import Path
from typing import Any

import pytest

from bertviewer.core.analysis.heads import HeadLayout, Part, head_layout, recorded_heads
from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.sources.parsing import parse_source
from tests.core.opened import plain

QKV: tuple[Part, ...] = ("query", "key", "value")
BERT, GPT2 = "encoder.layer.3.attention.", "h.0.attn."
DISTILBERT = "transformer.layer.0.attention."
ALBERT = "encoder.albert_layer_groups.0.albert_layers.0.attention."
TRANSFORMER = "transformer.decoder.layers.0.multihead_attn."


@pytest.mark.parametrize(
    ("name", "count", "expected"),
    [
        (
            "bert-base-uncased",
            12 * 7,
            {
                **{
                    f"{BERT}self.{part}.weight": HeadLayout("rows", (part,), 12, 64) for part in QKV
                },
                **{f"{BERT}self.{part}.bias": HeadLayout("rows", (part,), 12, 64) for part in QKV},
                f"{BERT}output.dense.weight": HeadLayout("columns", ("output",), 12, 64),
                f"{BERT}output.dense.bias": None,
            },
        ),
        (
            "gpt2",
            12 * 3,
            {
                f"{GPT2}c_attn.weight": HeadLayout("columns", QKV, 12, 64),
                f"{GPT2}c_proj.weight": HeadLayout("rows", ("output",), 12, 64),
            },
        ),
        (
            "transformer-base",
            18 * 3,
            {
                f"{TRANSFORMER}in_proj_weight": HeadLayout("rows", QKV, 8, 64),
                f"{TRANSFORMER}out_proj.weight": HeadLayout("columns", ("output",), 8, 64),
            },
        ),
        (
            "distilbert-base-uncased",
            6 * 7,
            {
                f"{DISTILBERT}v_lin.bias": HeadLayout("rows", ("value",), 12, 64),
                f"{DISTILBERT}out_lin.weight": HeadLayout("columns", ("output",), 12, 64),
            },
        ),
        (
            "albert-base-v2",
            7,
            {
                f"{ALBERT}key.weight": HeadLayout("rows", ("key",), 12, 64),
                f"{ALBERT}dense.weight": HeadLayout("columns", ("output",), 12, 64),
            },
        ),
    ],
)
def test_heads_in_the_weights_of_presets(
    name: str, count: int, expected: dict[str, HeadLayout | None]
) -> None:
    architecture = plain(name)
    found = {tensor.name: head_layout(architecture, tensor) for tensor in architecture.parameters}
    assert {tensor: found[tensor] for tensor in expected} == expected
    assert sum(layout is not None for layout in found.values()) == count


def test_parts_of_a_fused_tensor_follow_one_another() -> None:
    layout = HeadLayout("columns", QKV, 12, 64)
    assert layout.span(0, 5) == (320, 384)
    assert layout.span(1, 0) == (768, 832)
    assert layout.span(2, 11) == (2240, 2304)
    for part, head in ((3, 0), (0, 12), (-1, 0), (0, -1)):
        with pytest.raises(IndexError):
            layout.span(part, head)


def test_heads_in_recorded_inputs_and_outputs() -> None:
    architecture = plain("bert-base-uncased")
    attention, dense = "encoder.layer.0.attention.self", "encoder.layer.0.attention.output.dense"
    rows, scores = (1, 9, 768), (1, 12, 9, 9)
    query = HeadLayout("columns", ("query",), 12, 64)
    output = HeadLayout("columns", ("output",), 12, 64)
    for path, shape, is_output, expected in (
        (f"{attention}.query", rows, True, query),
        (dense, rows, False, output),
        (dense, rows, True, None),
        (attention, scores, True, HeadLayout("matrices", ("head",), 12, 1)),
        (attention, (1, 1, 9, 9), False, None),
        ("pooler", (1, 768), True, None),
    ):
        found = recorded_heads(architecture, path, shape, is_output=is_output)
        assert found == expected, (path, is_output)


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


def fused_tensor(
    folder: Path, name: str, values: Any, owner: str
) -> tuple[Architecture, TensorInfo]:
    """Open a small model, and return its first tensor of modules with a name."""
    file = folder / "config.json"
    file.write_text(json.dumps({"model_type": name.split(maxsplit=1)[0], **values}))
    architecture = open_model(parse_source(str(file))).architecture
    tensors = (t for t in architecture.parameters if t.name.endswith(f".{owner}.weight"))
    return architecture, next(tensors)


@pytest.mark.parametrize("name", FUSED)
def test_changed_rows_of_fused_weights_change_the_attention_of_their_heads(
    name: str, tmp_path: Path
) -> None:
    owner, values = FUSED[name]
    architecture, tensor = fused_tensor(tmp_path, name, values, owner)
    layout = head_layout(architecture, tensor)
    assert layout is not None
    assert (layout.parts, layout.heads) == (QKV, 4)
    config = transformers.AutoConfig.from_pretrained(tmp_path)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.AutoModel.from_config(config, attn_implementation="eager").eval()
    weight = model.get_parameter(tensor.name)

    def attention() -> Any:
        with torch.no_grad():
            output = model(input_ids=torch.arange(5, 12)[None], output_attentions=True)
        return output.attentions[0][0]

    before = attention()
    for part, head in ((part, head) for part in range(3) for head in range(4)):
        span = slice(*layout.span(part, head))
        place = span if layout.axis == "rows" else (slice(None), span)
        kept = weight.data.clone()
        noise = torch.Generator().manual_seed(1)
        weight.data[place] += torch.randn(weight.data[place].shape, generator=noise)
        changed = [
            not torch.allclose(*pair, atol=1e-6) for pair in zip(attention(), before, strict=True)
        ]
        weight.data.copy_(kept)
        shared = 4 // layout.heads_of(part)
        same = [other // shared == head // shared for other in range(4)]
        assert changed == (same if part < 2 else [False] * 4)


def test_fused_weights_in_another_order_have_no_heads(tmp_path: Path) -> None:
    # CodeGen's rows are in four groups, and values come before keys.
    values = {**GPT, "rotary_dim": 4}
    assert head_layout(*fused_tensor(tmp_path, "codegen", values, "qkv_proj")) is None
