"""Activations: functions of one number each, named by their values.

A function that is written out, as GELU often is, is evaluated on a grid and compared with those
that have a name.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from typing import Any

from bertviewer.core.building.backend import torch
from bertviewer.core.graph.operation_names import ACTIVATIONS, ELEMENTWISE
from bertviewer.core.graph.patterns.pattern import Pattern
from bertviewer.core.graph.trace import with_refs
from bertviewer.core.graph.trace_graph import ACTIVATION, AUXILIARY, Graph

_PLAIN = frozenset(("add", "sub", "rsub", "mul", "div", "neg", "rdiv"))
_CLOSE = 1e-6

_functional = torch.nn.functional

_WRITTEN = (
    *("gelu", "relu", "silu", "mish", "softplus", "sigmoid", "tanh", "elu", "selu", "relu6"),
    "hardswish",
)
"""Functions of torch that models may write out."""

_KNOWN: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {
    **{ACTIVATIONS[word]: getattr(_functional, word) for word in _WRITTEN},
    "GELU (tanh)": lambda x: _functional.gelu(x, approximate="tanh"),
    "quick GELU": lambda x: x * torch.sigmoid(1.702 * x),
    "ReLU²": lambda x: torch.relu(x) ** 2,
    "clipped GELU": lambda x: _functional.gelu(x).clip(-10, 10),
    "Laplace": lambda x: 0.5 * (1 + torch.erf((x - 0.5**0.5) / (0.25 / torch.pi) ** 0.5 / 2**0.5)),
}

_Region = tuple[int, frozenset[int]]
"""The one value that an operation is a function of, and all operations between."""


def find_activations(graph: Graph) -> Iterator[Pattern]:
    """Yield every activation of data: the largest function of one number that has a name."""
    regions: dict[int, _Region] = {}
    found: list[Pattern] = []
    for number, word in enumerate(graph.words):
        if word not in ELEMENTWISE or graph.trace.operations[number].rewritten:
            continue
        region = _region(graph, number, regions)
        if region is None:
            continue
        regions[number] = region
        value, operations = region
        if all(graph.words[each] in _PLAIN for each in operations):
            continue
        name = ACTIVATIONS.get(word, "") if len(operations) == 1 else ""
        if name and graph.option(number, "approximate") == "tanh":
            name = f"{name} (tanh)"
        if name := name or _named(graph, value, sorted(operations)):
            found.append(Pattern("activation", operations, name, {"activation": name}))
    for pattern in found:
        if not any(pattern.operations < other.operations for other in found):
            yield pattern


def _region(graph: Graph, number: int, regions: Mapping[int, _Region]) -> _Region | None:
    """Return an operation's region, ``None`` if it is no function of one value."""
    readings = graph.readings[number]
    data = graph.data(number)
    # Other tensors may only be constants of one element.
    if not data or not all(
        each.level == ACTIVATION or (each.level == AUXILIARY and graph.is_scalar(each.value))
        for each in readings
    ):
        return None
    choices: list[dict[int, frozenset[int]]] = []
    for reading in data:
        region = regions.get(graph.trace.maker.get(reading.same, -1))
        choices.append({reading.same: frozenset(), **dict([region] if region else ())})
    common = set(choices[0]).intersection(*choices)
    if not common:
        return None
    value = min(common)
    return value, frozenset((number,)).union(*(choice[value] for choice in choices))


def _named(graph: Graph, value: int, operations: list[int]) -> str:
    """Return the name of the function that the operations are, "" if it has none."""
    made: dict[int, Any] = {value: _grid()}

    result: object = None
    try:
        for number in operations:
            operation = graph.trace.operations[number]
            operands = operation.args, operation.kwargs
            args, kwargs = with_refs(operands, lambda ref: made[graph.same(ref)])
            named = {name: value for name, value in kwargs if name != "inplace"}
            function = attrgetter(operation.function.removeprefix("torch."))(torch)
            result = function(*args, **named)
            made[operation.results[0]] = result
    except (AttributeError, LookupError, TypeError, RuntimeError, ValueError):
        return ""  # a constant that is not known, or a word that is no number
    if not isinstance(result, torch.Tensor) or result.shape != _grid().shape:
        return ""
    tables = _tables().items()
    return next((name for name, it in tables if (result - it).abs().max() < _CLOSE), "")


@cache
def _grid() -> torch.Tensor:
    return torch.linspace(-8, 8, 129, dtype=torch.float64)


@cache
def _tables() -> Mapping[str, torch.Tensor]:
    return {name: function(_grid()) for name, function in _KNOWN.items()}
