"""torch's MultiheadAttention written out: the layers in it, and its heads between them.

It is one call for torch. What is in it is told by torch's documentation of
``multi_head_attention_forward``: three layers whose weights are one tensor, the heads, one layer.
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
