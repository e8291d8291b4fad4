"""Tiny models with the flows of their modules."""

from functools import cache
from typing import Any

from msgspec.structs import replace

from bertviewer.core.building.backend import transformers
from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta
from bertviewer.core.formulas.catalogue import with_formulas
from bertviewer.core.graph.flow_reader import FlowReader
from bertviewer.core.graph.tracing_models import meta_trace
from bertviewer.core.loading.meta_model import inspect_module
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.model_source import find_task
from tests.core.graph.readers import LENGTHS, config_of


@cache
def traced(name: str, task: str = "base") -> Architecture:
    """Return a small model of a family with its flows."""
    return with_flows(config_of(name), task)


def with_flows(config: dict[str, Any], task: str = "base") -> Architecture:
    """Return a model with its flows and all formulas."""
    default = transformers.AutoConfig.for_model(**config).to_dict()
    model = build_on_meta(build_config(default, "small"), find_task(task), "small")
    source = SourceInfo("preset", "small", task, "none")
    architecture = inspect_module(model, source, default)
    trace = meta_trace(model, LENGTHS)
    assert trace.stopped is None
    flows = FlowReader(trace, architecture).flows(LENGTHS)
    return with_formulas(replace(architecture, flows=flows))
