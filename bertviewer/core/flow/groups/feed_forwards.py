"""Feed-forward networks: W₂ f(W₁ x) (Vaswani et al. 2017, section 3.3), and gated ones.

W₂ (f(W x) ⊙ V x), with W and V apart or side by side in one matrix (Shazeer 2020).
"""

from collections.abc import Iterator, Mapping

from bertviewer.core.architecture.flow import KnownOperation
from bertviewer.core.flow.graph import Graph, Reading
from bertviewer.core.flow.groups.group import Group
from bertviewer.core.flow.groups.linears import is_linear, widths_of


def find_feed_forwards(graph: Graph, taken: Mapping[int, Group]) -> Iterator[Group]:
    """Yield every feed-forward network whose output is as wide as its input.

    Args:
        graph: the trace.
        taken: the groups that are known already, by their operations.
    """
    activations = {n: group for n, group in taken.items() if group.operation == "activation"}
    for last in range(len(graph.words)):
        if is_linear(graph, last) and graph.data(last):
            group = _ending(graph, last, activations)
            if group and all(n in activations or n not in taken for n in group.operations):
                yield group


def _ending(graph: Graph, last: int, activations: Mapping[int, Group]) -> Group | None:
    before = graph.data(last)[0].maker
    if before is None or graph.sole_user(before) != last:
        return None
    if (activation := activations.get(before)) is not None:
        first = _linear_into(graph, activation, last)
        return None if first is None else _group(graph, "feed-forward", first, activation, {last})
    if graph.words[before] != "mul" or len(graph.data(before)) != 2:
        return None
    one, other = graph.data(before)
    for gate, value in ((one, other), (other, one)):
        activation = None if gate.maker is None else activations.get(gate.maker)
        first = None if activation is None else _linear_into(graph, activation, before)
        second = _linear_of(graph, value)
        if activation is None or first is None or second is None:
            continue
        if graph.data(first)[0].same == graph.data(second)[0].same:
            rest = {second, before, last}
            return _group(
                graph, "gated feed-forward", min(first, second), activation, rest | {first}
            )
    return None


def _group(
    graph: Graph, operation: KnownOperation, first: int, activation: Group, others: set[int]
) -> Group | None:
    taken, (inner, given) = widths_of(graph, first)[0], widths_of(graph, max(others))
    if taken != given:
        return None
    return Group(
        operation,
        activation.operations | others | {first},
        details={
            "in_features": taken,
            "inner_features": inner,
            "out_features": given,
            "activation": activation.name,
        },
    )


def _linear_into(graph: Graph, activation: Group, user: int) -> int | None:
    """Return the linear layer before an activation that only one operation uses."""
    if graph.sole_user(activation.last) != user:
        return None
    return _linear_of(graph, graph.data(min(activation.operations))[0])


def _linear_of(graph: Graph, reading: Reading) -> int | None:
    maker = reading.maker
    return maker if maker is not None and is_linear(graph, maker) else None
