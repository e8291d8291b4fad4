"""Which steps of a formula have a line of their own, and which stand inside another one's."""

from collections import Counter
from collections.abc import Mapping

from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.steps.loops import NOW
from bertviewer.core.formulas.steps.origins import origins

MOST_IN_ONE = 3
"""So many small steps stand in one line."""

_WORDS = 24
"""So many letters of the code's own take as much of a line as a small step."""
_ALONE = ("attention", "routing", "experts", "position bias", "convolution")
_APART = ("routing", "experts", "position bias")
_TAKES_LINEAR = ("residual", "add", "activation", "mul")


def own_steps(steps: ModuleGraph, rounds: Mapping[str, int]) -> frozenset[str]:
    """Return the steps that have a line of their own; those of a loop are told by ``rounds``."""
    named = {node for node, _ in origins(steps)} | _across(steps, rounds)
    uses: Counter[str] = Counter()
    user: dict[str, Step] = {}
    for step in steps.steps:
        read = [o.node for o in step.operands if o.node]
        for node in read or [o.node for o in step.roles.values()]:
            uses[node] += 1
            user[node] = step
    for _, operand in steps.results:
        uses[operand.node] += 2
    size: dict[str, int] = {}
    own: set[str] = set()
    for step in steps.steps:
        node = step.node.id
        size[node] = _width(step) + sum(
            size.get(o.node, 0) for o in step.tensors if o.node not in own
        )
        taker = user.get(node)
        is_apart = uses[node] != 1 or node in named or bool(step.outputs)
        if is_apart or not _stands_inside(step, taker, size[node]):
            own.update(step.ids)
    return frozenset(own)


def _width(step: Step) -> int:
    """Return how much of a line a step takes: more, if it says much in words."""
    if step.operation == "embedding":
        return 0
    words = (text for o in step.operands for text in (o.key, o.plain, *o.parts))
    return 1 + sum(map(len, words)) // _WORDS


def _across(steps: ModuleGraph, rounds: Mapping[str, int]) -> set[str]:
    """Return the values of a loop that another round, or what comes after it, reads."""
    return {
        each.node
        for step in steps.steps
        for each in step.operands
        if each.node in rounds and (each.parts[:1] != (NOW,) or step.node.id not in rounds)
    }


def _stands_inside(step: Step, taker: Step | None, size: int) -> bool:
    if taker is None:
        return False
    node, kind, other = step.node, step.node.operation or "", taker.node.operation
    if size > MOST_IN_ONE or node.repeat is not None:
        return False
    if kind in _ALONE or other in _APART:
        return False
    if taker.node.repeat is not None:
        return False
    if kind == "embedding":
        return other in _TAKES_LINEAR or "norm" in (other or "")
    if kind == "linear":
        return other in _TAKES_LINEAR and size == 1
    if node.kind == "module" and not kind:
        return other == "residual"
    return True
