"""Edges of a graph by source and target, and what a node depends on."""

from collections.abc import Sequence

from bertviewer.core.architecture.flow import Edge, Flow, Node

ENDS = ("input", "output", "constant", "parameter")
"""Kinds of nodes that compute nothing."""
_AUXILIARY = ("mask", "position")


class FlowEdges:
    """Adjacency lists of one graph."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._nodes = {node.id: node for node in flow.nodes}
        self._into: dict[str, list[Edge]] = {}
        self._out: dict[str, list[Edge]] = {}
        for edge in flow.edges:
            self._into.setdefault(edge.target, []).append(edge)
            self._out.setdefault(edge.source, []).append(edge)

    def into(self, node: Node) -> Sequence[Edge]:
        """Return the edges that lead to a node."""
        return self._into.get(node.id, ())

    def out(self, node: Node) -> Sequence[Edge]:
        """Return the edges that lead away from a node."""
        return self._out.get(node.id, ())

    def source(self, edge: Edge) -> Node:
        """Return the node that an edge comes from."""
        return self._nodes[edge.source]

    def sources(self, node: Node) -> list[Node]:
        """Return the nodes that a node reads, one for each edge."""
        return [self.source(edge) for edge in self.into(node)]

    def users(self, node: Node) -> list[Node]:
        """Return the nodes that read a node's result, without the outputs of the graph."""
        found = dict.fromkeys(edge.target for edge in self.out(node))
        return [self._nodes[each] for each in found if self._nodes[each].kind != "output"]

    def data(self, node: Node) -> list[Edge]:
        """Return the edges into a node that carry activations: no masks, positions, parameters."""
        return [edge for edge in self.into(node) if is_data(self.source(edge))]

    def ancestors(self, node: Node) -> set[str]:
        """Return the ids of a node and of all nodes that it depends on."""
        found, waiting = {node.id}, [node.id]
        while waiting:
            sources = {edge.source for edge in self._into.get(waiting.pop(), ())} - found
            found |= sources
            waiting += sources
        return found

    def inputs_of(self, node: Node) -> set[str]:
        """Return the ids of the inputs with data that a node depends on."""
        found = map(self._nodes.__getitem__, self.ancestors(node))
        return {each.id for each in found if each.kind == "input" and is_data(each)}


def is_data(node: Node) -> bool:
    """Return whether a node's result depends on the model's text, by more than its length."""
    if node.kind in ("constant", "parameter"):
        return False
    return node.kind != "input" or not any(word in node.name for word in _AUXILIARY)
