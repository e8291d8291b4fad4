"""Readers of flows of tiny models, and of models as transformers builds them by default."""

from functools import cache
from typing import Any

from bertviewer.core.architecture.flow import Flow, Node
from bertviewer.core.backend import transformers
from bertviewer.core.building.building import build_config, build_on_meta
from bertviewer.core.flow.meta_trace import meta_trace
from bertviewer.core.flow.reading import FlowReader
from bertviewer.core.source.tasks import find_task
from tests.core.formulas.formula_models import TINY

LENGTHS = {"B": 1, "S": 12, "S_d": 7}

_SMALL: dict[str, dict[str, Any]] = {
    **TINY,
    "mixtral": {
        "vocab_size": 97,
        "hidden_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 40,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "head_dim": 6,
    },
    "gptj": {"vocab_size": 97, "n_embd": 32, "n_layer": 2, "n_head": 2, "rotary_dim": 4},
    "xlnet": {"vocab_size": 97, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 40},
    "mobilebert": {"vocab_size": 97, "num_hidden_layers": 2},
    "cohere2": {
        "vocab_size": 97,
        "hidden_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 40,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
    },
    "swin": {
        "embed_dim": 12,
        "depths": [1, 1],
        "num_heads": [2, 3],
        "window_size": 2,
        "image_size": 32,
        "patch_size": 4,
    },
    "gemma2": {
        "vocab_size": 97,
        "hidden_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 6,
        "intermediate_size": 40,
    },
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
