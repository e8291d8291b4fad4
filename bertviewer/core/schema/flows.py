"""The flows of all modules of a model: plain data, free of torch."""

from collections.abc import Mapping

from msgspec import field
from msgspec.structs import replace

from bertviewer.core.schema.flow import Edge, Flow, Node
from bertviewer.core.util.serialization import Document


class Flows(Document, frozen=True, rename={"distinct": "kinds"}):
    """What each module of a model computes, once for modules that do the same.

    Attributes:
        distinct: one flow for all modules that do the same, by the path of the first of them.
        like: for every other module that was called, the first that does the same.
        missing: why a module has none, one line, by its path. One that was not called has no line.
        lengths: the sentence that shapes and multiply-adds are for, by the letters B, S and S_d.
    """

    distinct: Mapping[str, Flow]
    like: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)

    def flow(self, path: str) -> Flow | None:
        """Return the flow of the module at ``path``, ``None`` if there is none."""
        first = self.like.get(path, path)
        found = self.distinct.get(first)
        if found is None or first == path:
            return found
        nodes = tuple(_moved(node, first, path) for node in found.nodes)
        edges = tuple(_edge_moved(edge, first, path) for edge in found.edges)
        return replace(found, path=path, nodes=nodes, edges=edges)

    def reason_for(self, path: str) -> str:
        """Return why a module has no flow, in one line."""
        if path in self.missing:
            return self.missing[path]
        stopped = self.missing.get("")
        if stopped:
            return f"the forward pass stopped before reaching it: {stopped}"
        below = f"{path}."
        if any(other.startswith(below) for other in (*self.distinct, *self.like)):
            return "it is not called itself; only its submodules are"
        return "it is not called"


def _moved(node: Node, first: str, path: str) -> Node:
    """Return a node of one module as that of another one that does the same."""
    inner = node.nodes and tuple(_moved(each, first, path) for each in node.nodes)
    return replace(
        node,
        path=node.path and _renamed(node.path, first, path),
        nodes=inner,
        edges=tuple(_edge_moved(edge, first, path) for edge in node.edges),
        reads=tuple(_renamed(name, first, path) for name in node.reads),
        operands=tuple(
            replace(each, parameter=_renamed(each.parameter, first, path)) for each in node.operands
        ),
    )


def _edge_moved(edge: Edge, first: str, path: str) -> Edge:
    if not edge.through:
        return edge
    return replace(edge, through=tuple(_renamed(each, first, path) for each in edge.through))


def _renamed(name: str, first: str, path: str) -> str:
    """Return the name below one module as that below the other."""
    return path + name[len(first) :] if name == first or name.startswith(f"{first}.") else name
