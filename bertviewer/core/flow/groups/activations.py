"""Activations: functions of one number each, named by what they give.

A function that is written out, as GELU often is, is evaluated on a grid and compared with those
that have a name.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from bertviewer.core.architecture.flow import KnownOperation
from bertviewer.core.backend import torch
from bertviewer.core.flow.graph import ASIDE, DATA, Graph
from bertviewer.core.flow.groups.group import Group
from bertviewer.core.flow.operation_names import ACTIVATIONS, ELEMENTWISE
from bertviewer.core.flow.trace import Argument, Ref

ACTIVATION: KnownOperation = "activation"

_PLAIN = frozenset(("add", "sub", "rsub", "mul", "div", "neg", "rdiv"))
_GRID = (-8.0, 8.0, 129)
_CLOSE = 1e-6

_functional = torch.nn.functional

_KNOWN: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "GELU": _functional.gelu,
    "GELU (tanh)": lambda x: _functional.gelu(x, approximate="tanh"),
    "quick GELU": lambda x: x * torch.sigmoid(1.702 * x),
    "ReLU": torch.relu,
    "ReLU²": lambda x: torch.relu(x) ** 2,
    "SiLU": _functional.silu,
    "Mish": _functional.mish,
    "softplus": _functional.softplus,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "ELU": _functional.elu,
    "SELU": _functional.selu,
    "ReLU6": _functional.relu6,
    "Hardswish": _functional.hardswish,
    "clipped GELU": lambda x: _functional.gelu(x).clip(-10, 10),
    "Laplace": lambda x: 0.5 * (1 + torch.erf((x - 0.5**0.5) / (0.25 / torch.pi) ** 0.5 / 2**0.5)),
}


@cache
def function_of(name: str) -> Callable[..., Any]:
    """Return torch's function of a name, ``torch.Tensor.mT.__get__`` for what is no call in code.

    Raises:
        LookupError: torch has none of that name.
    """
    first, *rest = name.split(".")
    found: Any = torch
    if first != "torch":
        raise LookupError(name)
    for part in rest:
        found = getattr(found, part, None)
        if found is None:
            raise LookupError(name)
    function: Callable[..., Any] = found
    return function


def find_activations(graph: Graph) -> Iterator[Group]:
    """Yield every activation of data: the largest function of one number that has a name."""
    roots: dict[int, tuple[int, frozenset[int]]] = {}
    found: dict[int, Group] = {}
    for number, word in enumerate(graph.words):
        if word not in ELEMENTWISE or graph.trace.operations[number].rewritten:
            continue
        region = _region(graph, number, roots)
        if region is None:
            continue
        roots[number] = region
        if all(graph.words[each] in _PLAIN for each in region[1]):
            continue
        name = _called(graph, number) if len(region[1]) == 1 else ""
        name = name or _named(graph, number, *region)
        if name:
            found[number] = Group(ACTIVATION, region[1], name, {"activation": name})
    for number, group in found.items():
        larger = (other for end, other in found.items() if end != number)
        if not any(group.operations < other.operations for other in larger):
            yield group


def _called(graph: Graph, number: int) -> str:
    """Return the name of a function that torch has a word for."""
    name = ACTIVATIONS.get(graph.words[number], "")
    kwargs = dict(graph.trace.operations[number].kwargs)
    return f"{name} (tanh)" if name and kwargs.get("approximate") == "tanh" else name


def _region(
    graph: Graph, number: int, roots: Mapping[int, tuple[int, frozenset[int]]]
) -> tuple[int, frozenset[int]] | None:
    """Return the one value that an operation is a function of, and all operations between."""
    readings = graph.readings[number]
    data = [each for each in readings if each.level == DATA]
    # Other tensors may be numbers alone: constants of one element.
    if not data or any(
        each.level != DATA and (each.level != ASIDE or max(graph.shape(each.value), default=1) > 1)
        for each in readings
    ):
        return None
    choices = []
    for reading in data:
        choice: dict[int, frozenset[int]] = {reading.same: frozenset()}
        maker = reading.maker
        if maker is not None and maker in roots and graph.trace.maker.get(reading.same) == maker:
            value, operations = roots[maker]
            choice[value] = operations
        choices.append(choice)
    common = set(choices[0]).intersection(*choices)
    if not common:
        return None
    value = min(common)
    operations = frozenset((number,)).union(*(choice[value] for choice in choices))
    return value, operations


def _named(graph: Graph, last: int, value: int, operations: frozenset[int]) -> str:
    """Return the name of the function that the operations are, "" if it has none."""
    grid = torch.linspace(*_GRID, dtype=torch.float64)
    made: dict[int, torch.Tensor] = {value: grid}

    def taken(operand: Argument) -> object:
        if not isinstance(operand, Ref):
            return operand
        same = graph.same(operand.value)
        if same not in made:
            raise LookupError(same)
        return made[same]

    try:
        for number in sorted(operations):
            operation = graph.trace.operations[number]
            arguments = [taken(arg) for arg in operation.args]
            named = {name: taken(arg) for name, arg in operation.kwargs if name != "inplace"}
            made[operation.results[0]] = function_of(operation.function)(*arguments, **named)
    except (LookupError, TypeError, RuntimeError, ValueError):
        return ""  # a constant that is not known, or a word that is no number
    result = made[graph.trace.operations[last].results[0]]
    return next((name for name, known in _tables().items() if _is_close(result, known)), "")


@cache
def _tables() -> Mapping[str, torch.Tensor]:
    grid = torch.linspace(*_GRID, dtype=torch.float64)
    return {name: function(grid) for name, function in _KNOWN.items()}


def _is_close(one: object, other: torch.Tensor) -> bool:
    return (
        isinstance(one, torch.Tensor)
        and one.shape == other.shape
        and bool((one - other).abs().max() < _CLOSE)
    )
