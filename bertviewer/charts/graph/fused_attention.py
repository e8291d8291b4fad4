"""torch's fused attention functions, expanded into the nodes that their documentation describes.

``multi_head_attention_forward``: three input projections whose weights are one tensor, the heads,
and the output projection. ``scaled_dot_product_attention``: products, scale, mask and softmax.
"""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.schema.flow import Edge, Flow, Node, Operand, Shape, SymbolicShape

_MULTI_HEAD, _SCALED_DOT = "multi_head_attention_forward", "scaled_dot_product_attention"
_INPUTS = {"query": "Q", "key": "K", "value": "V"}
_ADDED = ("mask", "bias", "position")
_HEADS, _BIAS, _OUT, _OUT_BIAS = 4, 6, 11, 12
"""Positions of arguments of ``multi_head_attention_forward``."""
_EXTRA = slice(7, 10)
"""Arguments that add keys and values, which hardly any model has."""


class _Input(Struct, frozen=True):
    """Input of a projection, with the batch as the first dimension."""

    edge: Edge
    shape: Shape
    symbols: SymbolicShape | None

    @classmethod
    def of(cls, edge: Edge) -> "_Input":
        """Return the input of an edge, on which the batch may be the second dimension."""
        shape, symbols = edge.shape, edge.symbolic_shape
        if symbols[1] == "B" if symbols else shape[0] != 1:
            shape = (shape[1], shape[0], *shape[2:])
            symbols = symbols and (symbols[1], symbols[0], *symbols[2:])
        return cls(edge, shape, symbols)

    def by_heads(self, heads: int) -> tuple[Shape, SymbolicShape | None]:
        """Return the shape [B, heads, S, head size]."""
        batch, length, width = self.shape
        size = width // heads
        symbols = self.symbols and (self.symbols[0], f"{heads}", self.symbols[1], f"{size}")
        return (batch, heads, length, size), symbols


def with_projections(flow: Flow) -> Flow:
    """Return a graph with the projections of each ``multi_head_attention_forward`` as nodes."""
    for node in flow.nodes:
        if _is_only(node, _MULTI_HEAD):
            flow = _with_projections(flow, node)
    return flow


def _is_only(node: Node, operation: str) -> bool:
    """Tell whether a node is an attention of one fused operation."""
    return node.operation == "attention" and [n.operation for n in node.nodes or ()] == [operation]


def _with_projections(flow: Flow, node: Node) -> Flow:
    into = {edge.source: edge for edge in flow.edges if edge.target == node.id}
    sources = [operand.node for operand in node.operands[:3]]
    if not into.keys() >= set(sources) or not _is_common(node.operands):
        return flow
    inputs = [_Input.of(into[source]) for source in sources]
    heads = int(node.operands[_HEADS].plain)
    projections = [
        _projection(node, role, each) for role, each in zip(_INPUTS, inputs, strict=True)
    ]
    shape, symbols = inputs[0].by_heads(heads)
    inner = replace(
        node,
        nodes=(replace((node.nodes or ())[0], operation=_SCALED_DOT, operands=(), reads=()),),
        shape=shape,
        symbolic_shape=symbols,
        macs=2 * prod(inputs[0].shape) * inputs[1].shape[1],
        details={
            key: value
            for key, value in node.details.items()
            if key not in ("projections", "parameters")
        },
        reads=(),
        operands=(),
    )
    outer = _output_projection(node, inputs[0])
    if sum(each.macs for each in (*projections, inner, outer)) != node.macs:
        return flow
    edges = list(_rewired(flow.edges, inner, outer))
    for projection, each, role in zip(projections, inputs, _INPUTS, strict=True):
        edges.append(replace(each.edge, target=projection.id, role=None))
        edges.append(Edge(projection.id, inner.id, *each.by_heads(heads), role))
    at = flow.nodes.index(node)
    nodes = (*flow.nodes[:at], *projections, inner, outer, *flow.nodes[at + 1 :])
    return replace(flow, nodes=nodes, edges=tuple(edges))


def _is_common(operands: Sequence[Operand]) -> bool:
    """Tell whether the projections share one weight tensor and no keys are added."""
    if len(operands) <= _OUT_BIAS or not operands[_OUT].parameter:
        return False
    named = {operand.key: operand.plain for operand in operands}
    extra = {operand.plain for operand in operands[_EXTRA]}
    return named.get("use_separate_proj_weight") in (None, "False") and extra <= {"None", "False"}


def _projection(node: Node, role: str, given: _Input) -> Node:
    """Return an input projection: a third of the rows of the shared weight."""
    width = given.shape[-1]
    first = list(_INPUTS).index(role) * width
    bias = width if node.operands[_BIAS].parameter else 0
    return Node(
        f"{node.id} {role}",
        "operation",
        f"{node.path}.in_proj_weight, rows {first} to {first + width - 1}",
        operation="linear",
        shape=given.shape,
        symbolic_shape=given.symbols,
        macs=prod(given.shape) * width,
        details={
            "in_features": width,
            "out_features": width,
            "parameters": width * width + bias,
        },
    )


def _output_projection(node: Node, query: _Input) -> Node:
    """Return the output projection, whose output is that of the attention."""
    width = query.shape[-1]
    names = [node.operands[at].parameter for at in (_OUT, _OUT_BIAS)]
    layer = Node(
        f"{node.id} layer",
        "module",
        "out_proj",
        path=names[0].rpartition(".")[0],
        class_name="Linear",
        operation="linear",
        shape=node.shape,
        symbolic_shape=node.symbolic_shape,
        macs=prod(query.shape) * width,
        details={"in_features": width, "out_features": width},
        reads=tuple(filter(None, names)),
    )
    return replace(layer, id=f"{node.id} outer", kind="group", path=node.path, nodes=(layer,))


def _rewired(edges: Sequence[Edge], inner: Node, outer: Node) -> Iterator[Edge]:
    """Yield all edges but the inputs of an attention; its outputs begin at its last layer."""
    for edge in edges:
        if edge.source == inner.id:
            yield replace(edge, source=outer.id)
        elif edge.target != inner.id or edge.role not in (None, *_INPUTS):
            yield edge
    yield Edge(inner.id, outer.id, inner.shape, inner.symbolic_shape)


def attention_steps(around: Flow, group: Node) -> Flow | None:
    """Return the steps of a ``scaled_dot_product_attention``, ``None`` for other nodes.

    Args:
        around: the graph of the node.
        group: the node.
    """
    into = [edge for edge in around.edges if edge.target == group.id]
    inputs = {edge.role: edge for edge in into if edge.role in _INPUTS}
    if not _is_only(group, _SCALED_DOT) or len(inputs) != len(_INPUTS):
        return None
    steps = _Steps(group)
    read = {
        role: steps.source(edge, role or "", "input", _INPUTS[role or ""])
        for role, edge in inputs.items()
    }
    query, key, value = (read[role] for role in _INPUTS)
    macs = group.macs // 2
    shape, symbols = (*query.shape[:-1], *key.shape[-2:-1]), None
    if query.symbolic_shape is not None and key.symbolic_shape is not None:
        symbols = (*query.symbolic_shape[:-1], *key.symbolic_shape[-2:-1])
    steps.add("scores", "Q Kᵀ", "scores", (shape, symbols), (query, key), macs=macs)
    if scale := _scale_text(group):
        steps.add("scale", scale, "scale", (shape, symbols))
    others = {node.id: node for node in around.nodes}
    added = [edge for edge in into if edge.role in _ADDED and edge.source in others]
    for edge in added:
        node = others[edge.source]
        term = steps.source(edge, node.id, "constant", node.name, node.operation)
        steps.add(f"plus {node.id}", "add", "add", (shape, symbols), (term,))
    if group.details.get("causal") and not any(edge.role == "mask" for edge in added):
        mask = Edge("", "", shape[-2:], symbols and symbols[-2:], "mask")
        term = steps.source(mask, "mask", "constant", "causal mask", "mask")
        steps.add("plus mask", "add", "add", (shape, symbols), (term,))
    steps.add("softmax", "softmax", "softmax", (shape, symbols))
    shape = (*value.shape[:1], *shape[1:-1], *value.shape[-1:])
    if symbols is not None and value.symbolic_shape is not None:
        symbols = (*value.symbolic_shape[:1], *symbols[1:-1], *value.symbolic_shape[-1:])
    steps.add("sum", "P V", "weighted sum", (shape, symbols), (value,), macs=macs)
    steps.add("output", "heads", None, (shape, symbols))
    return Flow(group.path or around.path, "attention", tuple(steps.nodes), tuple(steps.edges))


class _Steps:
    """A sequence of operations, each on the output of the last one."""

    def __init__(self, group: Node) -> None:
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self._group = group
        self._last: Node | None = None

    def source(
        self,
        edge: Edge,
        name: str,
        kind: Literal["input", "constant"],
        title: str,
        operation: str | None = None,
    ) -> Edge:
        """Add a node that provides a tensor, and return an edge from it."""
        key, shapes = f"{self._group.id} {name}", (edge.shape, edge.symbolic_shape)
        self.nodes.append(Node(key, kind, title, None, None, operation, *shapes))
        return Edge(key, "", *shapes, edge.role, () if kind == "input" else edge.views)

    def add(
        self,
        name: str,
        title: str,
        operation: str | None,
        shapes: tuple[Shape, SymbolicShape | None],
        inputs: Sequence[Edge] = (),
        *,
        macs: int = 0,
    ) -> None:
        """Add an operation with further inputs; without a name it is the output."""
        kind: Literal["operation", "output"] = "operation" if operation else "output"
        key, last = f"{self._group.id} {name}", self._last
        node = Node(key, kind, title, None, None, operation, *shapes, macs)
        if last is not None:
            self.edges.append(Edge(last.id, key, last.shape, last.symbolic_shape))
        self.edges += [replace(edge, target=key) for edge in inputs]
        self.nodes.append(node)
        self._last = node


def _scale_text(group: Node) -> str:
    """Return the scale of the scores: ``÷ √64``, ``× 0.1``, or "" without any."""
    inner = (group.nodes or ())[0]
    given = next((each.plain for each in inner.operands if each.key == "scale"), "")
    size = group.details.get("head_size")
    try:
        factor = float(given) if given else None
    except ValueError:
        factor = None
    if isinstance(size, int) and size > 0:
        root = size**-0.5
        if factor is None or abs(factor - root) < 1e-5 * root:
            return f"÷ √{size}"
    return "" if factor is None or factor == 1 else f"× {given}"
