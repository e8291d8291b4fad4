"""In which step of a walk a module is."""

from collections.abc import Iterator, Sequence

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.flow import Node
from bertviewer.core.walk.walk import WalkStep


def step_of(steps: Sequence[WalkStep], architecture: Architecture, path: str) -> WalkStep | None:
    """Return the step to look at for a module, ``None`` where the walk has none.

    That is its own, else the first in which it or a part of it is done, else the innermost that is
    around it; of a module whose tensors are used under another name, the step of that one.

    Args:
        steps: those of a walk.
        architecture: the model.
        path: the module.
    """
    if not path:
        return None
    alone = [step for step in steps if not step.others]
    around = [step for step in steps if any(_is_in(path, each) for each in _paths(step))]
    found = (
        next((step for step in alone if step.path == path), None)
        or next((s for s in alone if any(_is_in(p, path) for p in _modules(s, architecture))), None)
        or max(around, key=_depth, default=None)
    )
    if found is not None:
        return found
    tied = (t.owner for t in architecture.parameters if t.tied_to and _is_in(t.tied_to, path))
    return next((each for owner in tied if (each := step_of(steps, architecture, owner))), None)


def _paths(step: WalkStep) -> tuple[str, ...]:
    return step.others or ((step.path,) if step.path else ())


def _modules(step: WalkStep, architecture: Architecture) -> set[str]:
    """Return a step's own module, and those that its nodes are and have in them."""
    flows = architecture.flows
    flow = None if flows is None or step.flow is None else flows.flow(step.flow)
    nodes = [] if flow is None else [node for node in flow.nodes if node.id in step.nodes]
    inside = {each.path for each in _all(nodes) if each.path and each.path != step.flow}
    return {*_paths(step), *inside}


def _all(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        yield from _all(node.nodes or ())


def _is_in(path: str, around: str) -> bool:
    return path == around or path.startswith(f"{around}.")


def _depth(step: WalkStep) -> int:
    return max(each.count(".") for each in _paths(step))
