"""Feed-forward networks: W₂ f(W₁ x) (Vaswani et al. 2017, section 3.3), and gated ones.

W₂ (f(W x) ⊙ V x), with W and V apart or side by side in one matrix (Shazeer 2020).
"""

from collections.abc import Iterator, Mapping

from bertviewer.core.architecture.flow import KnownOperation
from bertviewer.core.flow.graph import Graph, Reading
from bertviewer.core.flow.groups.activations import ACTIVATION
from bertviewer.core.flow.groups.group import Group
from bertviewer.core.flow.groups.linears import is_linear, widths_of
from bertviewer.core.text.special_floats import Scalar

FEED_FORWARD: KnownOperation = "feed-forward"
GATED: KnownOperation = "gated feed-forward"


def find_feed_forwards(graph: Graph, taken: Mapping[int, Group]) -> Iterator[Group]:
    """Yield every feed-forward network whose width comes back to what it was.

    Args:
        graph: the trace.
        taken: the groups that are known already, by their operations.
    """
    for last in range(len(graph.words)):
        if is_linear(graph, last) and graph.data(last):
            group = _ending(graph, last, taken)
            if group is not None and not (group.operations - _of_activation(group, taken)) & set(
                taken
            ):
                yield group


def _of_activation(group: Group, taken: Mapping[int, Group]) -> set[int]:
    return {
        each for each in group.operations if each in taken and taken[each].operation == ACTIVATION
    }


def _ending(graph: Graph, last: int, taken: Mapping[int, Group]) -> Group | None:
    before = graph.data(last)[0].maker
    if before is None or not _is_for(graph, before, last):
        return None
    if (activation := taken.get(before)) is not None and activation.operation == ACTIVATION:
        first = _linear_into(graph, activation)
        if first is None or not _is_inner(graph, activation, last):
            return None
        return _group(graph, FEED_FORWARD, {first}, activation, {last})
    if graph.words[before] == "mul" and len(graph.data(before)) == 2:
        return _gated(graph, before, last, taken)
    return None


def _gated(graph: Graph, product: int, last: int, taken: Mapping[int, Group]) -> Group | None:
    one, other = graph.data(product)
    for gate, value in ((one, other), (other, one)):
        activation = None if gate.maker is None else taken.get(gate.maker)
        if activation is None or activation.operation != ACTIVATION:
            continue
        first = _linear_into(graph, activation)
        second = _linear_of(graph, value)
        if first is None or second is None or not _is_inner(graph, activation, product):
            continue
        if graph.data(first)[0].same == graph.data(second)[0].same:
            return _group(graph, GATED, {first, second}, activation, {product, last})
    return None


def _group(
    graph: Graph, operation: KnownOperation, first: set[int], activation: Group, last: set[int]
) -> Group | None:
    taken, (inner, given) = widths_of(graph, min(first))[0], widths_of(graph, max(last))
    if taken != given:
        return None
    details: dict[str, Scalar] = {
        "in_features": taken,
        "inner_features": inner,
        "out_features": given,
        "activation": activation.name,
    }
    return Group(operation, activation.operations | first | last, details=details)


def _linear_into(graph: Graph, activation: Group) -> int | None:
    first = min(activation.operations)
    return _linear_of(graph, graph.data(first)[0])


def _linear_of(graph: Graph, reading: Reading) -> int | None:
    maker = reading.maker
    return maker if maker is not None and is_linear(graph, maker) else None


def _is_for(graph: Graph, number: int, user: int) -> bool:
    """Tell whether what an operation gives is read by one other alone."""
    return graph.users.get(number, ()) == (user,)


def _is_inner(graph: Graph, activation: Group, user: int) -> bool:
    users = graph.users.get(activation.last, ())
    return users == (user,)
