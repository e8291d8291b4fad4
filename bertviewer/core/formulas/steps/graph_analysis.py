"""Parts of a module's graph: projections of attentions, experts, feed-forward networks."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from msgspec import Struct

from bertviewer.core.formulas.activation import FUNCTIONS
from bertviewer.core.formulas.norm import NORMS, is_norm
from bertviewer.core.graph.module_graph import ModuleGraph, Step
from bertviewer.core.schema.flow import Operand

ROLES = {"query": "Q", "key": "K", "value": "V"}
"""Symbols of an attention's operands."""

_PASSED = (*NORMS, "mul", "div", "add", "clamp", "look-up", "cat", "broadcast_to")
"""Operations whose result is still a query, key or value."""

_MAX_DEPTH = 8
OperandKey = tuple[str, tuple[str, ...]]
"""An operand's ``node`` and ``parts``: the result of a node, or a part of it."""


class Chain(Struct, frozen=True):
    """How a query, key or value is computed.

    Attributes:
        origin: the linear layer or input, perhaps a part of it; ``None`` if there are several.
        steps: between the origin and the attention, in execution order.
    """

    origin: Operand | None
    steps: tuple[Step, ...]


def chain_of(graph: ModuleGraph, operand: Operand) -> Chain:
    """Return how an operand is computed from a linear layer or an input."""
    steps: tuple[Step, ...] = ()
    for _ in range(_MAX_DEPTH):
        step = graph.maker(operand)
        if step is None or step.operation == "linear":
            is_origin = step is not None or _depends_on_input(graph, operand)
            return Chain(operand if is_origin else None, steps)
        steps = (step, *steps)
        if step.operation == "rotary":
            operand = rotated_operand(step)
            continue
        sources = {(o.node, o.parts): o for o in step.tensors if _depends_on_input(graph, o)}
        if step.operation not in _PASSED or len(sources) != 1:
            break
        (source,) = sources.values()
        taken = [f"part {o.plain}" for o in step.operands if o.plain]
        taken = taken[:1] if step.operation == "look-up" else []
        operand = Operand(source.node, (*source.parts, *taken, *operand.parts))
    return Chain(None, steps)


def origins(graph: ModuleGraph) -> dict[OperandKey, str]:
    """Return the symbols of linear layers, or parts of them, that compute queries, keys, values."""
    found: dict[OperandKey, str] = {}
    for number, step in enumerate(graph.of("attention")):
        for role, letter in ROLES.items():
            operand = step.roles.get(role)
            made = None if operand is None else chain_of(graph, operand).origin
            if made is not None and graph.maker(made) is not None:
                found.setdefault((made.node, made.parts), letter + "'" * number)
    return found


def projections(graph: ModuleGraph) -> Mapping[str, frozenset[str]]:
    """Return the symbols of what linear layers compute for attentions, by node.

    Unlike ``origins``, this includes several layers whose results are combined.
    """
    found: dict[str, set[str]] = {}
    for step in graph.of("attention"):
        for role, letter in ROLES.items():
            operand = step.roles.get(role) or step.roles.get("query")
            made = {} if operand is None else graph.sources(operand, stop="linear")
            for node, source in made.items():
                if source.operation == "linear":
                    found.setdefault(node, set()).add(letter)
    return {node: frozenset(letters) for node, letters in found.items()}


def layer_before(graph: ModuleGraph, step: Step) -> tuple[Step | None, tuple[Step, ...]]:
    """Return the linear layer before a step, and the norms between them."""
    chain = chain_of(graph, next(iter(step.tensors), Operand()))
    layer = graph.maker(chain.origin)
    is_near = layer is not None and all(map(is_norm, chain.steps))
    return (layer, chain.steps) if is_near else (None, ())


def compressed_for(graph: ModuleGraph, step: Step) -> frozenset[str]:
    """Return the symbols of projections that read a linear layer's result."""
    found = (
        letters
        for node, letters in projections(graph).items()
        if layer_before(graph, graph.by_id[node])[0] is step
    )
    return frozenset().union(*found)


def rotated_operand(step: Step) -> Operand:
    """Return the tensor that a rotation rotates: the one of which it reads parts."""
    position = step.roles.get("position", Operand())
    inside = {position.node, *(each.node.id for each in step.inner)}
    all_read = [o for each in step.inner or (step,) for o in each.tensors if o.node not in inside]
    # Tensors that are read whole may be sines and cosines.
    of_parts = [o for o in all_read if any(_PART.match(part) for part in o.parts)]
    read = next((some for some in (all_read, of_parts) if len({o.node for o in some}) == 1), None)
    if read is None:
        return Operand()
    together = zip(*(o.parts for o in read), strict=False)
    common = takewhile(lambda parts: len(set(parts)) == 1, together)
    return Operand(read[0].node, tuple(parts[0] for parts in common))


_PART = re.compile(r"part |chunk |split |unbind |select ")


def _depends_on_input(graph: ModuleGraph, operand: Operand, depth: int = _MAX_DEPTH) -> bool:
    """Return whether an operand depends on an input."""
    given, maker = graph.given.get(operand.node), graph.maker(operand)
    if maker is None or not depth:
        return given is not None and given.kind == "input"
    is_layer = maker.operation in ("linear", "embedding", "rotary")
    return is_layer or any(_depends_on_input(graph, each, depth - 1) for each in maker.tensors)


def expert_choice(experts: Step) -> tuple[Operand | None, Operand | None]:
    """Return the chosen experts and their weights, if both are operands of a mixture."""
    inner = experts.inner
    inside = {each.node.id for each in inner}

    def given_to(operation: str, steps: Iterable[Step]) -> Operand | None:
        read = (o for step in steps if step.operation == operation for o in step.tensors)
        return next((operand for operand in read if operand.node not in inside), None)

    return given_to("look-up", inner), given_to("mul", reversed(inner))


PLAIN_NETWORK, GATED_NETWORK = "feed-forward", "gated feed-forward"
NETWORKS = (PLAIN_NETWORK, GATED_NETWORK)
"""Operations of the graph that are feed-forward networks."""

_USES = {
    (PLAIN_NETWORK, 1): {"1": "first linear layer"},
    (PLAIN_NETWORK, 2): {"1": "first linear layer", "2": "second linear layer"},
    (GATED_NETWORK, 2): {"1": "gate and gated layer", "2": "output layer"},
    (GATED_NETWORK, 3): {"G": "gate", "U": "gated layer", "D": "output layer"},
}
"""Index and use of the linear layers, by kind of network and their number."""


def activation_of(steps: Sequence[Step]) -> Step | None:
    """Return the activation of a network, ``None`` for other forms."""
    return next((s for s in steps if s.operation in ("activation", *FUNCTIONS) and s.tensors), None)


def uses_of(steps: Sequence[Step], kind: str, of: str = "the") -> dict[str, tuple[str, str]]:
    """Return index and use of a network's linear layers by node; ``of`` is the network."""
    linear = [step.node.id for step in steps if step.operation == "linear"]
    act = activation_of(steps)
    if act is not None and act.tensors[0].node in linear[1:2]:
        linear[:2] = linear[1::-1]  # the gate is first
    named = zip(linear, _USES.get((kind, len(linear)), {}).items(), strict=False)
    return {node: (index, f"{of} {use}") for node, (index, use) in named}


def split_gate(steps: Sequence[Step]) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Return the node of the product with gate G and features U, and their parts, in order.

    Empty if the network has separate products.
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
