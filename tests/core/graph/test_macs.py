"""Multiply-adds of a trace: of each module as torch counts them, of calls and of parts of these."""

from typing import Any

import pytest
from torch import Tensor, nn

from bertviewer.core.building.backend import torch
from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta, build_random
from bertviewer.core.graph.inputs.signature import text_inputs
from bertviewer.core.graph.products import ProductMode
from bertviewer.core.graph.trace import Trace, macs_by_module, macs_of
from bertviewer.core.graph.tracing import CallTracer, Tracer
from bertviewer.core.graph.tracing_models import trace_on_meta
from bertviewer.core.runs.macs import RunCounter
from bertviewer.core.sources.model_source import find_task
from bertviewer.core.symbolic.forward_pass import read_forward
from tests.core.graph.narrow_models import NARROW, counted_by_torch, is_known_to_torch

FAMILIES = (
    *("bert", "gpt2", "t5", "mixtral", "qwen3_moe", "deberta-v2", "big_bird", "modernbert"),
    *("mamba", "convbert", "switch_transformers"),
)
HANG_ON_VALUES = ("switch_transformers",)
"""Where tokens go to and fro by what the router gives, so that nothing is known without numbers."""
LENGTHS = {"B": 1, "S": 9, "S_d": 5}


def built(family: str) -> Any:
    config = build_config({"model_type": family, **NARROW[family]}, family)
    torch.manual_seed(0)
    model: Any = build_random(config, find_task("base"), family)
    model.set_attn_implementation("eager")
    return model


def on_meta(family: str) -> nn.Module:
    config = build_config({"model_type": family, **NARROW[family]}, family)
    return build_on_meta(config, find_task("base"), family)


def traced(model: nn.Module, *args: Any, **arguments: Any) -> Trace:
    tracer = Tracer(model)
    with torch.no_grad(), ProductMode(tracer.note_product), tracer.watching():
        model(*args, **arguments)
    return tracer.trace()


@pytest.mark.parametrize("family", FAMILIES)
def test_flow_run_and_costs_say_what_torch_counts_in_each_module(family: str) -> None:
    model = built(family)
    arguments = text_inputs(model, LENGTHS).arguments
    with torch.no_grad():
        model(**arguments)  # BigBird exchanges its attention in the first call
    flow = macs_by_module(traced(model, **arguments))
    counter = RunCounter(model)
    with torch.no_grad(), counter.counting():
        model(**arguments)
    assert {path: macs.count for path, macs in counter.macs().items()} == flow
    if family in ("mixtral", "qwen3_moe"):
        model.set_experts_implementation("eager")  # torch counts no products by groups
    with torch.no_grad(), counted_by_torch(model) as counted:
        model(**arguments)
    assert flow[""] > 0
    for path, macs in flow.items():
        if is_known_to_torch(model.get_submodule(path)):
            assert 2 * macs == counted.get(path, 0), path
    if family not in HANG_ON_VALUES:
        sizes = read_forward(on_meta(family), LENGTHS).sizes
        assert {path: sizes[path] for path in flow} == flow
        assert not any(sizes[path] for path in sizes.keys() - flow.keys())


@pytest.mark.parametrize("family", ["bert", "t5", "mixtral", "modernbert", "transformer-base"])
def test_without_numbers_it_is_the_same(family: str) -> None:
    model = on_meta(family)
    trace = trace_on_meta(model, text_inputs(model, LENGTHS)).trace
    assert trace.stopped is None
    sizes = read_forward(on_meta(family), LENGTHS).sizes
    assert dict.fromkeys(sizes, 0) | macs_by_module(trace) == sizes


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.inner(x)
        return y @ y.transpose(0, 1) @ x


class Model(nn.Module):
    """Holds layers that it shares, and calls one that is another's."""

    def __init__(self) -> None:
        super().__init__()
        block = Block()
        self.layers = nn.ModuleList([block, nn.Linear(4, 4, bias=False)])
        self.lent = [block.inner]
        self.unused = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(2):
            for layer in self.layers:
                x = layer(x)
        y: Tensor = self.lent[0](x)
        return y


def test_all_calls_of_a_module_count_and_what_only_holds_others_has_theirs() -> None:
    trace = traced(Model(), torch.ones(3, 4))
    linear, products = 3 * 4 * 4, 2 * 3 * 4 * 3
    assert macs_by_module(trace) == {
        "": 5 * linear + 2 * products,
        "layers": 5 * linear + 2 * products,
        "layers.0": 2 * (linear + products),
        "layers.0.inner": 3 * linear,  # once without the block
        "layers.1": 2 * linear,
    }


def test_a_part_of_a_call() -> None:
    trace = traced(Block(), torch.ones(3, 4))
    (root, inner) = trace.calls
    assert macs_of(trace, inner.operations) == 3 * 4 * 4
    assert macs_of(trace, range(inner.stop, root.stop)) == 2 * 3 * 4 * 3
    assert macs_of(trace, range(0)) == 0
    workers = trace.innermost
    assert {trace.calls[number].path for number in workers if number is not None} == {"", "inner"}
    assert [n for n, worker in enumerate(workers) if worker == 1] == list(inner.operations)


def test_a_module_in_a_call_of_itself_counts_once() -> None:
    class Again(nn.Module):
        def forward(self, x: Tensor, deeper: bool = True) -> Tensor:
            y: Tensor = self(x, False) if deeper else x
            return y @ y.transpose(0, 1) @ x

    trace = traced(Again(), torch.ones(3, 4))
    assert [call.above for call in trace.calls] == [None, 0]
    assert macs_by_module(trace) == {"": 2 * 2 * 3 * 4 * 3}


def test_calls_alone_are_traced_as_with_their_operations() -> None:
    model = on_meta("t5")
    inputs = text_inputs(model, LENGTHS).on_meta()
    whole = trace_on_meta(model, text_inputs(model, LENGTHS)).trace
    tracer = CallTracer(model)
    with torch.device("meta"), torch.no_grad(), tracer.watching():
        model(**inputs.arguments)
    calls = tracer.trace()
    assert [(call.path, call.above, call.number) for call in calls.calls] == [
        (call.path, call.above, call.number) for call in whole.calls
    ]
    for one, other in zip(calls.calls, whole.calls, strict=True):
        assert [(name, calls.values[n].shape) for name, n in (*one.inputs, *one.outputs)] == [
            (name, whole.values[n].shape) for name, n in (*other.inputs, *other.outputs)
        ]
