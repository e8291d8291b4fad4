"""Rotary positions: the module that computes the angles (Su et al. 2021, section 3.2)."""

from collections.abc import Mapping
from typing import Any

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import ROTATION, indices, number_maths
from bertviewer.core.formulas.templates.template import Template


def _rotary_positions(view: ModuleView) -> Formula | None:
    """A module whose outputs are cosines and sines of positions; plain rotations only."""
    graph = view.graph
    if graph is None or graph.steps:
        return None
    if not any(node.name == "sines and cosines" for node in graph.given.values()):
        return None
    bases, size = _bases(view), _rotated_size(view)
    if not bases or size is None:
        return None
    if len(bases) == 1:
        base = next(iter(bases.values()))
        return _formula(view, size, f"{base:g}", f"= {_base_maths(base, size)}")
    shown = "; ".join(f"{base:g} for {kind.replace('_', ' ')}" for kind, base in bases.items())
    return _formula(view, size, shown, f'= "base"^(-2i \\/ {size})')


def _bases(view: ModuleView) -> Mapping[str, float]:
    """Return the base of the angles by kind of layer; none if the rotation is stretched."""
    settings: Any = view.config.get("rope_parameters") or {
        "rope_type": "default",
        "rope_theta": view.config.get("rope_theta"),
    }
    if not isinstance(settings, Mapping):
        return {}
    kinds = settings if "rope_theta" not in settings else {"": settings}
    bases = {}
    for kind, entry in kinds.items():
        base = entry.get("rope_theta") if isinstance(entry, Mapping) else None
        if not isinstance(base, int | float) or entry.get("rope_type") != "default":
            return {}
        bases[kind] = float(base)
    return bases


def _rotated_size(view: ModuleView) -> int | None:
    """Return how many features of a head are rotated, as the module's output has them."""
    graph = view.graph
    shapes = [] if graph is None else [node.shape for node, _ in graph.results if node.shape]
    return shapes[0][-1] if shapes else None


def _base_maths(base: float, size: int) -> str:
    number = number_maths(base)
    return f"{f'({number})' if '^' in number else number}^(-2i \\/ {size})"


def _formula(view: ModuleView, size: int, base: str, angle: str) -> Formula:
    half = size // 2
    return Formula(
        title="Rotary position embedding",
        summary="Computes the angles by which attention rotates queries and keys, so that their "
        "product depends on the distance between two tokens.",
        maths=(
            f"{ROTATION}(x)_i = x_i cos(s theta_i) - x_(i + {half}) sin(s theta_i)",
            f"{ROTATION}(x)_(i + {half}) = x_(i + {half}) cos(s theta_i) + x_i sin(s theta_i)",
            f"theta_i {angle}, quad i = {indices(half)}",
        ),
        terms=(
            Term("x", "query or key of one head at position s", shape_text((size,))),
            Term("s", "position, counted from 0"),
            Term("theta_i", f"rotation angle of pair i per position; the base is {base}"),
        ),
        notes=(
            f"Features i and i + {half} of a head form a point in a plane, which is rotated by "
            "position s times the angle of pair i. Fast rotations distinguish nearby positions, "
            "slow ones distant positions.",
            "Rotating a query and a key by their positions leaves only the difference of the "
            "positions in their product: order is encoded without position vectors.",
            "This module computes the cosines and sines; each layer’s attention applies them. It "
            "has no parameters.",
        ),
        config_keys=view.keys("rotation", "head size", "width", "heads"),
        source="Su et al. 2021, section 3.2; pairs as in transformers’ code",
    )


ROTARY_POSITIONS = Template("rotary positions", _rotary_positions)
