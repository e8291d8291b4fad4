"""Attention steps: the nodes of an attention with its Q, K, V and output projections."""

from collections.abc import Iterator

from bertviewer.core.schema.flow import Node
from bertviewer.core.walkthrough.edges import FlowEdges

SELF_ATTENTION = "Multi-head self-attention"

NORMS = frozenset(("layer norm", "rms norm", "layer_norm"))
TRANSFORMS = frozenset(("attention", "feed-forward", "gated feed-forward", "routing", "experts"))
BLOCKS = TRANSFORMS | {"residual"}
"""Operations of a layer that are always separate steps."""


def attentions_of(edges: FlowEdges, *, in_layer: bool) -> Iterator[tuple[str, tuple[Node, ...]]]:
    """Yield the name of each attention of a graph, and its nodes in execution order.

    In a layer, the softmax of a module counts as an attention.
    """
    found: list[tuple[tuple[Node, ...], bool, bool]] = []
    for node in edges.flow.nodes:
        is_other = in_layer and node.operation == "softmax" and node.path != edges.flow.path
        if node.operation == "attention" or is_other:
            roles = {edge.role: edges.source(edge) for edge in edges.into[node.id]}
            nodes = _nodes_of(edges, node)
            query, key = (edges.inputs[roles.get(r, node).id] for r in ("query", "key"))
            is_cross = bool(query - key)
            if "projections" in node.details:
                nodes, is_cross = (node,), len(edges.data(node)) > 1
            is_masked = bool(node.details.get("causal") or {"mask", "bias"} & roles.keys())
            found.append((nodes, is_cross, is_masked))
    has_cross = any(is_cross for _, is_cross, _ in found)
    for nodes, is_cross, is_masked in found:
        name = "Masked self-attention" if has_cross and is_masked else SELF_ATTENTION
        yield "Multi-head cross-attention" if is_cross else name, nodes


def _nodes_of(edges: FlowEdges, node: Node) -> tuple[Node, ...]:
    """Return an attention's nodes: its module's, and the projections before and after it."""
    # Where a layer itself attends, its path does not tell which nodes belong to the attention.
    holder = f"{node.path}." if node.path and node.path != edges.flow.path else None

    def is_end(each: Node) -> bool:
        return each.kind in ("input", "output") or each.operation in BLOCKS

    def is_inside(each: Node) -> bool:
        return holder is not None and f"{each.path}.".startswith(holder)

    chain = [node]  # on to the output projection
    while len(users := edges.users(chain[-1])) == 1 and not is_end(user := users[0]):
        is_linear = user.operation == "linear"
        if is_linear or is_inside(user):
            chain.append(user)
        if is_linear or not is_inside(user):
            break
    found = {each.id for each in chain}
    waiting = [(source, False) for each in chain for source in edges.sources(each)]
    while waiting:  # back to Q, K and V, and to what else works for it, as a gate
        each, is_projected = waiting.pop()
        is_own = is_inside(each) or each.kind in ("constant", "parameter")
        is_own |= not is_projected and each.operation not in {*NORMS, None}
        if each.id not in found and not is_end(each) and is_own:
            found.add(each.id)
            is_projected |= each.operation == "linear"
            waiting += [(source, is_projected) for source in edges.sources(each)]
    return tuple(each for each in edges.flow.nodes if each.id in found)
