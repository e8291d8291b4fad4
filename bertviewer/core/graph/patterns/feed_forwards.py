"""Feed-forward networks: W₂ f(W₁ x) (Vaswani et al. 2017, section 3.3), and gated ones.

W₂ (f(W x) ⊙ V x), with W and V apart or side by side in one matrix (Shazeer 2020).
"""

from collections.abc import Iterator, Mapping

from bertviewer.core.graph.patterns.linears import is_linear, widths_of
from bertviewer.core.graph.patterns.pattern import Pattern
from bertviewer.core.graph.trace_graph import Graph, Reading


def find_feed_forwards(graph: Graph, taken: Mapping[int, Pattern]) -> Iterator[Pattern]:
    """Yield every feed-forward network whose output is as wide as its input.

    ``taken`` are the patterns that are known already, by their operations.
    """
    activations = {n: it for n, it in taken.items() if it.operation == "activation"}
    for last in range(len(graph.words)):
        if is_linear(graph, last) and graph.data(last):
            pattern = _ending(graph, last, activations)
            if pattern and all(n in activations or n not in taken for n in pattern.operations):
                yield pattern


def _ending(graph: Graph, last: int, activations: Mapping[int, Pattern]) -> Pattern | None:
    """Return the network whose last linear layer an operation is."""
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
        taken, (width, given) = widths_of(graph, first)[0], widths_of(graph, last)
        if taken != given:
            return None
        return Pattern(
            "feed-forward" if value is None else "gated feed-forward",
            activation.operations | {*makers, inner.maker, last},
            details={
                "in_features": taken,
                "inner_features": width,
                "out_features": given,
                "activation": activation.name,
            },
        )
    return None
