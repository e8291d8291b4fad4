"""Formulas of multiply-adds are never wrong inside of their domain, which says where they end."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta
from bertviewer.core.expressions.evaluation import all_met, names_in_conditions
from bertviewer.core.schema.costs import Costs
from bertviewer.core.sources.model_source import find_task
from bertviewer.core.symbolic.costs import derive_costs
from tests.tools.fresh import try_costs

SMALL = {"hidden_size": 48, "num_attention_heads": 4, "intermediate_size": 40, "vocab_size": 60}
FAMILIES: Mapping[str, Mapping[str, Any]] = {
    "bert": {**SMALL, "num_hidden_layers": 2},
    "electra": {**SMALL, "num_hidden_layers": 2, "embedding_size": 16},
    "modernbert": {**SMALL, "num_hidden_layers": 4, "pad_token_id": 0, "bos_token_id": 1,
                   "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2},
}  # fmt: skip


def build(values: Mapping[str, Any]) -> nn.Module:
    return build_on_meta(build_config(values, "test"), find_task("base"), "test")


@cache
def derived(family: str) -> tuple[dict[str, Any], Costs]:
    config = build_config({"model_type": family, **FAMILIES[family]}, "test").to_dict()
    return config, derive_costs(config, build)


@pytest.mark.parametrize("family", FAMILIES)
def test_none_is_wrong_on_configurations_that_no_fit_has_seen(family: str) -> None:
    config, costs = derived(family)
    tried = try_costs(config, costs, build, "tests", 8)
    assert tried.configurations == 8
    assert tried.evaluations > 100
    assert [str(mistake) for mistake in tried.mistakes] == []
    # They hold for every sentence, or are no formulas.
    assert names_in_conditions(costs.domain).isdisjoint({"B", "S", "S_d"})
    assert names_in_conditions(costs.domain) <= costs.names
    assert Costs.from_json(json.loads(json.dumps(costs.to_json()))) == costs


@pytest.mark.parametrize(
    ("family", "inside", "outside"),
    [
        # 49 features for 4 heads: each has 12, and one is lost.
        ("bert", {"D": 56, "A": 4}, {"D": 49, "A": 4}),
        # The projection between the two widths is there where they differ.
        ("electra", {"D": 48, "A": 4, "E": 20}, {"D": 48, "A": 4, "E": 48}),
        # Rotary positions turn the halves of a head, and one number has none.
        ("modernbert", {"D": 56, "A": 4}, {"D": 4, "A": 4}),
    ],
)
def test_a_domain_says_where_they_end(
    family: str, inside: dict[str, int], outside: dict[str, int]
) -> None:
    _, costs = derived(family)
    assert all_met(costs.domain, inside)
    assert not all_met(costs.domain, outside)


def test_documents_of_before_have_no_domain() -> None:
    _, costs = derived("bert")
    data = costs.to_json()
    assert data.pop("domain") == "D % A == 0"
    assert Costs.from_json(data).domain is None


class Tiny(nn.Module):
    """A layer whose heads turn half of their features, and layers with parts for some of them."""

    class Config:
        is_encoder_decoder = False
        pad_token_id = 0

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__()
        self.config = self.Config()
        width, self.heads = values["hidden_size"], values["num_attention_heads"]
        self.embedding = nn.Embedding(50, width)
        self.turn = nn.Linear(width, width)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(values["num_layers"]))
        for place in values["routed_layers"]:
            self.layers[place] = nn.Sequential(nn.Linear(width, 7), nn.Linear(7, width))
        shared = values["shared_size"]
        self.shared = nn.Linear(width, shared) if shared else None

    def forward(self, input_ids: Tensor, return_dict: bool = True) -> Tensor:
        del return_dict
        x: Tensor = self.embedding(input_ids)
        heads = self.turn(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        half = heads[..., : heads.shape[-1] // 2]
        x = x + (half @ half.transpose(-1, -2)).sum(dim=(1, 2))[..., None]
        for layer in self.layers:
            x = layer(x)
        return x if self.shared is None else self.shared(x)


def tiny(values: Mapping[str, Any]) -> nn.Module:
    with torch.device("meta"):
        return Tiny(values)


@pytest.mark.parametrize(
    ("changed", "condition"),
    [
        ({"shared_size": 0}, "shared_size == 0"),
        ({"routed_layers": [1]}, "routed_layers_0 == 1"),
        ({"routed_layers": [0, 2]}, "routed_layers_1 == 2"),
        # As many heads of keys and values are no reason: one feature has no half.
        ({"num_key_value_heads": 4}, "D % (2*A) == 0"),
    ],
)
def test_what_switches_parts_on_is_in_the_domain(
    changed: Mapping[str, Any], condition: str
) -> None:
    config = {
        "hidden_size": 32,
        "num_attention_heads": 4,
        "num_layers": 3,
        "routed_layers": [],
        "shared_size": 5,
        **changed,
    }
    costs = derive_costs(config, tiny)
    conditions = (costs.domain or "").split(" and ")
    assert condition in conditions
    assert not any("A_kv" in text for text in conditions)
    tried = try_costs(config, costs, tiny, "switches", 10)
    assert tried.evaluations > 20
    assert [str(mistake) for mistake in tried.mistakes] == []
