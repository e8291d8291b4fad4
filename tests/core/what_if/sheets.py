"""Sheets of models to ask what if of, and the answers to a few changed values."""

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
from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.model_source import find_task
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.symbolic.counts import derive
from bertviewer.core.what_if.scenario import Outcome, Scenario, evaluate_scenario
from bertviewer.core.what_if.sheet import ScenarioError, Sheet

torch.set_num_threads(1)

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
def sheet_of(preset: str) -> Sheet:
    return Sheet.of(open_model(parse_source(preset)).with_formulas())


@cache
def family_sheet(model_type: str, **values: int) -> Sheet:
    """Derive the counts, and not the costs, of a family's default configuration, made shallow."""
    config = transformers.AutoConfig.for_model(model_type, **values).to_dict()
    for key in DEPTHS & config.keys():
        config[key] = 3
    task = find_task(FAMILIES[model_type])

    def build(values: Mapping[str, Any]) -> torch.nn.Module:
        return build_on_meta(build_config(values, model_type), task, model_type)

    source = SourceInfo("config", model_type, task.name, "none")
    plain = inspect_module(build(config), source, config)
    found = derive(config, build)
    return Sheet.of(
        replace(
            with_counts(plain, found.counts, found.domains),
            symbols=found.symbols,
            parameters=tuple(
                replace(tensor, symbolic_shape=found.shapes[tensor.name])
                for tensor in plain.parameters
            ),
        )
    )


def with_value(sheet: Sheet, **changed: int) -> Outcome:
    return evaluate_scenario(Scenario(sheet, changed))


def problems_of(sheet: Sheet, **changed: int) -> list[tuple[str, tuple[str, ...]]]:
    with pytest.raises(ScenarioError) as caught:
        with_value(sheet, **changed)
    return [(problem.rule, problem.names) for problem in caught.value.problems]


def with_counts(
    architecture: Architecture, counts: Mapping[str, str], domains: Mapping[str, str] | None = None
) -> Architecture:
    return replace(
        architecture,
        modules=tuple(
            replace(
                node,
                count_formula=counts.get(node.path, node.count_formula),
                domain=(domains or {}).get(node.path),
            )
            for node in architecture.modules
        ),
    )
