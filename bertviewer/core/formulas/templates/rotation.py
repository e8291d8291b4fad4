"""Rotary positions as part of an attention: what is rotated, and by which module's angles."""

from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.graph import Step, graph_of
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import ROTATION, indices
from bertviewer.core.frozen import frozen

_ANGLES = "sines and cosines"
_NEIGHBOURS = ("1::2]", ", ::2]", "0::2]")


@frozen
class Rotation:
    """How queries and keys are rotated.

    Attributes:
        size: how many features of a head are rotated.
        are_neighbours: whether neighbouring features are a pair; else the halves' features are.
        rotates_values: whether values are rotated too.
        angles: the module that computes the angles, "" if that is not known.
    """

    size: int
    are_neighbours: bool
    rotates_values: bool
    angles: str


def rotation_of(
    view: ModuleView, query: tuple[Step, ...], value: tuple[Step, ...], head: int
) -> Rotation | None:
    """Return how the queries are rotated, ``None`` if they are not."""
    step = next((each for each in query if each.operation == "rotary"), None)
    if step is None:
        return None
    return Rotation(
        min(rotated_size(step), head),
        are_neighbours(step),
        any(each.operation == "rotary" for each in value),
        angles_of(view),
    )


def rotated_size(step: Step) -> int:
    """Return how many features a rotation rotates: others may be put next to them."""
    inner = {each.node.id: each for each in step.inner}
    last = step.inner[-1] if step.inner else None
    if len(inner) == 1:  # complex numbers are pairs of features
        return 2 * step.node.shape[-1]
    if last is not None and last.operation == "cat":
        own = [inner[o.node] for o in last.tensors if o.node in inner]
        if len(own) < len(last.tensors) and own and own[0].node.shape:
            return own[0].node.shape[-1]
    return step.node.shape[-1]


def are_neighbours(step: Step) -> bool:
    """Return whether a rotation's pairs are neighbouring features."""
    parts = [part for each in step.inner for o in each.operands for part in o.parts]
    if parts:
        return any(part.endswith(_NEIGHBOURS) for part in parts)
    # One product of complex numbers, whose parts are neighbours.
    return len(step.inner) == 1


def angles_of(view: ModuleView) -> str:
    """Return the name of the module that computes a rotation's angles, "" if not known."""
    flows, path = view.architecture.flows, view.node.path
    fixed = {t.owner for t in view.architecture.parameters if not t.trainable}
    while path and flows is not None:
        path = path.rpartition(".")[0]
        around = view.at(path)
        if around is not None and around.graph is not None:
            paths = [step.node.path or "" for step in around.graph.of("embedding")]
            if (found := next((each for each in paths if each in fixed), "")) != "":
                return found.rpartition(".")[2]
        for child in view.architecture.children(path):
            flow = flows.flow(child.path)
            graph = None if flow is None else graph_of(flow)
            given = () if graph is None or graph.steps else graph.given.values()
            if any(node.name == _ANGLES for node in given):
                return child.name
    return ""


def pair_maths(size: int, base: float | None) -> tuple[str, ...]:
    """Return how pairs of neighbouring features are rotated, and their angles if known."""
    angle = "" if base is None else f"theta_i = {base:g}^(-2i \\/ {size}), quad "
    return (
        f"{ROTATION}(x)_(2i) = x_(2i) cos(s theta_i) - x_(2i+1) sin(s theta_i)",
        f"{ROTATION}(x)_(2i+1) = x_(2i+1) cos(s theta_i) + x_(2i) sin(s theta_i)",
        f"{angle}i = {indices(size // 2)}",
    )


def pair_terms(size: int) -> tuple[Term, ...]:
    """Return the terms of ``pair_maths``."""
    return (
        Term("x", "query or key of one head at position s", f"[{size}]"),
        Term("s", "position, counted from 0"),
        Term("theta_i", "rotation angle of pair i per position"),
    )


def rotation_term() -> Term:
    """Return the term that explains the operator."""
    turned = "rotates pairs of features by an angle that grows with the position"
    return Term(ROTATION, f"{turned}; no parameters")
