"""Where queries, keys and values come from: the linear layers, or parts of one, that make them."""

from collections.abc import Mapping, Sequence

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.graph import ModuleGraph, Step

ROLES = {"query": "Q", "key": "K", "value": "V"}
"""The letters of what goes into an attention."""

# Through these a query is still a query.
_PASSED = ("rotary", "rms norm", "layer norm", "mul", "div", "add", "scale and shift", "cat")

Place = tuple[str, tuple[str, ...]]
"""A node's id, and what is taken of what it gives."""


def origins(steps: ModuleGraph) -> dict[Place, str]:
    """Return the linear layers, or parts of them, that make queries, keys and values."""
    by_id = {step.node.id: step for step in steps.steps}
    found: dict[Place, str] = {}
    primes = ""
    for step in steps.steps:
        if step.node.operation == "attention":
            for role, letter in ROLES.items():
                operand = step.roles.get(role)
                made = None if operand is None else _origin(operand, by_id)
                if made is not None:
                    found.setdefault((made.node, made.parts), letter + primes)
            primes += "'"
    return found


def _origin(operand: Operand, by_id: Mapping[str, Step]) -> Operand | None:
    """Return the linear layer, or the part of one, that a query, key or value comes from."""
    for _ in range(4):
        step = by_id.get(operand.node)
        if step is None or step.node.operation == "linear":
            return None if step is None else operand
        if step.node.operation == "rotary":
            operand = turned_by(step)
            continue
        sources = {(o.node, o.parts): o for o in step.tensors if o.node in by_id}
        if step.node.operation not in _PASSED or operand.parts or len(sources) != 1:
            return None
        operand = next(iter(sources.values()))
    return None


def turned_by(step: Step) -> Operand:
    """Return what a rotation turns: what all the parts that it reads are parts of."""
    position = step.roles.get("position")
    inner = step.inner
    inside = {each.node.id for each in inner} | {position.node if position else ""}
    read = [o for each in inner for o in each.operands if o.node and o.node not in inside]
    read = read or [o for o in step.tensors if o.node not in inside]
    if not read or len({o.node for o in read}) != 1:
        return Operand()
    return Operand(read[0].node, _common([o.parts for o in read]))


def _common(several: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return what all begin with."""
    found = []
    for parts in zip(*several, strict=False):
        if len(set(parts)) > 1:
            break
        found.append(parts[0])
    return tuple(found)


def expert_choice(experts: Step) -> tuple[Operand | None, Operand | None]:
    """Return which experts are chosen, and their weights, where a mixture is given both."""
    inner = experts.inner
    inside = {each.node.id for each in inner}
    chosen = next(
        (
            o
            for each in inner
            if each.node.operation == "look-up"
            for o in each.tensors
            if o.node not in inside
        ),
        None,
    )
    weights = next(
        (
            o
            for each in reversed(inner)
            if each.node.operation == "mul"
            for o in each.tensors
            if o.node not in inside
        ),
        None,
    )
    return chosen, weights
