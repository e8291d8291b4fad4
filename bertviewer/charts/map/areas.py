"""How large modules are, for the treemap: parameters, multiply-adds or memory."""

from collections.abc import Mapping
from typing import Literal

from bertviewer.charts.treemap import Area
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.modules import ModuleNode

AreaKind = Literal["parameters", "macs", "memory"]
AREA_KINDS: tuple[AreaKind, ...] = ("parameters", "macs", "memory")

_BYTES = {"64": 8, "32": 4, "16": 2, "8": 1}


def areas_of(
    architecture: Architecture, kind: AreaKind, run: ActivationRun | None = None, path: str = ""
) -> Area:
    """Return a module and all in it with how large they are.

    A module that has more than its parts have has the rest as a part of its own, without a name.
    Memory is that of the weights, each in its own dtype.

    Args:
        architecture: the model.
        kind: what is measured.
        run: its last run, whose multiply-adds count; without one those of the formulas.
        path: the module.
    """
    sizes = _sizes(architecture, kind, run)
    nodes = {node.path: node for node in architecture.modules}

    def area(node: ModuleNode) -> Area:
        parts = [area(child) for child in architecture.children(node.path)]
        held = sum(part.value for part in parts)
        value = max(sizes.get(node.path, held), held)
        rest = value - held
        if parts and rest > 1e-6 * value:
            parts.append(Area(node.path, "", rest))
        parts = [part for part in parts if part.value > 0]
        name = node.name or node.class_name
        return Area(node.path, name, value, tuple(parts), node.repeat is not None)

    return area(nodes[path])


def _sizes(
    architecture: Architecture, kind: AreaKind, run: ActivationRun | None
) -> Mapping[str, float]:
    match kind:
        case "parameters":
            return {node.path: float(node.parameters) for node in architecture.modules}
        case "memory":
            return {
                node.path: float(
                    sum(
                        tensor.numel * _width(tensor.dtype)
                        for tensor in architecture.tensors_below(node.path)
                        if tensor.tied_to is None
                    )
                )
                for node in architecture.modules
            }
        case "macs":
            return _macs(architecture, run)


def _macs(architecture: Architecture, run: ActivationRun | None) -> Mapping[str, float]:
    """Return multiply-adds as the run counted them, or by the formulas, or of the flows."""
    if run is not None:
        return {each.path: float(each.macs) for each in run.modules if each.macs is not None}
    costs, found = architecture.costs, dict[str, float]()
    values = bindings(architecture)
    flows = architecture.flows
    for node in architecture.modules:
        count = None if costs is None else costs.macs(node.path, values)
        if count is None and costs is None and flows is not None:
            flow = flows.flow(node.path)
            count = None if flow is None else flow.macs
        if count is not None:
            found[node.path] = float(count)
    return found


def _width(dtype: str) -> float:
    """Return how many bytes an element takes."""
    if dtype.startswith("bool"):
        return 1
    digits = "".join(letter for letter in dtype.partition("_")[0] if letter.isdecimal())
    return _BYTES.get(digits, 4)
