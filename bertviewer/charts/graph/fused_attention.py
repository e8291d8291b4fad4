"""torch's MultiheadAttention written out: the layers in it, and its heads between them.

It is one call for torch. What is in it is told by torch's documentation of
``multi_head_attention_forward``: three layers whose weights are one tensor, the heads, one layer.


The steps of an attention that torch computes in one: products, scale, mask and softmax.

They are those that torch's documentation of ``scaled_dot_product_attention`` writes out.
"""

from collections.abc import Iterator, Sequence
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.schema.flow import Edge, Flow, Node, Operand, Shape, SymbolicShape

_WHOLE, _FUSED = "multi_head_attention_forward", "scaled_dot_product_attention"
_ROLES = ("query", "key", "value")
_WIDTH, _HEADS, _BIAS, _OUTER, _OUTER_BIAS = 3, 4, 6, 11, 12
"""Where torch's function has its arguments."""
_EXTRA = slice(7, 10)
"""Those that add keys and values of their own; hardly anybody has any."""
_NOTHING = ("None", "False")


def with_projections(flow: Flow) -> Flow:
    """Return a flow with the layers and the heads of each of torch's own attentions as nodes."""
    for node in flow.nodes:
        if node.operation == "attention" and [n.operation for n in node.nodes or ()] == [_WHOLE]:
            flow = _written_out(flow, node)
    return flow


class _Taken(Struct, frozen=True):
    """What goes into one of the three layers, with the batch first."""

    edge: Edge
    shape: Shape
    letters: SymbolicShape | None

    @classmethod
    def of(cls, edge: Edge) -> "_Taken":
        """Return what an edge brings: torch may have the tokens before the batch."""
        shape, letters = edge.shape, edge.symbolic_shape
        if letters[1] == "B" if letters else shape[0] != 1:
            shape = (shape[1], shape[0], *shape[2:])
            letters = letters and (letters[1], letters[0], *letters[2:])
        return cls(edge, shape, letters)

    def by_heads(self, heads: int) -> tuple[Shape, SymbolicShape | None]:
        """Return the shape when each head has its own features: ``[B, heads, S, size]``."""
        batch, length, width = self.shape
        letters = self.letters and (
            self.letters[0],
            f"{heads}",
            self.letters[1],
            f"{width // heads}",
        )
        return (batch, heads, length, width // heads), letters


def _written_out(flow: Flow, node: Node) -> Flow:
    into = {edge.source: edge for edge in flow.edges if edge.target == node.id}
    sources = [operand.node for operand in node.operands[:3]]
    if not into.keys() >= set(sources) or not _is_plain(node.operands):
        return flow
    taken = [_Taken.of(into[source]) for source in sources]
    heads = int(node.operands[_HEADS].plain)
    layers = [_layer(node, role, each) for role, each in zip(_ROLES, taken, strict=True)]
    shape, letters = taken[0].by_heads(heads)
    inner = replace(
        node,
        nodes=(replace((node.nodes or ())[0], operation=_FUSED, operands=(), reads=()),),
        shape=shape,
        symbolic_shape=letters,
        macs=2 * prod(taken[0].shape) * taken[1].shape[1],
        details={
            key: value
            for key, value in node.details.items()
            if key not in ("projections", "parameters")
        },
        reads=(),
        operands=(),
    )
    outer = _outer(node, taken[0])
    if sum(each.macs for each in (*layers, inner, outer)) != node.macs:
        return flow
    edges = list(_around(flow.edges, inner, outer))
    for layer, each, role in zip(layers, taken, _ROLES, strict=True):
        edges.append(replace(each.edge, target=layer.id, role=None))
        edges.append(Edge(layer.id, inner.id, *each.by_heads(heads), role))
    place = flow.nodes.index(node)
    nodes = (*flow.nodes[:place], *layers, inner, outer, *flow.nodes[place + 1 :])
    return replace(flow, nodes=nodes, edges=tuple(edges))


def _is_plain(operands: Sequence[Operand]) -> bool:
    """Tell whether an attention is the common one: with one tensor for its three layers."""
    if len(operands) <= _OUTER_BIAS or not operands[_OUTER].parameter:
        return False
    named = {operand.key: operand.plain for operand in operands}
    extra = [operand.plain for operand in operands[_EXTRA]]
    return named.get("use_separate_proj_weight") in (None, "False") and set(extra) <= {*_NOTHING}


def _layer(node: Node, role: str, taken: _Taken) -> Node:
    """Return one of the three layers: a third of the rows of the tensor that they share."""
    width = taken.shape[-1]
    first = _ROLES.index(role) * width
    has_bias = bool(node.operands[_BIAS].parameter)
    return Node(
        f"{node.id} {role}",
        "operation",
        f"{node.path}.in_proj_weight, rows {first} to {first + width - 1}",
        operation="linear",
        shape=taken.shape,
        symbolic_shape=taken.letters,
        macs=prod(taken.shape) * width,
        details={
            "in_features": width,
            "out_features": width,
            "parameters": width * width + (width if has_bias else 0),
        },
    )


def _outer(node: Node, taken: _Taken) -> Node:
    """Return the layer behind the heads; what it gives is what the attention gives."""
    width, macs = taken.shape[-1], prod(taken.shape) * taken.shape[-1]
    named = (node.operands[place].parameter for place in (_OUTER, _OUTER_BIAS))
    path = node.operands[_OUTER].parameter.rpartition(".")[0]
    layer = Node(
        f"{node.id} layer", "module", "out_proj", path, "Linear", "linear",
        node.shape, node.symbolic_shape, macs,
        details={"in_features": width, "out_features": width},
        reads=tuple(name for name in named if name),
    )  # fmt: skip
    return replace(layer, id=f"{node.id} outer", kind="group", path=node.path, nodes=(layer,))


def _around(edges: Sequence[Edge], inner: Node, outer: Node) -> Iterator[Edge]:
    """Yield all edges but those of data into an attention; what it gave, its last layer gives."""
    for edge in edges:
        if edge.source == inner.id:
            yield replace(edge, source=outer.id)
        elif edge.target != inner.id or edge.role not in (None, *_ROLES):
            yield edge
    yield Edge(inner.id, outer.id, inner.shape, inner.symbolic_shape)


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
