"""Every operation of a forward pass is recorded, with the tensors that it reads and writes."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from bertviewer.core.building.backend import transformers
from bertviewer.core.graph.trace import Operation, Trace
from bertviewer.core.graph.tracing import Tracer


def traced(model: nn.Module, *args: Any, **kwargs: Any) -> Trace:
    tracer = Tracer(model)
    with torch.no_grad(), tracer.watching():
        model(*args, **kwargs)
    return tracer.trace()


def operation(trace: Trace, name: str) -> Operation:
    (found,) = [it for it in trace.operations if it.function.rpartition(".")[2] == name]
    return found


class Pair(nn.Module):
    def forward(
        self, pair: tuple[Tensor, Tensor], **named: Any
    ) -> tuple[Tensor, dict[str, Tensor]]:
        first, second = pair
        return first + second, {"product": first * second * named["scales"][1]}


def test_tensors_in_containers_are_named_by_their_places() -> None:
    one = torch.ones(2)
    call = traced(Pair(), (one, one * 2), scales=[one * 3, one * 4]).calls[0]
    assert [name for name, _ in call.inputs] == ["pair.0", "pair.1", "scales.0", "scales.1"]
    assert [name for name, _ in call.outputs] == ["0", "1.product"]


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))
        self.shift = nn.Buffer(torch.ones(3))
        self.used = nn.Linear(3, 3)
        self.unused = nn.Linear(3, 3)

    def forward(self, states: Tensor) -> Any:
        return self.used(states * self.scale + self.shift)


def test_parameters_and_buffers_are_named() -> None:
    trace = traced(Scaled(), torch.ones(2, 3))
    assert {(value.kind, value.name) for value in trace.values if value.name} == {
        ("input", "states"),
        ("parameter", "scale"),
        ("buffer", "shift"),
        ("parameter", "used.weight"),
        ("parameter", "used.bias"),
    }
    assert trace.values[operation(trace, "mul").reads[1]].name == "scale"
    assert set(trace.calls_of) == {"", "used"}  # not the unused one


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, states: Tensor) -> Any:
        return self.layer(self.layer(states))


def test_calls_of_one_module_are_numbered() -> None:
    trace = traced(Twice(), torch.ones(2, 3))
    first, second = (trace.calls[number] for number in trace.calls_of["layer"])
    assert (first.number, second.number) == (0, 1)
    assert second.inputs[0][1] == first.outputs[0][1]
    assert trace.below[0] == trace.calls_of["layer"]


class InPlace(nn.Module):
    def forward(self, states: Tensor) -> Tensor:
        states = states * 2
        row = states[0]
        row.add_(1)
        states[1] = 0
        return states.exp()


def test_a_write_makes_new_values_of_a_tensor_and_its_views() -> None:
    trace = traced(InPlace(), torch.ones(2, 3))
    made = operation(trace, "mul").results[0]
    added = dict(operation(trace, "add_").rewritten)
    assert made in added
    written = dict(operation(trace, "__setitem__").rewritten)
    assert added[made] in written
    assert operation(trace, "exp").reads == (written[added[made]],)


class TwoOutputs(nn.Module):
    def forward(self, states: Tensor) -> Tensor:
        values, places = states.new_empty(2), torch.empty(2, dtype=torch.long)
        torch.max(states, 1, out=(values, places))
        return values + places


def test_an_operation_may_write_to_several_tensors() -> None:
    trace = traced(TwoOutputs(), torch.ones(2, 3))
    written = operation(trace, "max")
    assert len(written.rewritten) == 2
    assert set(operation(trace, "add").reads) == {new for _, new in written.rewritten}


class ReturnsInput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.nothing = nn.Identity()

    def forward(self, states: Tensor) -> Any:
        return self.nothing(states.contiguous()) + states


def test_an_input_that_a_module_returns_is_a_new_value() -> None:
    trace = traced(ReturnsInput(), torch.ones(2, 3))
    call = trace.calls[trace.calls_of["nothing"][0]]
    assert call.outputs[0][1] != call.inputs[0][1]
    assert operation(trace, "add").reads == (call.outputs[0][1], trace.calls[0].inputs[0][1])


def test_a_cache_comes_from_outside() -> None:
    config = transformers.GPT2Config(n_layer=2, n_head=2, n_embd=8, vocab_size=9)
    model = transformers.GPT2Model(config).eval()
    ids = torch.tensor([[1, 2, 3]])
    with torch.no_grad():
        cache = model(ids, use_cache=True).past_key_values
    tracer = Tracer(model)
    with torch.no_grad(), tracer.watching():
        model(ids[:, :1], past_key_values=cache, use_cache=True)
    trace = tracer.trace()
    # Keys and values of three earlier tokens in both layers.
    shapes = [trace.values[number].shape for number in tracer.constants]
    assert shapes.count((1, 2, 3, 4)) == 4
    joined = [it for it in trace.operations if it.function.endswith(".cat")]
    assert [trace.values[it.results[0]].shape for it in joined] == [(1, 2, 4, 4)] * 4


class Fails(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.good = nn.Linear(3, 3)
        self.bad = nn.Linear(4, 3)

    def forward(self, states: Tensor) -> Any:
        return self.bad(self.good(states))


class Catches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Fails()
        self.after = nn.Linear(3, 3)

    def forward(self, states: Tensor) -> Any:
        try:
            self.inner(states)
        except RuntimeError:
            return self.after(states)


def test_calls_that_ended_before_a_failure_are_complete() -> None:
    model = Fails()
    tracer = Tracer(model)
    with torch.no_grad(), pytest.raises(RuntimeError), tracer.watching():
        model(torch.ones(2, 3))
    assert tracer.path == "bad"
    trace = tracer.trace(("bad", "it does not fit"))
    assert [call.path for call in trace.calls] == ["good"]
    assert trace.stopped == ("bad", "it does not fit")
    assert not any("forward" in vars(module) for module in model.modules())


def test_calls_with_an_error_that_the_model_catches_are_omitted() -> None:
    trace = traced(nn.Sequential(Catches(), nn.Linear(3, 3)), torch.ones(2, 3))
    assert [(call.path, call.above) for call in trace.calls] == [
        *(("", None), ("0", 0), ("0.inner.good", 1), ("0.after", 1), ("1", 0))
    ]
    assert trace.calls[1].operations == range(2)
