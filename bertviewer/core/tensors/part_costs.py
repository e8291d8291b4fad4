"""Which parts of a model multiply most, and what one head of an attention has of it."""

from collections.abc import Mapping
from math import prod

from msgspec import Struct, field

from bertviewer.core.analysis.attention_places import attention_paths
from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.tensors.heads import Part, attention_of_tensor, head_layout


class PartCost(Struct, frozen=True):
    """Multiply-adds that a module does itself, not in a module inside, over all equal layers.

    Attributes:
        path: the module, in the first of the equal layers.
        label: its path below the module that is asked about, with the numbers of all equal
            layers, as ``layer.0–5.output``; empty for that module itself.
        macs: in all of these layers together.
    """

    path: str
    label: str
    macs: int


class HeadCost(Struct, frozen=True):
    """What one head has of an attention's weights and multiply-adds.

    Attributes:
        heads: how many heads ask: those of the queries. Several may share one of keys and values,
            which is counted for each of them.
        parameters: by part, without the bias of the output's projection, which no head has alone.
        macs: of the projections, the scores and the weighted values, for all tokens; 0 where no
            formula is known.
        output_macs: of the output's projection; 0 where that is part of ``macs``.
    """

    heads: int
    parameters: Mapping[Part, int] = field(default_factory=dict)
    macs: int = 0
    output_macs: int = 0


def own_macs(architecture: Architecture, values: Mapping[str, int]) -> dict[str, int]:
    """Return the multiply-adds that modules do themselves, by path; only those that do some."""
    costs = architecture.costs
    if costs is None:
        return {}
    totals = {
        path: evaluate(found.macs, values)
        for path, found in costs.modules.items()
        if found.macs and found.macs != "0"
    }
    own = dict(totals)
    for path, macs in totals.items():
        above = next((one for one in _above(path) if one in totals), None)
        if above is not None:
            own[above] -= macs
    return {path: macs for path, macs in own.items() if macs > 0}


def part_costs(
    architecture: Architecture, path: str, values: Mapping[str, int]
) -> tuple[PartCost, ...]:
    """Return what in a module multiplies most, the most expensive part first."""
    nodes = {node.path: node for node in architecture.modules}
    prefix = f"{path}." if path else ""
    found: dict[str, tuple[str, int]] = {}
    for part, macs in own_macs(architecture, values).items():
        if part == path or part.startswith(prefix):
            label = "" if part == path else _label(part, prefix, nodes)
            first, before = found.get(label, (part, 0))
            found[label] = first, before + macs
    parts = (PartCost(part, label, macs) for label, (part, macs) in found.items())
    return tuple(sorted(parts, key=lambda part: -part.macs))


def head_cost(architecture: Architecture, path: str, values: Mapping[str, int]) -> HeadCost | None:
    """Return what one head has of the attention at a path, ``None`` if it is divided by none."""
    if path not in attention_paths(architecture):
        return None
    parameters: dict[Part, int] = {}
    heads, owners = 0, {}
    around = next(iter(_above(path)), "")
    for tensor in architecture.parameters:
        # The output's projection may be next to the attention; all else is inside.
        if not tensor.owner.startswith(around):
            continue
        layout = head_layout(architecture, tensor)
        if layout is None or attention_of_tensor(architecture, tensor) != path:
            continue
        divided = tensor.shape[0 if layout.axis == "rows" else -1]
        for part in layout.parts:
            each = prod(tensor.shape) * layout.size // divided
            parameters[part] = parameters.get(part, 0) + each
        owners[tensor.owner] = layout.parts, len(layout.parts) * layout.size, divided
        if "query" in layout.parts:
            heads = layout.heads
    if not heads:
        return None
    own = own_macs(architecture, values)
    macs = {"output": 0, "": own.get(path, 0) // heads}
    for owner, (parts, size, divided) in owners.items():
        if owner != path:
            share = own.get(owner, 0) * size // divided
            macs["output" if parts == ("output",) else ""] += share
    return HeadCost(heads, parameters, macs[""], macs["output"])


def _above(path: str) -> list[str]:
    """Return the paths around a module, from the inside out; the model itself is the last."""
    parts = path.split(".") if path else []
    return [".".join(parts[:end]) for end in range(len(parts) - 1, -1, -1)]


def _label(path: str, prefix: str, nodes: Mapping[str, ModuleNode]) -> str:
    """Return a path below a prefix, equal layers by the numbers of all of them."""
    names, whole = [], prefix.removesuffix(".")
    for name in path.removeprefix(prefix).split("."):
        whole = f"{whole}.{name}" if whole else name
        repeat = nodes[whole].repeat if whole in nodes else None
        is_several = repeat is not None and repeat.count > 1
        names.append(f"{repeat.first}–{repeat.last}" if repeat and is_several else name)
    return ".".join(names)
