"""Derived costs, against what torch counts and allocates in models that no fit has seen."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta, build_random
from bertviewer.core.expressions.symbols import symbols_of
from bertviewer.core.runs.macs import RunCounter
from bertviewer.core.schema.costs import Costs
from bertviewer.core.sources.configuration import read_configuration
from bertviewer.core.sources.model_source import find_task
from bertviewer.core.sources.presets import find_preset
from bertviewer.core.symbolic.costs import derive_costs
from bertviewer.core.util.errors import Cancelled
from tests.tools.small_models import shallow

# No fit and no proof uses these.
UNSEEN = {
    **{"vocab_size": 71, "max_position_embeddings": 53, "n_positions": 53, "type_vocab_size": 2},
    **{"num_hidden_layers": 5, "n_layers": 5, "n_layer": 5},
    **{"num_encoder_layers": 4, "num_decoder_layers": 3},
    **{"num_attention_heads": 5, "n_heads": 5, "n_head": 5, "nhead": 5},
    **{"hidden_size": 60, "dim": 60, "n_embd": 60, "d_model": 60, "embedding_size": 60},
    **{"intermediate_size": 77, "hidden_dim": 77, "dim_feedforward": 77},
    **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "sep_token_id": 2},
}


def derived(config: Mapping[str, Any], task: str = "base") -> tuple[Costs, dict[str, int]]:
    """Return a configuration's costs, and the values of its letters."""

    def build(values: Mapping[str, Any]) -> nn.Module:
        return build_on_meta(build_config(values, "test"), find_task(task), "test")

    plain = build_config(config, "test").to_dict()
    found = derive_costs(plain, build)
    letters = {symbol.name: symbol.value for symbol in symbols_of(plain)}
    return found, {**letters, **{symbol.name: symbol.value for symbol in found.symbols}}


def run_inputs(model: Any, **sizes: int) -> dict[str, Any]:
    """Return what a model of UNSEEN's size is run with."""
    batch, tokens, target = sizes["B"], sizes["S"], sizes["S_d"]
    inputs: dict[str, Any] = {"input_ids": torch.full((batch, tokens), 7)}
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = torch.full((batch, target), 7)
    else:
        inputs["attention_mask"] = torch.ones(batch, tokens, dtype=torch.long)
    return inputs


def counted_by_path(model: nn.Module, inputs: Mapping[str, Any]) -> dict[str, int]:
    """Return the FLOPs that torch counts in each module."""
    # Done in steps, attention is seen by torch's counter; the CPU's fused kernel hides it.
    with (
        torch.inference_mode(),
        sdpa_kernel(SDPBackend.MATH),
        FlopCounterMode(display=False) as counter,
    ):
        model(**inputs)
    root = type(model).__name__
    return {
        path.removeprefix(root).removeprefix("."): sum(flops_by_operation.values())
        for path, flops_by_operation in counter.get_flop_counts().items()
        if path != "Global"
    }


def is_called(model: nn.Module, path: str) -> bool:
    """Tell whether a module is not one that only holds others, which torch counts nothing for."""
    return type(model.get_submodule(path)) not in (nn.ModuleList, nn.ModuleDict)


def unseen_model(config: Mapping[str, Any], task: str) -> Any:
    changed = {key: UNSEEN.get(key, value) for key, value in config.items()}
    model: Any = build_random(build_config(changed, "unseen"), find_task(task), "unseen")
    model.set_attn_implementation("eager")
    model.config.pad_token_id = 0  # GPT-2 classifies several sentences only with one
    return model


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("bert-base-uncased", "pretraining"),
        ("distilbert-base-uncased", "question-answering"),
        ("albert-base-v2", "masked-lm"),
        ("gpt2", "sequence-classification"),
        ("transformer-base", "base"),
    ],
)
def test_presets_with_their_heads_cost_what_torch_counts(name: str, task: str) -> None:
    preset = find_preset(name)
    assert preset is not None
    config = shallow(read_configuration(preset), 6)
    costs, values = derived(config, task)
    assert not costs.reason
    assert all(module.macs is not None for module in costs.modules.values())
    model = unseen_model(config, task)
    values |= {symbol.name: symbol.value for symbol in symbols_of(model.config.to_dict())}
    for sizes in ({"B": 3, "S": 19, "S_d": 11}, {"B": 1, "S": 41, "S_d": 5}):
        values |= sizes
        inputs = run_inputs(model, **sizes)
        counted = counted_by_path(model, inputs)
        assert counted[""]
        counter = RunCounter(model)
        with torch.no_grad(), counter.counting():
            model(**inputs)
        # What a run counts is a third way to the same numbers.
        for path, found in counter.macs().items():
            assert costs.macs(path, values) == (found.count or 0), path
            if is_called(model, path):
                # torch names no module in which it counted nothing.
                assert counted.get(path, 0) == 2 * (found.count or 0), path


def test_bert_base_at_128_tokens() -> None:
    costs, values = derived({"model_type": "bert"})
    root = costs.modules[""]
    assert root.macs == "N*B*S*(4*D**2 + 2*D*I + 2*S*D) + B*D**2"
    assert (root.input_shape, root.output_shape) == (("B", "S"), ("B", "S", "D"))
    assert (values["B"], values["S"]) == (1, 128)
    assert costs.macs("", values) == 11_174_215_680
    query = costs.modules["encoder.layer.7.attention.self.query"]
    assert query.macs == "B*S*D**2"
    assert query.output_shape == ("B", "S", "D")
    assert costs.modules["encoder.layer.7.attention.self"].macs == "B*S*(3*D**2 + 2*S*D)"
    assert costs.modules["encoder.layer.7.output.LayerNorm"].macs == "0"
    layers = costs.modules["encoder.layer"]
    assert layers.macs == "N*B*S*(4*D**2 + 2*D*I + 2*S*D)"
    assert layers.output_shape is None
    assert costs.variables["A"] == "A"
    assert not costs.peak_fixed


def test_a_shared_layer_counts_at_each_call() -> None:
    sizes = {"hidden_size": 24, "num_attention_heads": 4, "intermediate_size": 40}
    costs, values = derived({"model_type": "albert", "num_hidden_layers": 3, **sizes})
    query = "encoder.albert_layer_groups.0.albert_layers.0.attention.query"
    assert costs.modules[query].macs == "N*B*S*D**2"
    # More groups share the calls out, which is no formula of the groups.
    assert "G" not in costs.variables
    peak = costs.peak_elements(values)
    assert peak
    assert costs.peak_elements({**values, "inner_group_num": 2}) is None


def test_experts_cost_what_each_token_asks_of_them() -> None:
    sizes = {"hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    config = {"model_type": "mixtral", **sizes, **heads, "vocab_size": 60, "pad_token_id": 0}
    costs, values = derived(config)
    # q and o, k and v; the choice among E experts; three products in each of those chosen.
    layer = "3*D*I*num_experts_per_tok + 2*D**2 + 2*A_kv*D**2//A + D*E + 2*S*D"
    assert costs.modules[""].macs == f"N*B*S*({layer})"
    real: Any = build_random(build_config(config, "test"), find_task("base"), "test")
    real.set_attn_implementation("eager")
    for tokens in (1, 9):
        counter = RunCounter(real)
        with torch.no_grad(), counter.counting():
            real(torch.full((1, tokens), 7), use_cache=False)
        assert costs.macs("", {**values, "B": 1, "S": tokens}) == counter.macs()[""].count


SMALL = {"hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 40, "vocab_size": 60}
PEAK_MODELS: dict[str, dict[str, Any]] = {
    "bert": {**SMALL, "num_attention_heads": 3, "max_position_embeddings": 64},
    "gpt2": {"n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 64, "vocab_size": 60},
}


@pytest.mark.parametrize("family", PEAK_MODELS)
def test_the_peak_is_what_the_allocator_sees(family: str) -> None:
    config = {"model_type": family, **PEAK_MODELS[family]}
    costs, values = derived(config)
    model: Any = build_random(build_config(config, "test"), find_task("base"), "test")
    model.set_attn_implementation("eager")
    for batch, tokens in ((1, 9), (3, 60)):
        elements = costs.peak_elements({**values, "B": batch, "S": tokens})
        assert elements is not None
        sizes = {"B": batch, "S": tokens, "S_d": 0}
        inputs = {**run_inputs(model, **sizes), "use_cache": False}
        # The allocator also sees a few whole numbers and masks.
        integers = 16 * batch * tokens + 4 * tokens**2
        assert 0 <= allocated_peak(model, inputs) - 4 * elements <= integers


def allocated_peak(model: nn.Module, inputs: Mapping[str, Any]) -> int:
    """Return the most bytes that the CPU's allocator gave out at one time."""
    with torch.no_grad():
        model(**inputs)  # what is made once is made now
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            model(**inputs)
    assert profiler.profiler is not None
    events: Any = profiler.profiler.kineto_results
    allocations = [event for event in events.events() if event.name() == "[memory]"]
    alive = most = 0
    for event in sorted(allocations, key=lambda event: event.start_ns()):
        alive += event.nbytes()
        most = max(most, alive)
    return most


def test_a_model_whose_cost_is_no_formula_has_none() -> None:
    # Its attention works in windows, so tokens are filled up to a multiple of them.
    costs, values = derived(
        {
            "model_type": "longformer",
            "attention_window": 16,
            **SMALL,
            "num_attention_heads": 4,
            "max_position_embeddings": 100,
        }
    )
    assert costs.modules[""].macs is None
    assert costs.macs("", values) is None
    assert costs.modules["pooler"].macs == "B*D**2"
    # The root says why, and so does each module below that has none.
    query = "encoder.layer.0.attention.self.query"
    why = costs.reason_for(query)
    assert why == (
        "no formula fits the sizes of its products, which vary with B, S, D, attention_window"
    )
    assert costs.reason_for("") == f"{query}: {why}"
    for path, module in costs.modules.items():
        assert bool(module.reason) == (module.macs is None), path
    assert costs.reason_for("pooler") == ""
    assert Costs.from_json(json.loads(json.dumps(costs.to_json()))) == costs


def test_what_moves_a_product_that_no_formula_explains_is_said() -> None:
    # ConvBERT divides heads among products and kernels, which is no product of keys.
    sizes = {**SMALL, "num_attention_heads": 4, "embedding_size": 16, "num_hidden_layers": 1}
    costs, _ = derived({"model_type": "convbert", **sizes})
    kernel = "encoder.layer.0.attention.self.conv_kernel_layer"
    assert costs.modules[""].macs is None
    found = costs.reason_for("")
    assert found.startswith(f"{kernel}: no formula fits the sizes of its products, ")
    assert "head_ratio" in found


CLIP_SIZES = {
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}
CLIP = {
    "model_type": "clip",
    "text_config": {**CLIP_SIZES, "vocab_size": 60},
    "vision_config": {**CLIP_SIZES, "image_size": 16, "patch_size": 8},
}


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"model_type": "vit"}, "does not read text"),
        ({"model_type": "switch_transformers", "num_layers": 2, "d_model": 16}, "nonzero"),
        (CLIP, "the model also reads images"),
    ],
)
def test_models_that_cannot_be_run_without_values(config: dict[str, Any], reason: str) -> None:
    costs, _ = derived(config)
    assert reason in costs.reason
    assert "\n" not in costs.reason
    assert not costs.modules
    assert not costs.peak


def test_it_can_be_cancelled() -> None:
    def progress(done: int, total: int, label: str) -> None:
        if done == 3:
            raise Cancelled

    def build(values: Mapping[str, Any]) -> nn.Module:
        return build_on_meta(build_config(values, "test"), find_task("base"), "test")

    with pytest.raises(Cancelled):
        derive_costs(
            build_config(
                {"model_type": "bert", **SMALL, "num_attention_heads": 3}, "test"
            ).to_dict(),
            build,
            progress,
        )
