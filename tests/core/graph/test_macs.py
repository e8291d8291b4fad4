"""Multiply-adds of a trace: of modules, calls and parts of calls."""

import torch
from torch import Tensor, nn

from bertviewer.core.graph.inputs.signature import text_inputs
from bertviewer.core.graph.products import ProductMode
from bertviewer.core.graph.trace import Trace, macs_by_module, macs_of
from bertviewer.core.graph.tracing import CallTracer, Tracer
from tests.core.graph.readers import LENGTHS, meta_model


def traced(model: nn.Module, *args: Tensor) -> Trace:
    tracer = Tracer(model)
    with torch.no_grad(), ProductMode(tracer.note_product), tracer.watching():
        model(*args)
    return tracer.trace()


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.inner(x)
        return y @ y.transpose(0, 1) @ x


class Model(nn.Module):
    """Calls layers twice, and a submodule of one of them directly."""

    def __init__(self) -> None:
        super().__init__()
        block = Block()
        self.layers = nn.ModuleList([block, nn.Linear(4, 4, bias=False)])
        self.borrowed = [block.inner]
        self.unused = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(2):
            for layer in self.layers:
                x = layer(x)
        y: Tensor = self.borrowed[0](x)
        return y


def test_all_calls_of_a_module_count() -> None:
    trace = traced(Model(), torch.ones(3, 4))
    linear, products = 3 * 4 * 4, 2 * 3 * 4 * 3
    assert macs_by_module(trace) == {
        "": 5 * linear + 2 * products,
        "layers": 5 * linear + 2 * products,
        "layers.0": 2 * (linear + products),
        "layers.0.inner": 3 * linear,  # once outside of the block
        "layers.1": 2 * linear,
    }


def test_parts_of_a_call() -> None:
    trace = traced(Block(), torch.ones(3, 4))
    (root, inner) = trace.calls
    assert macs_of(trace, inner.operations) == 3 * 4 * 4
    assert macs_of(trace, range(inner.stop, root.stop)) == 2 * 3 * 4 * 3
    assert macs_of(trace, range(0)) == 0
    innermost = trace.innermost
    assert {trace.calls[number].path for number in innermost if number is not None} == {"", "inner"}
    assert [n for n, call in enumerate(innermost) if call == 1] == list(inner.operations)


def test_a_recursive_call_counts_once() -> None:
    class Recursive(nn.Module):
        def forward(self, x: Tensor, deeper: bool = True) -> Tensor:
            y: Tensor = self(x, False) if deeper else x
            return y @ y.transpose(0, 1) @ x

    trace = traced(Recursive(), torch.ones(3, 4))
    assert [call.above for call in trace.calls] == [None, 0]
    assert macs_by_module(trace) == {"": 2 * 2 * 3 * 4 * 3}


def test_calls_can_be_traced_without_operations() -> None:
    model, whole = meta_model("t5").module, meta_model("t5").trace
    inputs = text_inputs(model, LENGTHS).on_meta()
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
