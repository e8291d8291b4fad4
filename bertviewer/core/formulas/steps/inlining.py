"""Which steps of a formula have their own line, and which are part of another step's line."""

from bertviewer.core.formulas.steps.loops import NOW, rounds_of
from bertviewer.core.formulas.steps.origins import origins
from bertviewer.core.graph.module_graph import ModuleGraph, Step

_MOST_IN_ONE = 3
"""So many small steps are in one line."""
_WORDS = 24
"""So many letters of the code's words take as much of a line as a small step."""
_ALONE = ("attention", "routing", "experts", "position bias", "convolution")
_APART = ("routing", "experts", "position bias")
_TAKES_LINEAR = ("residual", "add", "activation", "mul")


def own_steps(graph: ModuleGraph) -> frozenset[str]:
    """Return the nodes that have their own line."""
    rounds = rounds_of(graph)
    users: dict[str, list[Step | None]] = {}
    for step in graph.steps:
        for each in step.tensors or step.roles.values():
            users.setdefault(each.node, []).append(step)
    for _, operand in graph.results:
        users.setdefault(operand.node, []).append(None)
    own = {node for node, _ in origins(graph)}
    # Values of a loop that another round, or what comes after it, reads.
    own |= {
        each.node
        for step in graph.steps
        for each in step.operands
        if each.node in rounds and (each.parts[:1] != (NOW,) or step.node.id not in rounds)
    }
    sizes: dict[str, int] = {}
    for step in graph.steps:
        read = [sizes[o.node] for o in step.tensors if o.node in sizes and o.node not in own]
        size = sizes[step.node.id] = _width(step) + sum(read)
        user, *others = users.get(step.node.id, [None])
        if user is None or others or step.outputs or not _is_part(step, user, size):
            own.update(step.ids)
    return frozenset(own & graph.by_id.keys())


def _width(step: Step) -> int:
    """Return how much of a line a step takes: more, if much of it is in words."""
    words = (text for o in step.operands for text in (o.key, o.plain, *o.parts))
    return 0 if step.operation == "embedding" else 1 + sum(map(len, words)) // _WORDS


def _is_part(step: Step, user: Step, size: int) -> bool:
    """Return whether a step is part of the line of the only step that reads it."""
    kind, other = step.operation, user.operation
    is_run = step.node.repeat is not None or user.node.repeat is not None
    if size > _MOST_IN_ONE or is_run or kind in _ALONE or other in _APART:
        return False
    if kind == "embedding":
        return other in _TAKES_LINEAR or "norm" in other
    if kind == "linear":
        return other in _TAKES_LINEAR and size == 1
    return other == "residual" if step.is_call else True
