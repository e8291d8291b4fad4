"""Sizes and multiply-adds by part: a model's outline, its most expensive parts, and one head."""

from collections.abc import Mapping
from math import prod

from msgspec import Struct, field

from bertviewer.core.analysis.attention_modules import attention_paths, is_attention
from bertviewer.core.analysis.heads import Part, attention_of_tensor, head_layout
from bertviewer.core.analysis.layers import layer_stacks
from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode, ancestors
from bertviewer.core.schema.outline import Outline, StackOutline


class PartCost(Struct, frozen=True):
    """A module's own multiply-adds, without those of modules inside, over all equal layers.

    Attributes:
        path: the module, in the first of the equal layers.
        label: its path below the requested module, with the numbers of all equal layers, such as
            ``layer.0–5.output``; empty for that module itself.
        macs: in all of these layers together.
    """

    path: str
    label: str
    macs: int


class HeadCost(Struct, frozen=True):
    """The share of one head in an attention's weights and multiply-adds.

    Attributes:
        heads: the number of query heads. Several may share a key and value head, which is counted
            for each of them.
        parameters: by part, without the bias of the output projection, which is not divided.
        macs: of projections, scores and weighted values, for all tokens; 0 without a formula.
        output_macs: of the output projection; 0 if it is part of ``macs``.
    """

    heads: int
    parameters: Mapping[Part, int] = field(default_factory=dict)
    macs: int = 0
    output_macs: int = 0


def outline_of(architecture: Architecture) -> Outline | None:
    """Return a model's outline; ``None`` without layers or without a known width."""
    stacks = layer_stacks(architecture)[:2]
    sizes = {symbol.name: symbol.value for symbol in architecture.symbols}
    if not stacks or not {"D", "A"} <= sizes.keys():
        return None
    order = {node.path: number for number, node in enumerate(architecture.modules)}
    first = order[stacks[0][0].path]
    layers = tuple(f"{node.path}." for stack in stacks for node in stack)
    outside = [
        tensor
        for tensor in architecture.parameters
        if tensor.tied_to is None and not f"{tensor.owner}.".startswith(layers)
    ]
    before = sum(tensor.numel for tensor in outside if order[tensor.owner] < first)
    calls = sizes.get("N", 0) if len(stacks) == 1 else 0
    return Outline(
        class_name=architecture.root.class_name,
        parameters=architecture.root.parameters,
        before=before,
        after=sum(tensor.numel for tensor in outside) - before,
        width=sizes["D"],
        heads=sizes["A"],
        stacks=tuple(_stack_outline(architecture, stack, calls) for stack in stacks),
    )


def _stack_outline(
    architecture: Architecture, stack: tuple[ModuleNode, ...], calls: int
) -> StackOutline:
    layer = stack[0]
    attention, inside = 0, "."
    for node in architecture.modules:
        if not node.path.startswith(f"{layer.path}.") or not is_attention(node):
            continue
        if not node.path.startswith(inside):
            attention, inside = attention + node.parameters, f"{node.path}."
    return StackOutline(max(len(stack), calls), len(stack), attention, layer.parameters - attention)


def _own_macs(architecture: Architecture, values: Mapping[str, int]) -> dict[str, int]:
    """Return the multiply-adds of modules without those inside, by path; positive ones only."""
    if architecture.costs is None:
        return {}
    totals = {
        path: evaluate(found.macs, values)
        for path, found in architecture.costs.modules.items()
        if found.macs and found.macs != "0"
    }
    own = dict(totals)
    for path, macs in totals.items():
        around = (above for above in ancestors(path) if above != path)
        above = next((one for one in around if one in totals), None)
        if above is not None:
            own[above] -= macs
    return {path: macs for path, macs in own.items() if macs > 0}


def part_costs(
    architecture: Architecture, path: str, values: Mapping[str, int]
) -> tuple[PartCost, ...]:
    """Return the parts of a module with the most multiply-adds, the most expensive first."""
    prefix = f"{path}." if path else ""
    found: dict[str, tuple[str, int]] = {}
    for part, macs in _own_macs(architecture, values).items():
        if part == path or part.startswith(prefix):
            label = "" if part == path else _label(architecture, part, prefix)
            first, before = found.get(label, (part, 0))
            found[label] = first, before + macs
    parts = (PartCost(part, label, macs) for label, (part, macs) in found.items())
    return tuple(sorted(parts, key=lambda part: -part.macs))


def head_cost(architecture: Architecture, path: str, values: Mapping[str, int]) -> HeadCost | None:
    """Return the share of one head of the attention at ``path``, ``None`` without heads."""
    if path not in attention_paths(architecture):
        return None
    parameters: dict[Part, int] = {}
    heads = 0
    own = _own_macs(architecture, values)
    macs: dict[str, tuple[bool, int]] = {}
    # The output projection may be next to the attention; all else is inside.
    for tensor in architecture.tensors_below(path.rpartition(".")[0]):
        layout = head_layout(architecture, tensor)
        if layout is None or attention_of_tensor(architecture, tensor) != path:
            continue
        divided = tensor.shape[0 if layout.axis == "rows" else -1]
        for part in layout.parts:
            each = prod(tensor.shape) * layout.size // divided
            parameters[part] = parameters.get(part, 0) + each
        if tensor.owner != path:
            share = own.get(tensor.owner, 0) * len(layout.parts) * layout.size // divided
            macs[tensor.owner] = layout.parts == ("output",), share
        if "query" in layout.parts:
            heads = layout.heads
    if not heads:
        return None
    output = sum(share for is_output, share in macs.values() if is_output)
    inner = sum(share for is_output, share in macs.values() if not is_output)
    return HeadCost(heads, parameters, own.get(path, 0) // heads + inner, output)


def _label(architecture: Architecture, path: str, prefix: str) -> str:
    """Return a path below a prefix, with equal layers as a range."""
    names, above = [], prefix.removesuffix(".")
    for name in path.removeprefix(prefix).split("."):
        above = f"{above}.{name}" if above else name
        node = architecture.module(above)
        repeat = None if node is None else node.repeat
        is_several = repeat is not None and repeat.count > 1
        names.append(f"{repeat.first}–{repeat.last}" if repeat and is_several else name)
    return ".".join(names)
