"""Symbolic shapes of a graph, compared with the shapes of a model with other lengths."""

from typing import Any

import pytest

from bertviewer.core.building.backend import transformers
from bertviewer.core.building.configurations import plain_config
from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.graph.flow_reader import FlowReader
from bertviewer.core.graph.tracing_models import meta_trace
from bertviewer.core.loading.deriving import builder, with_costs, with_counts, with_flows
from bertviewer.core.loading.meta_model import inspect_module
from bertviewer.core.schema.flow import Flow, Node
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.progress import no_progress
from tests.core.graph.readers import config_of

LENGTHS = {"B": 3, "S": 11, "S_d": 6}


def results(flow: Flow) -> list[Node]:
    return [node for node in flow.nodes if node.kind in ("module", "output")]


@pytest.mark.parametrize(
    ("name", "changes"), [("llama", {}), ("t5", {"num_layers": 1, "num_decoder_layers": 1})]
)
def test_symbolic_shapes_are_those_of_other_lengths(name: str, changes: dict[str, Any]) -> None:
    source = parse_source("bert-base-uncased")  # only its task is used
    config = transformers.AutoConfig.for_model(**config_of(name, **changes)).to_dict()
    model = builder(source)(config)
    info = SourceInfo("config", "small", "base", "none")
    architecture = inspect_module(model, info, plain_config(model.config, source.name))
    for derive in (with_counts, with_costs, with_flows):
        architecture = derive(architecture, source, no_progress)
    assert architecture.flows is not None
    values = architecture.symbol_values | LENGTHS
    other = FlowReader(meta_trace(model, LENGTHS))
    compared = 0
    for path, flow in architecture.flows.distinct.items():
        for node, real in zip(results(flow), results(other.flow(path)), strict=True):
            assert node.symbolic_shape is not None, (path, node.name)
            found = tuple(evaluate(size, values) for size in node.symbolic_shape)
            assert found == real.shape, (path, node.name)
            compared += 1
    assert compared > 20
