"""Where a module's result is used: its steps in the graphs of the modules around it."""

from collections.abc import Iterator

from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.frozen import frozen


@frozen
class Place:
    """A module as part of another module's graph.

    Attributes:
        view: the enclosing module.
        graph: the enclosing module's graph.
        steps: the steps that are the module, or parts of it; of a group's inner steps if it is
            within a group.
        group: the step of the group that contains them, ``None`` outside of groups.
    """

    view: ModuleView
    graph: ModuleGraph
    steps: tuple[Step, ...]
    group: Step | None = None


def places(view: ModuleView) -> Iterator[Place]:
    """Yield the module's places in the modules around it, the innermost first."""
    path = view.node.path
    parent = view.node.parent
    while parent is not None:
        around = view.at(parent)
        if around is not None and around.graph is not None:
            yield from _places_in(around, around.graph, path)
        parent = None if not parent else parent.rpartition(".")[0]


def _places_in(view: ModuleView, graph: ModuleGraph, path: str) -> Iterator[Place]:
    own = tuple(step for step in graph.steps if _is_part(step, path))
    if own:
        yield Place(view, graph, own)
        return
    for step in graph.steps:
        inner = tuple(each for each in step.inner if _is_part(each, path))
        if inner:
            yield Place(view, graph, inner, step)
            return


def _is_part(step: Step, path: str) -> bool:
    own = step.node.path or ""
    return own == path or own.startswith(f"{path}.")
