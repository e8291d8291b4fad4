"""Reads a model's outline off its architecture."""

from bertviewer.core.analysis.layer_parts import layer_stacks
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.schema.outline import Outline, StackOutline

_ATTENTION = "Attention"


def outline_of(architecture: Architecture) -> Outline | None:
    """Return a model's outline; ``None`` where there are no layers, or no known width."""
    stacks = layer_stacks(architecture)[:2]
    values = {symbol.letter: symbol.value for symbol in architecture.symbols}
    if not stacks or not {"D", "A"} <= values.keys():
        return None
    places = {node.path: number for number, node in enumerate(architecture.modules)}
    first = places[stacks[0][0].path]
    outside = [
        tensor
        for tensor in architecture.parameters
        if tensor.tied_to is None
        and not any(f"{tensor.owner}.".startswith(f"{n.path}.") for stack in stacks for n in stack)
    ]
    before = sum(tensor.numel for tensor in outside if places[tensor.owner] < first)
    called = values.get("N", 0) if len(stacks) == 1 else 0
    return Outline(
        class_name=architecture.root.class_name,
        parameters=architecture.root.parameters,
        before=before,
        after=sum(tensor.numel for tensor in outside) - before,
        width=values["D"],
        heads=values["A"],
        stacks=tuple(_stack(architecture, stack, called) for stack in stacks),
    )


def _stack(architecture: Architecture, stack: tuple[ModuleNode, ...], called: int) -> StackOutline:
    layer = stack[0]
    attention, above = 0, ""
    for node in architecture.modules:
        if not node.path.startswith(f"{layer.path}.") or _ATTENTION not in node.class_name:
            continue
        if not above or not node.path.startswith(f"{above}."):
            attention, above = attention + node.parameters, node.path
    return StackOutline(
        max(len(stack), called), len(stack), attention, layer.parameters - attention
    )
