"""Shapes in a flow are written in letters, and right for models with other numbers."""

from typing import Any

import pytest

from bertviewer.core.building.backend import transformers
from bertviewer.core.building.configurations import plain_config
from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.graph.flow_reader import FlowReader
from bertviewer.core.graph.tracing_models import meta_trace
from bertviewer.core.loading.deriving import builder, with_costs, with_counts, with_flows
from bertviewer.core.loading.meta_model import inspect_module
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Flow, Node
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.progress import no_progress
from tests.core.graph.readers import config_of


def _derived(source: ModelSource, config: dict[str, Any]) -> Architecture:
    model = builder(source)(config)
    plain = plain_config(model.config, source.name)
    architecture = inspect_module(model, SourceInfo("config", "small", "base", "none"), plain)
    for derive in (with_counts, with_costs, with_flows):
        architecture = derive(architecture, source, no_progress)
    return architecture


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5"])
def test_letters_give_the_shapes_of_a_model_that_they_were_not_found_on(name: str) -> None:
    source = parse_source("bert-base-uncased")  # its task alone is asked for
    config = transformers.AutoConfig.for_model(**config_of(name)).to_dict()
    architecture = _derived(source, config)
    flows = architecture.flows
    assert flows is not None
    values = {symbol.name: symbol.value for symbol in architecture.symbols} | {
        "B": 3, "S": 11, "S_d": 6,
    }  # fmt: skip
    model = builder(source)(config)
    other = FlowReader(meta_trace(model, {"B": 3, "S": 11, "S_d": 6}))
    tried = 0
    for path, flow in flows.distinct.items():
        for node, real in zip(_ends(flow), _ends(other.flow(path)), strict=True):
            assert node.symbolic_shape is not None, (path, node.name)
            found = tuple(evaluate(size, values) for size in node.symbolic_shape)
            assert found == real.shape, (path, node.name)
            tried += 1
    assert tried > 20


def _ends(flow: Flow) -> list[Node]:
    return [node for node in flow.nodes if node.kind in ("module", "output")]
