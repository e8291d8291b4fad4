"""Sheets of models, and outcomes for a few changed values."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
import torch
import transformers
from msgspec.structs import replace

from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta
from bertviewer.core.loading.meta_model import inspect_module
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.model_source import find_task
from bertviewer.core.symbolic.counts import derive
from bertviewer.core.what_if.scenario import Outcome, Scenario, evaluate_scenario
from bertviewer.core.what_if.sheet import ScenarioError, Sheet
from tests.core.opened import derived

FAMILIES = {
    "bert": "token-classification",
    "gpt2": "base",
    "albert": "base",
    "electra": "base",
    "distilbert": "masked-lm",
    "t5": "base",
    "bart": "base",
}
DEPTHS = {
    "num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers",
    "encoder_layers", "decoder_layers", "num_encoder_layers",
}  # fmt: skip


@cache
def bert_base() -> Sheet:
    return Sheet.of(derived("bert-base-uncased"))


@cache
def family_sheet(model_type: str, **values: int) -> Sheet:
    """Derive the counts, but not the costs, of a family's default configuration with 3 layers."""
    config = transformers.AutoConfig.for_model(model_type, **values).to_dict()
    for key in DEPTHS & config.keys():
        config[key] = 3
    task = find_task(FAMILIES.get(model_type, "base"))

    def build(values: Mapping[str, Any]) -> torch.nn.Module:
        return build_on_meta(build_config(values, model_type), task, model_type)

    source = SourceInfo("config", model_type, task.name, "none")
    plain = inspect_module(build(config), source, config)
    found = derive(config, build)
    architecture = with_counts(plain, found.counts, found.domains)
    parameters = tuple(
        replace(tensor, symbolic_shape=found.shapes[tensor.name]) for tensor in plain.parameters
    )
    return Sheet.of(replace(architecture, symbols=found.symbols, parameters=parameters))


def with_counts(
    architecture: Architecture, counts: Mapping[str, str], domains: Mapping[str, str] | None = None
) -> Architecture:
    """Replace the formulas of some modules, and the validity conditions of all."""
    modules = tuple(
        replace(
            node,
            count_formula=counts.get(node.path, node.count_formula),
            domain=(domains or {}).get(node.path),
        )
        for node in architecture.modules
    )
    return replace(architecture, modules=modules)


def outcome_of(sheet: Sheet, **changed: int) -> Outcome:
    return evaluate_scenario(Scenario(sheet, changed))


def problems_of(sheet: Sheet, **changed: int) -> list[tuple[str, tuple[str, ...]]]:
    with pytest.raises(ScenarioError) as caught:
        outcome_of(sheet, **changed)
    return [(problem.rule, problem.names) for problem in caught.value.problems]
