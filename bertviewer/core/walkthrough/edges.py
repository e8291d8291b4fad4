"""Edges of a graph by source and target, and what a node depends on."""

from collections import defaultdict

from bertviewer.core.schema.flow import Edge, Flow, Node

ENDS = ("input", "output", "constant", "parameter")
"""Kinds of nodes that compute nothing."""


class FlowEdges:
    """Adjacency lists of one graph, by the ids of nodes.

    Attributes:
        flow: the graph.
        into: the edges that lead to a node.
        out: the edges that lead away from it.
        inputs: the ids of the inputs with data that a node depends on.
    """

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._nodes = {node.id: node for node in flow.nodes}
        self.into: dict[str, list[Edge]] = defaultdict(list)
        self.out: dict[str, list[Edge]] = defaultdict(list)
        for edge in flow.edges:
            self.into[edge.target].append(edge)
            self.out[edge.source].append(edge)
        self.inputs: dict[str, set[str]] = {}
        for node in flow.nodes:
            own = {node.id} if node.kind == "input" and is_data(node) else set()
            before = (self.inputs.get(edge.source, set()) for edge in self.into[node.id])
            self.inputs[node.id] = own.union(*before)

    def sources(self, node: Node) -> list[Node]:
        """Return the nodes that a node reads, one for each edge."""
        return [self.source(edge) for edge in self.into[node.id]]

    def users(self, node: Node) -> list[Node]:
        """Return the nodes that read a node's result, without the outputs of the graph."""
        found = dict.fromkeys(edge.target for edge in self.out[node.id])
        return [self._nodes[each] for each in found if self._nodes[each].kind != "output"]

    def source(self, edge: Edge) -> Node:
        """Return the node that an edge comes from."""
        return self._nodes[edge.source]

    def data(self, node: Node) -> list[Edge]:
        """Return the edges into a node that carry activations: no masks, positions, parameters."""
        return [edge for edge in self.into[node.id] if is_data(self.source(edge))]


def is_data(node: Node) -> bool:
    """Return whether a node's result depends on the model's text, by more than its length."""
    is_side = node.kind == "input" and ("mask" in node.name or "position" in node.name)
    return not is_side and node.kind not in ("constant", "parameter")
