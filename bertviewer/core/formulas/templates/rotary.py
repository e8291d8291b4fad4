"""Rotary position embeddings: the module that computes angles, and rotations of pairs."""

from collections.abc import Mapping
from typing import Any

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.formulas.formula import ROTATION, Term, indices, number_maths
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.template import Match, Template
from bertviewer.core.graph.module_graph import Step

_NEIGHBOURS = ("1::2]", ", ::2]", "0::2]")


def has_angles(view: ModuleView) -> bool:
    """Return whether a module only computes cosines and sines of positions."""
    graph = view.graph
    given = () if graph.steps else graph.given.values()
    return any(node.name == "sines and cosines" for node in given)


def _rotary_positions(view: ModuleView) -> Match | None:
    """A module that computes cosines and sines of positions, without scaling."""
    graph, bases = view.graph, _bases(view.config)
    if not has_angles(view) or not bases:
        return None
    shapes = [node.shape for node, _ in graph.results if node.shape]
    if not shapes:
        return None
    size, half = shapes[0][-1], shapes[0][-1] // 2
    base = '"base"'
    if len(bases) == 1:
        number = number_maths(*bases.values())
        base = f"({number})" if "^" in number else number
    shown = "; ".join(f"{value:g} for {kind.replace('_', ' ')}" for kind, value in bases.items())
    return Match(
        maths=(
            f"{ROTATION}(x)_i = x_i cos(s theta_i) - x_(i + {half}) sin(s theta_i)",
            f"{ROTATION}(x)_(i + {half}) = x_(i + {half}) cos(s theta_i) + x_i sin(s theta_i)",
            f"theta_i = {base}^(-2i \\/ {size}), quad i = {indices(half)}",
        ),
        terms=(
            Term("x", "query or key of one head at position s", shape_text((size,))),
            Term("s", "position, counted from 0"),
            Term(
                "theta_i",
                "rotation angle of pair i per position; the base is " + shown.removesuffix(" for "),
            ),
        ),
        values={"half": half},
    )


def _bases(config: Mapping[str, Any]) -> Mapping[str, float]:
    """Return the base of the angles by kind of layer; none for scaled rotations."""
    default = {"rope_type": "default", "rope_theta": config.get("rope_theta")}
    settings: Any = config.get("rope_parameters") or default
    if not isinstance(settings, Mapping):
        return {}
    kinds = settings if "rope_theta" not in settings else {"": settings}
    plain = {
        kind: float(entry["rope_theta"])
        for kind, entry in kinds.items()
        if isinstance(entry, Mapping)
        and isinstance(entry.get("rope_theta"), int | float)
        and entry.get("rope_type") == "default"
    }
    return plain if len(plain) == len(kinds) else {}


def rotated_size(step: Step, head: int) -> int:
    """Return the number of a head's features that are rotated."""
    inner = {each.node.id: each for each in step.inner}
    last = step.inner[-1] if step.inner else step
    if len(inner) == 1:  # complex numbers are pairs of features
        return min(2 * step.node.shape[-1], head)
    own = [inner[o.node] for o in last.tensors if o.node in inner]
    is_partial = last.operation == "cat" and 0 < len(own) < len(last.tensors)
    return min((own[0] if is_partial else step).node.shape[-1], head)


def pair_lines(step: Step | None, head: int, base: float | None = None) -> tuple[str, ...]:
    """Return the lines of a rotation of neighbouring features, with angles if ``base`` is known.

    None for other rotations, which the formula of the module with the angles has.
    """
    if step is None:
        return ()
    parts = [part for each in step.inner for o in each.operands for part in o.parts]
    # Without parts it is one product of complex numbers.
    if not any(part.endswith(_NEIGHBOURS) for part in parts) and (parts or len(step.inner) != 1):
        return ()
    size = rotated_size(step, head)
    angle = "" if base is None else f"theta_i = {base:g}^(-2i \\/ {size}), quad "
    return (
        f"{ROTATION}(x)_(2i) = x_(2i) cos(s theta_i) - x_(2i+1) sin(s theta_i)",
        f"{ROTATION}(x)_(2i+1) = x_(2i+1) cos(s theta_i) + x_(2i) sin(s theta_i)",
        f"{angle}i = {indices(size // 2)}",
    )


ROTARY_POSITIONS = Template(
    "rotary positions",
    _rotary_positions,
    title="Rotary position embedding",
    summary="Computes the angles by which attention rotates queries and keys, so that their "
    "product depends on the distance between two tokens.",
    notes=(
        "Features i and i + {half} of a head form a point in a plane, which is rotated by position "
        "s times the angle of pair i. Fast rotations distinguish nearby positions, slow ones "
        "distant positions.",
        "Rotating a query and a key by their positions leaves only the difference of the positions "
        "in their product: order is encoded without position vectors.",
        "This module computes the cosines and sines; each layer’s attention applies them. It has "
        "no parameters.",
    ),
    keys=("rotation", "head size", "width", "heads"),
    source="Su et al. 2021, section 3.2; pairs as in transformers’ code",
)
