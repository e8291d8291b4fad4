"""Feed-forward networks within a graph: what their layers are for, and which half is the gate."""

from collections.abc import Sequence

from bertviewer.core.formulas.templates.activation import FUNCTIONS
from bertviewer.core.graph.module_graph import Step

PLAIN, GATED = "feed-forward", "gated feed-forward"
KINDS = (PLAIN, GATED)
"""What the graph calls feed-forward networks."""

_USES = {
    (PLAIN, 1): {"1": "first linear layer"},
    (PLAIN, 2): {"1": "first linear layer", "2": "second linear layer"},
    (GATED, 2): {"1": "gate and gated layer", "2": "output layer"},
    (GATED, 3): {"G": "gate", "U": "gated layer", "D": "output layer"},
}
"""Index and use of the linear layers, by the kind of network and their number."""


def activation_of(steps: Sequence[Step]) -> Step | None:
    """Return the activation of a network, ``None`` for other forms."""
    return next((s for s in steps if s.operation in ("activation", *FUNCTIONS) and s.tensors), None)


def uses_of(steps: Sequence[Step], kind: str, of: str = "the") -> dict[str, tuple[str, str]]:
    """Return index and use of a network's linear layers by node; ``of`` is whose they are."""
    linear = [step.node.id for step in steps if step.operation == "linear"]
    act = activation_of(steps)
    if act is not None and act.tensors[0].node in linear[1:2]:
        linear[:2] = linear[1::-1]  # the gate is first
    named = zip(linear, _USES.get((kind, len(linear)), {}).items(), strict=False)
    return {node: (index, f"{of} {use}") for node, (index, use) in named}


def halves_of(steps: Sequence[Step]) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Return the product that is gate G and gated features U, and which part each is, in order.

    Empty if the network has a product for each.
    """
    act = activation_of(steps)
    gate = None if act is None else act.tensors[0]
    taken = {o.parts for s in steps for o in s.tensors if gate is not None and o.node == gate.node}
    if gate is None or len(taken) != 2 or () in taken:
        return "", {}
    (other,) = taken - {gate.parts}
    is_first = any(" 0 of" in part or ", :" in part for part in gate.parts)
    found = {"G": gate.parts, "U": other}
    return gate.node, dict(sorted(found.items(), reverse=not is_first))
