"""A flow's edges by what they lead to and from, and what hangs on what."""

from collections.abc import Iterable, Sequence

from bertviewer.core.architecture.flow import Edge, Flow, Node

ASIDE = ("mask", "position")
"""What an input that is no data has in its name."""


class Wires:
    """Answers what goes into and out of a flow's nodes."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.nodes = {node.id: node for node in flow.nodes}
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
        return self.nodes[edge.source]

    def users(self, node: Node) -> list[Node]:
        """Return the nodes that take what a node gives, the results of the flow apart."""
        found = dict.fromkeys(edge.target for edge in self.out(node))
        return [self.nodes[each] for each in found if self.nodes[each].kind != "output"]

    def data(self, node: Node) -> list[Edge]:
        """Return the edges that bring data to a node, no masks, positions or parameters."""
        return [edge for edge in self.into(node) if is_data(self.source(edge))]

    def before(self, nodes: Iterable[Node]) -> set[str]:
        """Return these nodes and all that they hang on, by their ids."""
        waiting = [node.id for node in nodes]
        found = set(waiting)
        while waiting:
            for edge in self._into.get(waiting.pop(), ()):
                if edge.source not in found:
                    found.add(edge.source)
                    waiting.append(edge.source)
        return found

    def inputs_of(self, nodes: Iterable[Node]) -> set[str]:
        """Return the inputs with data that nodes hang on."""
        found = (self.nodes[each] for each in self.before(nodes))
        return {node.id for node in found if node.kind == "input" and is_data(node)}


def is_data(node: Node) -> bool:
    """Tell whether a node gives what hangs on the model's text, by more than its length."""
    if node.kind in ("constant", "parameter"):
        return False
    return node.kind != "input" or not any(word in node.name for word in ASIDE)


def target_side(wires: Wires) -> set[str]:
    """Return the nodes that hang on what the decoder of an encoder-decoder is given."""
    nodes = wires.flow.nodes
    inputs = {node.id for node in nodes if node.kind == "input"}
    given = {node.id for node in nodes if node.id in inputs and node.name.startswith("decoder ")}
    found = {node.id for node in nodes if given & wires.inputs_of([node])}
    for node in reversed(nodes):  # and what serves it alone, as the places of its tokens
        users = [user.id for user in wires.users(node)]
        if users and found.issuperset(users) and not wires.before([node]) & inputs:
            found.add(node.id)
    return found
