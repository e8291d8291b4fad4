"""Where a module's result is used: its steps in the graphs of the modules around it."""

from collections.abc import Iterator

from msgspec import Struct

from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.graph.module_graph import ModuleGraph, Step
from bertviewer.core.schema.modules import ancestors


class Place(Struct, frozen=True):
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
    _, *above = ancestors(view.node.path)
    for around in filter(None, map(view.at, above)):
        if (graph := around.graph) is None:
            continue
        for group in (None, *graph.steps):
            held = graph.steps if group is None else group.inner
            if own := tuple(step for step in held if _is_part(step, view.node.path)):
                yield Place(around, graph, own, group)
                break


def _is_part(step: Step, path: str) -> bool:
    return f"{step.node.path or ''}.".startswith(f"{path}.")
