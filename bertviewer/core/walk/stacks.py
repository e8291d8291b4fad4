"""The layers of a stack by kind: equal ones are one, wherever in the stack they are."""

from collections.abc import Sequence
from dataclasses import replace

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.flow import Node
from bertviewer.core.architecture.flows import Flows
from bertviewer.core.frozen import frozen
from bertviewer.core.walk.attentions import BLOCKS


@frozen
class EqualLayers:
    """Layers that do the same with tensors of their own.

    Attributes:
        paths: the layers, in order; the first is opened.
        applied: how often one of them is called in all.
        is_alone: whether the stack has no other equal layers.
        in_stack: how many layers the stack has.
    """

    paths: tuple[str, ...]
    applied: int
    is_alone: bool
    in_stack: int

    @property
    def number(self) -> str:
        """The number of the first in its list."""
        return self.paths[0].rpartition(".")[2]

    def title(self, side: str) -> str:
        """Return what a part is called that opens the first: ``One encoder layer``."""
        is_several = len(self.paths) > 1 or self.applied > 1 or self.in_stack == 1
        if is_several and self.is_alone:
            return f"One {side} layer".replace("  ", " ")
        return f"{side} layer {self.number}".strip().capitalize()


def is_layer(node: Node) -> bool:
    """Tell whether a node of a whole model is a layer: one of a list, and no known single block."""
    name = (node.path or "").rpartition(".")[2]
    return node.kind == "module" and node.operation is None and name.isdecimal()


def with_single_layers(flows: Flows, nodes: Sequence[Node]) -> list[Node]:
    """Return a model's nodes with those of a layer that is alone in its list as one.

    A flow has closed nodes for layers that there are several of.
    """
    found: list[Node] = []
    for node in nodes:
        path = None if is_layer(node) else _layer_around(flows, node)
        if path is None:
            found.append(node)
        elif found and found[-1].path == path:
            # What follows it hangs on its last node.
            found[-1] = replace(found[-1], id=node.id, shape=node.shape)
        else:
            name = " ".join(path.split(".")[-2:])
            found.append(replace(node, kind="module", name=name, path=path, operation=None))
    return found


def _layer_around(flows: Flows, node: Node) -> str | None:
    """Return the outermost module of a list around a node that has blocks as a layer has."""
    names = (node.path or "").split(".") if node.kind not in ("input", "output") else []
    for count, name in enumerate(names, 1):
        if name.isdecimal() and count > 1:
            flow = flows.flow(".".join(names[:count]))
            if flow is not None and any(each.operation in BLOCKS for each in flow.nodes):
                return flow.path
    return None


def equal_layers(
    architecture: Architecture, flows: Flows, nodes: Sequence[Node]
) -> dict[str, EqualLayers]:
    """Return all layers among a model's nodes, by the path of each of them."""
    calls: dict[str, int] = {}
    for node in filter(is_layer, nodes):
        layers = layers_of(node)
        for path in layers:
            count = 1 if node.repeat is None else max(1, node.repeat.count // len(layers))
            calls[path] = calls.get(path, 0) + count
    counts = {node.path: node.parameters for node in architecture.modules}
    groups: dict[tuple[str, str, int], list[str]] = {}
    for path in calls:
        key = path.rpartition(".")[0], flows.like.get(path, path), counts.get(path, 0)
        groups.setdefault(key, []).append(path)
    several: dict[str, int] = {}
    stacks: dict[str, int] = {}
    for (stack, *_), paths in groups.items():
        stacks[stack] = stacks.get(stack, 0) + len(paths)
        several[stack] = several.get(stack, 0) + (len(paths) > 1 or calls[paths[0]] > 1)
    return {
        path: EqualLayers(
            tuple(paths), sum(map(calls.__getitem__, paths)), several[stack] < 2, stacks[stack]
        )
        for (stack, *_), paths in groups.items()
        for path in paths
    }


def layers_of(node: Node) -> tuple[str, ...]:
    """Return the layers that a node stands for."""
    path = node.path or ""
    if node.repeat is None:
        return (path,)
    stack = path.rpartition(".")[0]
    return tuple(f"{stack}.{number}" for number in range(node.repeat.first, node.repeat.last + 1))
