"""Small models on the meta device, traces of their forward passes, and readers of these."""

import json
from functools import cache, cached_property
from typing import Any

from bertviewer.core.building.backend import transformers
from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta
from bertviewer.core.graph.flow_reader import FlowReader
from bertviewer.core.graph.trace import Trace
from bertviewer.core.graph.tracing_models import meta_trace
from bertviewer.core.loading.meta_model import inspect_module
from bertviewer.core.schema.flow import Flow, Node
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.model_source import find_task
from tests.core.formulas.formula_models import OTHERS
from tests.core.walkthrough.small_walkthroughs import SMALL

LENGTHS = {"B": 1, "S": 12, "S_d": 7}


def config_of(name: str, **changes: Any) -> dict[str, Any]:
    """Return a small configuration of a family."""
    return {"model_type": name, **{**SMALL, **OTHERS}.get(name, {}), **changes}


class MetaModel:
    """A model on the meta device, its structure, and the trace of its forward pass."""

    def __init__(self, config: dict[str, Any], task: str) -> None:
        self.config: dict[str, Any] = transformers.AutoConfig.for_model(**config).to_dict()
        self.task = find_task(task)
        self.module = build_on_meta(build_config(self.config, "small"), self.task, "small")
        # Before the trace, in which BigBird replaces modules.
        source = SourceInfo("preset", "small", task, "none")
        self.architecture = inspect_module(self.module, source, self.config)

    @cached_property
    def trace(self) -> Trace:
        trace = meta_trace(self.module, LENGTHS)
        assert trace.stopped is None
        return trace

    @cached_property
    def reader(self) -> FlowReader:
        return FlowReader(self.trace)


def meta_model(family: str, task: str = "base", **changes: Any) -> MetaModel:
    """Return a small model of a family, the same one in all tests."""
    return _meta_model(json.dumps(config_of(family, **changes)), task)


@cache
def _meta_model(config: str, task: str) -> MetaModel:
    return MetaModel(json.loads(config), task)


def reader_of(family: str, task: str = "base", **changes: Any) -> FlowReader:
    """Return the reader of a small model's flows."""
    return meta_model(family, task, **changes).reader


def parsed_heading(heading: str) -> tuple[str, str, dict[str, Any]]:
    """Return family, task and changes of a heading such as ``bert masked-lm hidden_size=32``."""
    family, *words = heading.split()
    changes = dict(word.split("=", 1) for word in words if "=" in word)
    task = next((word for word in words if "=" not in word), "base")
    return family, task, {key: json.loads(value) for key, value in changes.items()}


def operations(flow: Flow) -> list[str]:
    """Return the operations of a flow's nodes, in order; ``?`` for called modules."""
    return [node.operation or "?" for node in flow.nodes if node.kind not in ("input", "output")]


def node_of(flow: Flow, name: str) -> Node:
    """Return the only node with a name."""
    (found,) = (node for node in flow.nodes if node.name == name)
    return found


def assert_in_order(trace: Trace) -> None:
    """Check that operations read only values that exist, and that calls are nested."""
    assert [call.path for call in trace.calls if call.above is None] == [""]
    made = {number for number, value in enumerate(trace.values) if value.kind != "result"}
    for operation in trace.operations:
        assert made.issuperset(operation.reads)
        made.update(operation.makes)
    for call in trace.calls:
        assert made.issuperset(value for _, value in (*call.inputs, *call.outputs))
        if call.above is not None:
            above = trace.calls[call.above]
            assert above.start <= call.start <= call.stop <= above.stop
            assert call.path.startswith(above.path)
