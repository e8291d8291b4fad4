"""Feed-forward networks: W₂ f(W₁ x) (Vaswani et al. 2017, section 3.3), and gated ones.

W₂ (f(W x) ⊙ V x), with W and V apart or side by side in one matrix (Shazeer 2020).
"""

from collections.abc import Iterator, Mapping

from bertviewer.core.graph.patterns.group import Group
from bertviewer.core.graph.patterns.linears import is_linear, widths_of
from bertviewer.core.graph.trace_graph import Graph, Reading


def find_feed_forwards(graph: Graph, taken: Mapping[int, Group]) -> Iterator[Group]:
    """Yield every feed-forward network whose output is as wide as its input.

    ``taken`` are the groups that are known already, by their operations.
    """
    activations = {n: group for n, group in taken.items() if group.operation == "activation"}
    for last in range(len(graph.words)):
        if is_linear(graph, last) and graph.data(last):
            group = _ending(graph, last, activations)
            if group and all(n in activations or n not in taken for n in group.operations):
                yield group


def _ending(graph: Graph, last: int, activations: Mapping[int, Group]) -> Group | None:
    """Return the network whose last linear layer an operation is."""
    before = graph.data(last)[0].maker
    if before is None or graph.sole_user(before) != last:
        return None
    gates: list[tuple[int | None, Reading | None]] = []
    if before in activations:
        gates = [(before, None)]
    elif graph.words[before] == "mul" and len(graph.data(before)) == 2:
        one, other = graph.data(before)
        gates = [(one.maker, other), (other.maker, one)]
    for gate, value in gates:
        activation = None if gate is None else activations.get(gate)
        user = last if value is None else before
        if activation is None or graph.sole_user(activation.last) != user:
            continue
        first = _linear_of(graph, graph.data(min(activation.operations))[0])
        second = first if value is None else _linear_of(graph, value)
        if first is None or second is None:
            continue
        reads = [[reading.same for reading in graph.data(each)[:1]] for each in (first, second)]
        if reads[0] == reads[1]:
            taken, (inner, given) = widths_of(graph, first)[0], widths_of(graph, last)
            if taken != given:
                return None
            return Group(
                "feed-forward" if value is None else "gated feed-forward",
                activation.operations | {first, second, before, last},
                details={
                    "in_features": taken,
                    "inner_features": inner,
                    "out_features": given,
                    "activation": activation.name,
                },
            )
    return None


def _linear_of(graph: Graph, reading: Reading) -> int | None:
    maker = reading.maker
    return maker if maker is not None and is_linear(graph, maker) else None
