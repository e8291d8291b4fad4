"""Graphs of a model that is not traced: its modules in the order of the tree."""

from collections.abc import Iterator

from bertviewer.core.architecture.architecture import Architecture, ancestors
from bertviewer.core.architecture.flow import Flow, Node
from bertviewer.core.architecture.flows import Flows


def module_flows(architecture: Architecture) -> Flows:
    """Return a graph of the whole model and of each layer, with nodes but no edges.

    A module that holds layers is opened; others with tensors are one node each.
    """
    layers = {node.path: node for node in architecture.modules if node.name.isdecimal()}
    opened = {path for node in layers.values() for path in ancestors(node.parent or "")}

    def nodes(path: str, is_open: bool) -> Iterator[Node]:
        held = architecture.tensors_below(path)
        if own := tuple(tensor.name for tensor in held if tensor.owner == path):
            name = path.rpartition(".")[2] or architecture.root.class_name
            yield Node(f"{path}.", "operation", name, path, reads=own)
        for child in architecture.children(path):
            reads = tuple(tensor.name for tensor in architecture.tensors_below(child.path))
            if is_open and child.path in opened - layers.keys():
                yield from nodes(child.path, is_open)
            elif reads:
                yield Node(child.path, "module", child.name, child.path, reads=reads)

    root = Flow("", architecture.root.class_name, tuple(nodes("", is_open=True)), ())
    flows, like = {"": root}, dict[str, str]()
    for path in (node.id for node in root.nodes if node.id in layers):
        repeat = layers[path].repeat
        first = f"{path.rpartition('.')[0]}.{repeat.first}" if repeat is not None else path
        if first == path:
            flows[path] = Flow(path, "", tuple(nodes(path, is_open=False)), ())
        else:
            like[path] = first
    return Flows(flows, like)
