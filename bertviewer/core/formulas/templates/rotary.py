"""Rotary positions: the module that computes the angles (Su et al. 2021, section 3.2)."""

from collections.abc import Mapping
from typing import Any

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import ROTATION, indices, number_maths
from bertviewer.core.formulas.templates.template import Match, Template


def _rotary_positions(view: ModuleView) -> Match | None:
    """A module whose outputs are cosines and sines of positions; plain rotations only."""
    graph, bases = view.graph, _bases(view.config)
    if graph is None or graph.steps or not bases:
        return None
    shapes = [node.shape for node, _ in graph.results if node.shape]
    if not shapes or "sines and cosines" not in {node.name for node in graph.given.values()}:
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
    """Return the base of the angles by kind of layer; none if the rotation is stretched."""
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
