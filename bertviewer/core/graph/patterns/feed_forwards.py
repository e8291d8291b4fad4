"""Feed-forward networks: activations, plain and gated networks, and mixtures of experts.

W₂ f(W₁ x) (Vaswani et al. 2017, section 3.3), and W₂ (f(W x) ⊙ V x) with W and V separate or
adjacent in one matrix (Shazeer 2020). An activation that is written out, as GELU often is, is
evaluated on a grid and compared with the known ones. A router chooses a few experts for each token
(Shazeer et al. 2017); all that brings tokens to their experts depends on the chosen indices.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import cache
from operator import attrgetter
from typing import Any

from bertviewer.core.building.backend import torch
from bertviewer.core.graph.operation_names import ACTIVATIONS, ELEMENTWISE
from bertviewer.core.graph.trace import Call, with_refs
from bertviewer.core.graph.trace_graph import (
    ACTIVATION,
    AUXILIARY,
    Graph,
    Pattern,
    Reading,
    closure,
    is_linear,
    widths_of,
)
from bertviewer.core.schema.flow import KnownOperation
from bertviewer.core.util.serialization import Scalar

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
"""The only value that an operation is a function of, and the operations in between."""


def find_activations(graph: Graph) -> Iterator[Pattern]:
    """Yield every activation: the largest functions of one number with a known name."""
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
    """Return an operation's region, ``None`` if it is not a function of one value."""
    readings = graph.readings[number]
    data = graph.data(number)
    # Other tensors must be constants of one element.
    if not data or not all(
        each.level == ACTIVATION or (each.level == AUXILIARY and graph.is_scalar(each.value))
        for each in readings
    ):
        return None
    choices: list[dict[int, frozenset[int]]] = []
    for reading in data:
        region = regions.get(graph.trace.maker_of.get(reading.same, -1))
        choices.append({reading.same: frozenset(), **dict([region] if region else ())})
    common = set(choices[0]).intersection(*choices)
    if not common:
        return None
    value = min(common)
    return value, frozenset((number,)).union(*(choice[value] for choice in choices))


def _named(graph: Graph, value: int, operations: list[int]) -> str:
    """Return the name of the function that operations compute, "" if unknown."""
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
        return ""  # an unknown constant
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


def find_feed_forwards(graph: Graph, taken: Mapping[int, Pattern]) -> Iterator[Pattern]:
    """Yield every feed-forward network with outputs as wide as its inputs.

    ``taken`` are the patterns so far, by their operations.
    """
    activations = {n: it for n, it in taken.items() if it.operation == "activation"}
    for last in range(len(graph.words)):
        if is_linear(graph, last) and graph.data(last):
            pattern = _ending(graph, last, activations)
            if pattern and all(n in activations or n not in taken for n in pattern.operations):
                yield pattern


def _ending(graph: Graph, last: int, activations: Mapping[int, Pattern]) -> Pattern | None:
    """Return the network that ends with a linear layer, ``None`` for other forms."""
    inner = graph.data(last)[0]
    if graph.sole_user(inner.maker) != last:
        return None
    gates: list[tuple[Reading, Reading | None]] = []
    if inner.maker in activations:
        gates = [(inner, None)]
    elif inner.word == "mul" and len(graph.data(inner.maker)) == 2:
        one, other = graph.data(inner.maker)
        gates = [(one, other), (other, one)]
    for gate, value in gates:
        activation = activations.get(gate.maker)
        user = last if value is None else inner.maker
        if activation is None or graph.sole_user(activation.last) != user:
            continue
        layers = [graph.data(min(activation.operations))[0], *([value] if value else ())]
        if not all(it.maker >= 0 and is_linear(graph, it.maker) for it in layers):
            continue
        first, *_ = makers = [it.maker for it in layers]
        if len({reading.same for each in makers for reading in graph.data(each)[:1]}) > 1:
            continue
        inputs, (inner_features, outputs) = widths_of(graph, first)[0], widths_of(graph, last)
        if inputs != outputs:
            return None
        return Pattern(
            "feed-forward" if value is None else "gated feed-forward",
            activation.operations | {*makers, inner.maker, last},
            details={
                "in_features": inputs,
                "inner_features": inner_features,
                "out_features": outputs,
                "activation": activation.name,
            },
        )
    return None


CHOOSING = ("topk", "argmax", "max", "sort", "argsort")
_SCORING = ELEMENTWISE.union(
    CHOOSING, ("softmax", "sum", "gather", "cumsum", "scatter", "log_softmax")
)


def routing(graph: Graph, choice: int) -> Iterator[Pattern]:
    """Yield the router that computes the scores of a choice, and the experts."""
    router = _router(graph, choice)
    block = None if router is None else _block(graph, router, choice)
    if router is None or block is None or not block.path:
        return  # a choice of boxes or regions
    chosen = _following(graph, choice, block.stop)
    experts = _products(graph, chosen)
    first, last = min(experts), max(experts)
    inner = {
        each
        for call in graph.trace.children(block)
        if call.holder == block.path and first in call.operations
        for each in call.operations
    }
    scores = ({router, choice} | {each for each in chosen if each < first}) - inner
    work = (chosen | inner) - scores
    # Without the sum with a shared expert.
    work -= {
        each
        for each in work
        if each > last
        and graph.words[each] == "add"
        and any(reading.maker not in work for reading in graph.data(each))
    }
    count = widths_of(graph, router)[1]
    details: dict[str, Scalar] = {"experts": count}
    if (chosen_few := _number_chosen(graph, scores, work)) is not None and chosen_few < count:
        details["chosen"] = chosen_few
    found: dict[KnownOperation, Set[int]] = {"routing": scores, "experts": work}
    for kind, operations in found.items():
        if real := frozenset(each for each in operations if not graph.is_view(each)):
            yield Pattern(kind, real, details=details)


def _router(graph: Graph, choice: int) -> int | None:
    """Return the linear layer that computes the scores of a choice."""
    scoring = closure(
        [choice], lambda n: [m for m in graph.data_makers(n) if graph.words[m] in _SCORING]
    )
    makers = {maker for number in scoring for maker in graph.data_makers(number)}
    return max((maker for maker in makers if is_linear(graph, maker)), default=None)


def _block(graph: Graph, router: int, choice: int) -> Call | None:
    """Return the innermost call with the router, the choice, and products that depend on it."""
    for call in reversed(graph.trace.calls):
        is_around = call.start <= router and choice < call.stop
        if is_around and _products(graph, _following(graph, choice, call.stop)):
            return call
    return None


def _following(graph: Graph, choice: int, stop: int) -> frozenset[int]:
    """Return all operations before ``stop`` that depend on a choice."""
    return closure([choice], lambda n: [u for u in graph.users(n) if u < stop]) - {choice}


def _products(graph: Graph, operations: Iterable[int]) -> list[int]:
    return [each for each in operations if graph.trace.operations[each].products]


def _number_chosen(graph: Graph, scores: Set[int], work: Set[int]) -> int | None:
    """Return the number of experts per token, from the indices that the experts read."""
    for number in sorted(work):
        for reading in graph.readings[number]:
            value = graph.trace.values[reading.same]
            if reading.maker in scores and value.dtype.startswith("int") and value.shape:
                return value.shape[-1]
    return None
