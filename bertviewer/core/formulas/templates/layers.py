"""Which modules apply whole layers: runs of a list's members, in a module or in its children."""

from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.graph.module_graph import Step

_IN_LAYERS = ("residual", "attention")


def runs_of(view: ModuleView) -> tuple[Step, ...]:
    """Return the layers that a module's own code applies in sequence, of each list as one step."""
    calls = view.calls
    return () if calls is None else tuple(s for s in calls.steps if _is_of_layers(view, s))


def _is_of_layers(view: ModuleView, step: Step) -> bool:
    """Return whether a step is of whole layers: not of convolutions, nor of one layer's parts."""
    flows, path = view.architecture.flows, step.node.path or ""
    if step.node.repeat is None or flows is None:
        return False
    below = (n.path for n in view.architecture.modules if f"{n.path}.".startswith(f"{path}."))
    known = (flow for each in below if (flow := flows.flow(each)) is not None)
    return any(node.operation in _IN_LAYERS for flow in known for node in flow.all_nodes())


def stacks_of(view: ModuleView) -> tuple[Step, ...]:
    """Return the calls of children that apply layers themselves or in a child."""
    steps = () if view.calls is None else view.calls.steps
    children = (s for s in steps if s.is_call and s.node.repeat is None and s.node.path)
    return tuple(step for step in children if has_layers(view.at(step.node.path or "")))


def has_layers(view: ModuleView | None) -> bool:
    """Return whether a module applies layers, itself or in a child."""
    if view is None:
        return False
    if view.calls is None:  # it is not called itself
        return any(has_layers(view.at(child.path)) for child in view.children.values())
    return bool(runs_of(view) or stacks_of(view))


def is_tower(view: ModuleView) -> bool:
    """Return whether a module is one of several stacks of a model, or all that a wrapper holds."""
    around = None if view.node.parent is None else view.at(view.node.parent)
    if around is None:
        return False
    return around.calls is None or len(stacks_of(around)) > 1 or len(around.calls.steps) == 1


def uncalled(view: ModuleView) -> list[str]:
    """Return the children with parameters that the traced forward pass does not call."""
    flows = view.architecture.flows
    called = [] if flows is None else [f"{path}." for path in (*flows.distinct, *flows.like)]
    return [
        name
        for name, child in view.children.items()
        if child.parameters and not any(path.startswith(f"{child.path}.") for path in called)
    ]
