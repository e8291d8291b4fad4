"""The nodes of an attention step: the attention with its Q, K, V and output projections."""

from collections.abc import Iterator
from functools import reduce

from bertviewer.core.architecture.flow import Edge, Node
from bertviewer.core.frozen import frozen
from bertviewer.core.walkthrough.edges import FlowEdges

NORMS = frozenset(("layer norm", "rms norm", "layer_norm"))
TRANSFORMS = frozenset(("attention", "feed-forward", "gated feed-forward", "routing", "experts"))
BLOCKS = TRANSFORMS | {"residual"}
"""Operations of a layer that are always separate steps."""
_PARTS = ("part", "chunk", "split", "unbind", "narrow", "select")


@frozen
class Attention:
    """One attention of a flow.

    Attributes:
        nodes: its nodes, in execution order.
        is_cross: whether keys come from other inputs than queries.
        is_masked: whether a mask, bias or causal order limits which tokens are attended to.
    """

    nodes: tuple[Node, ...]
    is_cross: bool
    is_masked: bool


def attentions_of(edges: FlowEdges, *, in_layer: bool) -> Iterator[Attention]:
    """Yield the attentions of a flow; in a layer the softmax of a module counts as one."""
    for node in edges.flow.nodes:
        is_other = in_layer and node.operation == "softmax" and node.path != edges.flow.path
        if node.operation == "attention" or is_other:
            yield _attention(edges, node)


def _attention(edges: FlowEdges, node: Node) -> Attention:
    roles = {edge.role: edge for edge in edges.into(node)}
    is_masked = bool(node.details.get("causal") or {"mask", "bias"} & roles.keys())
    if "projections" in node.details:
        return Attention((node,), len(edges.data(node)) > 1, is_masked)
    projected = [roles[role] for role in ("query", "key", "value") if role in roles]
    inputs = [edges.inputs_of(edges.source(edge)) for edge in projected[:2]]
    is_cross = len(inputs) == 2 and bool(inputs[0] - inputs[1])
    found = _nodes_of(edges, node, projected)
    nodes = tuple(each for each in edges.flow.nodes if each.id in found)
    return Attention(nodes, is_cross, is_masked)


def _nodes_of(edges: FlowEdges, node: Node, projected: list[Edge]) -> set[str]:
    """Return the ids of an attention's nodes, back to Q, K and V and on to the output."""
    # Where a layer itself attends, its path does not tell which nodes belong to the attention.
    holder = node.path if node.path and node.path != edges.flow.path else None
    before = [edges.ancestors(edges.source(edge)) for edge in projected]
    shared = reduce(set[str].__and__, before) if before else set[str]()
    found = {node.id}

    def is_inside(each: Node) -> bool:
        return holder is not None and f"{each.path}.".startswith(f"{holder}.")

    def belongs(each: Node, edge: Edge, *, is_projected: bool) -> bool:
        if each.kind in ("input", "output") or each.operation in BLOCKS:
            return False
        if each.id in shared:  # what Q, K and V are projected from, or one projection for all
            is_split = any(word.startswith(_PARTS) for word in edge.movement)
            return each.operation == "linear" and is_split and not is_projected
        if is_inside(each) or (is_projected and each.kind in ("constant", "parameter")):
            return True
        is_unknown = each.kind == "module" and each.operation is None
        return not (is_projected or is_unknown or each.operation in NORMS)

    waiting = [(edge, False) for edge in edges.into(node)]
    while waiting:
        edge, is_projected = waiting.pop()
        each = edges.source(edge)
        if each.id not in found and belongs(each, edge, is_projected=is_projected):
            found.add(each.id)
            is_projected = is_projected or each.operation == "linear"
            waiting += [(before, is_projected) for before in edges.into(each)]
    each = node
    while len(users := edges.users(each)) == 1 and users[0].operation not in BLOCKS:
        each = users[0]
        if each.operation != "linear" and not is_inside(each):
            break
        found.add(each.id)
        if each.operation == "linear":
            break
    for each in reversed(edges.flow.nodes):  # what works for it alone, as a gate
        users = edges.users(each)
        is_end = each.kind in ("input", "output") or each.operation in BLOCKS
        is_own = is_inside(each) and each.id not in shared and not is_end
        if is_own and users and found.issuperset(user.id for user in users):
            found.add(each.id)
    return found
