"""Derived multiply-adds and memory, compared with what torch counts and allocates."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta, build_random
from bertviewer.core.expressions.evaluation import all_met, names_in_conditions
from bertviewer.core.expressions.symbols import symbols_of
from bertviewer.core.runs.macs import RunCounter
from bertviewer.core.schema.costs import Costs
from bertviewer.core.sources.configuration import read_configuration
from bertviewer.core.sources.model_source import find_task
from bertviewer.core.sources.presets import find_preset
from bertviewer.core.symbolic.costs import derive_costs
from bertviewer.core.symbolic.models import Build
from bertviewer.core.util.errors import Cancelled
from tests.tools.fresh import try_costs
from tests.tools.small_models import shallow

Values = Mapping[str, Any]

# No fit and no verification uses these.
UNSEEN = {
    **{"vocab_size": 71, "max_position_embeddings": 53, "n_positions": 53, "type_vocab_size": 2},
    **{"num_hidden_layers": 2, "n_layers": 2, "n_layer": 2},
    **{"num_encoder_layers": 2, "num_decoder_layers": 1},
    **{"num_attention_heads": 5, "n_heads": 5, "n_head": 5, "nhead": 5},
    **{"hidden_size": 60, "dim": 60, "n_embd": 60, "d_model": 60, "embedding_size": 60},
    **{"intermediate_size": 77, "hidden_dim": 77, "dim_feedforward": 77},
    **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "sep_token_id": 2},
}
SMALL = {
    **{"hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 40, "vocab_size": 60},
    **{"num_attention_heads": 4, "max_position_embeddings": 64},
}
GPT2 = {"n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 64, "vocab_size": 60}


def builder(task: str = "base") -> Build:
    return lambda values: build_on_meta(build_config(values, "test"), find_task(task), "test")


def config_of(model_type: str, **values: Any) -> dict[str, Any]:
    config: dict[str, Any] = build_config({"model_type": model_type, **values}, "test").to_dict()
    return config


def derived(config: Values, task: str = "base") -> tuple[Costs, dict[str, int]]:
    """Return a configuration's costs, and the values of its symbols and of the inputs."""
    found = derive_costs(config, builder(task))
    symbols = (*symbols_of(config), *found.symbols)
    return found, {symbol.name: symbol.value for symbol in symbols}


def real_model(config: Values, task: str = "base") -> Any:
    model: Any = build_random(build_config(config, "test"), find_task(task), "test")
    model.set_attn_implementation("eager")
    model.config.pad_token_id = 0  # GPT-2 classifies several sentences only with one
    return model


def inputs_of(model: Any, **sizes: int) -> dict[str, Any]:
    inputs: dict[str, Any] = {"input_ids": torch.full((sizes["B"], sizes["S"]), 7)}
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = torch.full((sizes["B"], sizes["S_d"]), 7)
    else:
        inputs["attention_mask"] = torch.ones(sizes["B"], sizes["S"], dtype=torch.long)
    return inputs


def torch_flops(model: nn.Module, inputs: Values) -> dict[str, int]:
    """Return the FLOPs that torch counts in each module."""
    # torch's counter sees attention in steps, but not the fused kernel of the CPU.
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


def recorded_macs(model: nn.Module, inputs: Values) -> dict[str, int]:
    """Return the multiply-adds that a recorded run counts in each module."""
    counter = RunCounter(model)
    with torch.no_grad(), counter.counting():
        model(**inputs)
    return {path: found.count or 0 for path, found in counter.macs().items()}


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
def test_multiply_adds_are_half_the_flops_that_torch_counts(name: str, task: str) -> None:
    preset = find_preset(name)
    assert preset is not None
    config = build_config(shallow(read_configuration(preset)), "test").to_dict()
    costs, values = derived(config, task)
    assert not costs.reason
    assert all(module.macs is not None for module in costs.modules.values())
    model = real_model({key: UNSEEN.get(key, value) for key, value in config.items()}, task)
    values |= {symbol.name: symbol.value for symbol in symbols_of(model.config.to_dict())}
    for sizes in ({"B": 3, "S": 19, "S_d": 11}, {"B": 1, "S": 41, "S_d": 5}):
        inputs = inputs_of(model, **sizes)
        flops, recorded = torch_flops(model, inputs), recorded_macs(model, inputs)
        assert flops[""]
        for path, macs in recorded.items():
            assert costs.macs(path, {**values, **sizes}) == macs, path
            # torch counts nothing for lists, and names no module without FLOPs.
            if not isinstance(model.get_submodule(path), nn.ModuleList | nn.ModuleDict):
                assert flops.get(path, 0) == 2 * macs, path


def test_bert_base_at_128_tokens() -> None:
    costs, values = derived(config_of("bert"))
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
    costs, values = derived(config_of("albert", **SMALL | {"num_hidden_layers": 3}))
    query = "encoder.albert_layer_groups.0.albert_layers.0.attention.query"
    assert costs.modules[query].macs == "N*B*S*D**2"
    # The number of groups is in no formula: more groups divide the calls.
    assert "G" not in costs.variables
    assert costs.peak_elements(values)
    assert costs.peak_elements({**values, "inner_group_num": 2}) is None


def test_experts_cost_what_each_token_is_routed_to() -> None:
    config = config_of("mixtral", **SMALL | {"hidden_size": 32, "num_key_value_heads": 2})
    config["pad_token_id"] = 0
    costs, values = derived(config)
    # Q and O, K and V; the router of E experts; three products in each chosen expert.
    layer = "3*D*I*num_experts_per_tok + 2*D**2 + 2*A_kv*D**2//A + D*E + 2*S*D"
    assert costs.modules[""].macs == f"N*B*S*({layer})"
    model = real_model(config)
    for tokens in (1, 9):
        inputs = {"input_ids": torch.full((1, tokens), 7), "use_cache": False}
        assert costs.macs("", {**values, "B": 1, "S": tokens}) == recorded_macs(model, inputs)[""]


def allocated_peak(model: nn.Module, inputs: Values) -> int:
    """Return the most bytes that the CPU's allocator gave out at one time."""
    with torch.no_grad():
        model(**inputs)  # allocates what is kept
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


@pytest.mark.parametrize("config", [config_of("bert", **SMALL), config_of("gpt2", **GPT2)])
def test_the_peak_is_that_of_the_allocator(config: dict[str, Any]) -> None:
    costs, values = derived(config)
    model = real_model(config)
    for batch, tokens in ((1, 9), (3, 60)):
        elements = costs.peak_elements({**values, "B": batch, "S": tokens})
        assert elements is not None
        inputs = {**inputs_of(model, B=batch, S=tokens, S_d=0), "use_cache": False}
        # The allocator also sees a few integers and masks.
        integers = 16 * batch * tokens + 4 * tokens**2
        assert 0 <= allocated_peak(model, inputs) - 4 * elements <= integers


def test_a_module_without_a_formula_says_why() -> None:
    # Longformer's attention pads the tokens to a multiple of its windows.
    small = {**SMALL, "num_hidden_layers": 1, "max_position_embeddings": 100}
    costs, values = derived(config_of("longformer", **small, attention_window=16))
    assert costs.modules[""].macs is None
    assert costs.macs("", values) is None
    assert costs.modules["pooler"].macs == "B*D**2"
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
    # ConvBERT divides heads among products and kernels.
    convbert, _ = derived(config_of("convbert", **small, embedding_size=16))
    found = convbert.reason_for("")
    kernel = "encoder.layer.0.attention.self.conv_kernel_layer"
    assert found.startswith(f"{kernel}: no formula fits the sizes of its products, ")
    assert "head_ratio" in found


TOWER = {**SMALL, "num_hidden_layers": 1, "num_attention_heads": 2}


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"model_type": "vit"}, "does not read text"),
        ({"model_type": "switch_transformers", "num_layers": 2, "d_model": 16}, "nonzero"),
        (
            {
                "model_type": "clip",
                "text_config": TOWER,
                "vision_config": {**TOWER, "image_size": 16, "patch_size": 8},
            },
            "the model also reads images",
        ),
    ],
)
def test_models_that_cannot_run_on_the_meta_device(config: dict[str, Any], reason: str) -> None:
    costs, _ = derived(config_of(**config))
    assert reason in costs.reason
    assert "\n" not in costs.reason
    assert not costs.modules
    assert not costs.peak


def test_progress_can_cancel() -> None:
    def progress(done: int, total: int, label: str) -> None:
        if done == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        derive_costs(config_of("bert", **SMALL), builder(), progress)


TINY = {"hidden_size": 48, "num_attention_heads": 4, "intermediate_size": 40, "vocab_size": 60}
SPECIAL_IDS = {
    **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
    **{"cls_token_id": 1, "sep_token_id": 2},
}


@pytest.mark.parametrize(
    ("config", "inside", "outside"),
    [
        # 49 features for 4 heads: each has 12, and one is lost.
        (
            config_of("bert", **TINY, num_hidden_layers=2),
            {"D": 56, "A": 4},
            {"D": 49, "A": 4},
        ),
        # There is a projection between different widths.
        (
            config_of("electra", **TINY, num_hidden_layers=2, embedding_size=16),
            {"D": 48, "A": 4, "E": 20},
            {"D": 48, "A": 4, "E": 48},
        ),
        # Rotary positions need heads of an even size.
        (
            config_of("modernbert", **TINY, **SPECIAL_IDS, num_hidden_layers=4),
            {"D": 56, "A": 4},
            {"D": 4, "A": 4},
        ),
    ],
    ids=["bert", "electra", "modernbert"],
)
def test_costs_are_never_wrong_inside_their_domain(
    config: dict[str, Any], inside: dict[str, int], outside: dict[str, int]
) -> None:
    costs = derive_costs(config, builder())
    assert all_met(costs.domain, inside)
    assert not all_met(costs.domain, outside)
    tried = try_costs(config, costs, builder(), "tests", 8)
    assert tried.configurations == 8
    assert tried.evaluations > 100
    assert [str(mistake) for mistake in tried.mistakes] == []
    # Conditions are never on the inputs.
    assert names_in_conditions(costs.domain).isdisjoint({"B", "S", "S_d"})
    assert names_in_conditions(costs.domain) <= costs.names
    data = json.loads(json.dumps(costs.to_json()))
    assert Costs.from_json(data) == costs
    del data["domain"]  # as in documents of an older version
    assert Costs.from_json(data).domain is None


class Config:
    is_encoder_decoder = False
    pad_token_id = 0


class Routed(nn.Module):
    """A layer whose heads rotate half of their features, and layers of which some have parts."""

    def __init__(self, values: Values) -> None:
        super().__init__()
        self.config = Config()
        width, self.heads = values["hidden_size"], values["num_attention_heads"]
        self.embedding = nn.Embedding(50, width)
        self.rotate = nn.Linear(width, width)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(values["num_layers"]))
        for place in values["routed_layers"]:
            self.layers[place] = nn.Sequential(nn.Linear(width, 7), nn.Linear(7, width))
        shared = values["shared_size"]
        self.shared = nn.Linear(width, shared) if shared else None

    def forward(self, input_ids: Tensor, return_dict: bool = True) -> Tensor:
        x: Tensor = self.embedding(input_ids)
        heads = self.rotate(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        half = heads[..., : heads.shape[-1] // 2]
        x = x + (half @ half.transpose(-1, -2)).sum(dim=(1, 2))[..., None]
        for layer in self.layers:
            x = layer(x)
        return x if self.shared is None else self.shared(x)


@pytest.mark.parametrize(
    ("changed", "condition"),
    [
        ({"shared_size": 0}, "shared_size == 0"),
        ({"routed_layers": [1]}, "routed_layers_0 == 1"),
        ({"routed_layers": [0, 2]}, "routed_layers_1 == 2"),
        # One feature has no half, however many heads share keys.
        ({"num_key_value_heads": 4}, "D % (2*A) == 0"),
    ],
)
def test_conditions_on_numbers_that_select_parts(changed: Values, condition: str) -> None:
    def build(values: Values) -> nn.Module:
        with torch.device("meta"):
            return Routed(values)

    config = {
        **{"hidden_size": 32, "num_attention_heads": 4, "num_layers": 3},
        **{"routed_layers": [], "shared_size": 5, **changed},
    }
    costs = derive_costs(config, build)
    conditions = (costs.domain or "").split(" and ")
    assert condition in conditions
    assert not any("A_kv" in text for text in conditions)
    tried = try_costs(config, costs, build, "switches", 10)
    assert tried.evaluations > 20
    assert [str(mistake) for mistake in tried.mistakes] == []


class Padding(nn.Module):
    """Pads long sentences."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.dense(nn.functional.pad(x, (0, 0, 0, 8)) if x.shape[1] > 600 else x)
        return y


class Halving(Padding):
    """Reads every second token."""

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.dense(x[:, ::2])
        return y


class Parts(nn.Module):
    """An embedding, a linear layer, one part, and another linear layer."""

    def __init__(self, width: int, part: type[Padding]) -> None:
        super().__init__()
        self.config = Config()
        self.embedding = nn.Embedding(50, width)
        self.first = nn.Linear(width, width)
        self.part = part(width)
        self.last = nn.Linear(width, width)

    def forward(self, input_ids: Tensor, return_dict: bool = True) -> Tensor:
        y: Tensor = self.last(self.part(self.first(self.embedding(input_ids))))
        return y


def costs_with(part: type[Padding]) -> Costs:
    def build(values: Values) -> nn.Module:
        with torch.device("meta"):
            return Parts(values["hidden_size"], part)

    return derive_costs({"hidden_size": 24}, build)


def test_the_longest_sentence_refutes_a_formula() -> None:
    costs = costs_with(Padding)
    assert not costs.reason
    why = costs.reason_for("part.dense")
    # 1,400 tokens.
    assert why == (
        "B·S·D² gives 806,400 for B = 1, S = 1400 in a model that was tried, where 811,008 is "
        "correct"
    )
    assert costs.reason_for("part") == costs.reason_for("") == f"part.dense: {why}"
    assert costs.reason_for("embedding") == ""
    last = costs.modules["last"]
    assert last.macs is None
    assert last.reason.startswith("B·S·D² gives 806,400")


def test_a_part_without_a_formula_sets_no_conditions_for_others() -> None:
    costs = costs_with(Halving)
    assert costs.domain is None
    assert costs.modules["first"].macs == "B*S*D**2"
    assert costs.modules["part.dense"].macs is None
    assert costs.reason_for("part.dense").endswith("which vary with B, S, D")
