"""Readers of flows of tiny models, and of models as transformers builds them by default."""

from functools import cache
from typing import Any

from bertviewer.core.building.backend import transformers
from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta
from bertviewer.core.graph.flow_reader import FlowReader
from bertviewer.core.graph.tracing_models import meta_trace
from bertviewer.core.schema.flow import Flow, Node
from bertviewer.core.sources.model_source import find_task
from tests.core.formulas.formula_models import TINY
from tests.core.walkthrough.small_walkthroughs import SMALL

LENGTHS = {"B": 1, "S": 12, "S_d": 7}

_SMALL: dict[str, dict[str, Any]] = {
    **SMALL,
    "cohere2": {**TINY["llama"], "pad_token_id": 0},
    "gemma2": {**TINY["llama"], "head_dim": 6},
    "mobilebert": {"vocab_size": 97, "num_hidden_layers": 2},
}


def config_of(name: str, **changes: Any) -> dict[str, Any]:
    """Return a small configuration of a family."""
    return {"model_type": name, **_SMALL.get(name, {}), **changes}


@cache
def reader_of(name: str, task: str = "base") -> FlowReader:
    """Return the reader of a small model of a family."""
    return read(config_of(name), task)


def read(config: dict[str, Any], task: str = "base") -> FlowReader:
    """Return the reader of a model."""
    default = transformers.AutoConfig.for_model(**config).to_dict()
    model = build_on_meta(build_config(default, "small"), find_task(task), "small")
    trace = meta_trace(model, LENGTHS)
    assert trace.stopped is None
    return FlowReader(trace)


def operations(flow: Flow) -> list[str]:
    """Return what the parts of a flow compute, in order; ``?`` for what is closed."""
    return [node.operation or "?" for node in flow.nodes if node.kind not in ("input", "output")]


def node_of(flow: Flow, name: str) -> Node:
    """Return the one node of that name."""
    (found,) = (node for node in flow.nodes if node.name == name)
    return found


def takes(flow: Flow, name: str) -> dict[str, str | None]:
    """Return what a node takes: the names of those that give it, with the edges' roles."""
    names = {node.id: node.name for node in flow.nodes}
    target = node_of(flow, name).id
    return {names[edge.source]: edge.role for edge in flow.edges if edge.target == target}
