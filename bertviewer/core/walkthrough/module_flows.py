"""Flows of a model that is not traced: its modules in the order of the tree."""

from collections.abc import Iterator
from itertools import chain

from bertviewer.core.architecture.architecture import Architecture, ancestors
from bertviewer.core.architecture.flow import Flow, Node
from bertviewer.core.architecture.flows import Flows


def module_flows(architecture: Architecture) -> Flows:
    """Return a flow of the whole model and of each layer, with nodes but no edges.

    A module that holds layers is opened; others with tensors are one node each.
    """
    numbered = {node.path: node for node in architecture.modules if node.name.isdecimal()}
    opened = set(chain.from_iterable(ancestors(node.parent or "") for node in numbered.values()))
    layers: list[str] = []

    def nodes(path: str, *, is_layer: bool) -> Iterator[Node]:
        held = architecture.tensors_below(path)
        if own := tuple(tensor.name for tensor in held if tensor.owner == path):
            name = path.rpartition(".")[2] or architecture.root.class_name
            yield Node(f"{path}.", "operation", name, path, reads=own)
        for child in architecture.children(path):
            reads = tuple(tensor.name for tensor in architecture.tensors_below(child.path))
            if not is_layer and child.path in opened - numbered.keys():
                yield from nodes(child.path, is_layer=False)
            elif reads:
                if not is_layer and child.path in numbered:
                    layers.append(child.path)
                yield Node(child.path, "module", child.name, child.path, reads=reads)

    root = Flow("", architecture.root.class_name, tuple(nodes("", is_layer=False)), ())
    flows = {"": root}
    for path in tuple(layers):
        flows[path] = Flow(path, "", tuple(nodes(path, is_layer=True)), ())
    like: dict[str, str] = {}
    for path in layers:
        repeat = numbered[path].repeat
        first = f"{path.rpartition('.')[0]}.{repeat.first}" if repeat is not None else path
        if first != path:
            like[path] = first
    return Flows({path: flow for path, flow in flows.items() if path not in like}, like)
