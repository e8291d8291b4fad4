"""The steps of an attention that torch computes in one: products, scale, mask and softmax.

They are those that torch's documentation of ``scaled_dot_product_attention`` writes out.
"""

from collections.abc import Sequence

from bertviewer.core.schema.flow import Edge, Flow, Node, Shape, SymbolicShape

FUSED = "scaled_dot_product_attention"
_READ = {"query": "Q", "key": "K", "value": "V"}
_ADDED = ("mask", "bias", "position")


def attention_steps(around: Flow, group: Node) -> Flow | None:
    """Return the steps of an attention in a flow, ``None`` if they are not those of torch's own."""
    operations = [node.operation for node in group.nodes or ()]
    if group.operation != "attention" or operations != [FUSED]:
        return None
    into = [edge for edge in around.edges if edge.target == group.id]
    read = {edge.role: edge for edge in into if edge.role in _READ}
    if len(read) != len(_READ):
        return None
    found = _Steps(group)
    for role, edge in read.items():
        key = f"{group.id} {role}"
        found.nodes.append(
            Node(key, "input", _READ[role or ""], None, None, None, edge.shape, edge.symbolic_shape)
        )
    found.add_scores(read["query"], read["key"])
    others = {node.id: node for node in around.nodes}
    added = [edge for edge in into if edge.role in _ADDED and edge.source in others]
    for edge in added:
        found.add_aside(others[edge.source], edge)
    if group.details.get("causal") and not any(edge.role == "mask" for edge in added):
        found.add_causal_mask()
    found.add_weights(read["value"])
    return Flow(group.path or around.path, "attention", tuple(found.nodes), tuple(found.edges))


class _Steps:
    """Puts the steps one behind the other."""

    def __init__(self, group: Node) -> None:
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self._group = group
        self._last = ""
        self._shape: Shape = ()
        self._letters: SymbolicShape | None = None
        self._given: tuple[Shape, SymbolicShape | None] = (), None

    def add_scores(self, query: Edge, key: Edge) -> None:
        """Add the product of queries and keys, and its scale."""
        self._shape = (*query.shape[:-1], *key.shape[-2:-1])
        if query.symbolic_shape is not None and key.symbolic_shape is not None:
            self._letters = (*query.symbolic_shape[:-1], *key.symbolic_shape[-2:-1])
        edges = [self._from(query, "query"), self._from(key, "key")]
        self._step("scores", "Q Kᵀ", "scores", edges, macs=self._group.macs // 2)
        scale = self._scale()
        if scale:
            self._step("scale", scale, "scale")

    def add_aside(self, node: Node, edge: Edge) -> None:
        """Add what is added to the scores."""
        key = f"{self._group.id} {node.id}"
        self.nodes.append(
            Node(key, "constant", node.name, None, None, node.operation, edge.shape,
                 edge.symbolic_shape)
        )  # fmt: skip
        brought = Edge(key, "", edge.shape, edge.symbolic_shape, edge.role, edge.views)
        self._step(f"plus {node.id}", "add", "add", [brought])

    def add_causal_mask(self) -> None:
        """Add the mask that hides later tokens, which torch makes itself."""
        key = f"{self._group.id} mask"
        shape = self._shape[-2:]
        letters = None if self._letters is None else self._letters[-2:]
        self.nodes.append(Node(key, "constant", "causal mask", None, None, "mask", shape, letters))
        self._step("plus mask", "add", "add", [Edge(key, "", shape, letters, "mask")])

    def add_weights(self, value: Edge) -> None:
        """Add the softmax, the product with the values, and what is given."""
        self._step("softmax", "softmax", "softmax")
        self._shape = value.shape[:1] + self._shape[1:-1] + value.shape[-1:]
        if self._letters is not None and value.symbolic_shape is not None:
            self._letters = (
                value.symbolic_shape[:1] + self._letters[1:-1] + value.symbolic_shape[-1:]
            )
        edges = [self._from(value, "value")]
        self._step("sum", "P V", "weighted sum", edges, macs=self._group.macs // 2)
        key = f"{self._group.id} output"
        shapes = self._shape, self._letters
        self.nodes.append(Node(key, "output", "heads", None, None, None, *shapes))
        self.edges.append(Edge(self._last, key, self._shape, self._letters))

    def _from(self, edge: Edge, role: str) -> Edge:
        return Edge(f"{self._group.id} {role}", "", edge.shape, edge.symbolic_shape, role)

    def _step(
        self, name: str, title: str, operation: str, brought: Sequence[Edge] = (), macs: int = 0
    ) -> None:
        key = f"{self._group.id} {name}"
        before = self._last
        self.nodes.append(
            Node(key, "operation", title, None, None, operation, self._shape, self._letters, macs)
        )
        if before:
            self.edges.append(Edge(before, key, *self._given))
        self._given = self._shape, self._letters
        for edge in brought:
            self.edges.append(
                Edge(edge.source, key, edge.shape, edge.symbolic_shape, edge.role, edge.views)
            )
        self._last = key

    def _scale(self) -> str:
        """Return the factor in words: the root that it is one over, or the number as it stands."""
        inner = (self._group.nodes or ())[0]
        given = next((each.plain for each in inner.operands if each.key == "scale"), "")
        size = self._group.details.get("head_size")
        try:
            factor = float(given) if given else None
        except ValueError:
            factor = None
        if isinstance(size, int) and size > 0:
            root = size**-0.5
            if factor is None or abs(factor - root) < 1e-5 * root:
                return f"÷ √{size}"
        return "" if factor is None or factor == 1 else f"× {given}"
