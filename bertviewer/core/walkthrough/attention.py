"""The nodes of an attention step: the attention with its Q, K, V and output projections."""

from collections.abc import Iterator

from bertviewer.core.architecture.flow import Node
from bertviewer.core.frozen import frozen
from bertviewer.core.walkthrough.edges import FlowEdges

NORMS = frozenset(("layer norm", "rms norm", "layer_norm"))
TRANSFORMS = frozenset(("attention", "feed-forward", "gated feed-forward", "routing", "experts"))
BLOCKS = TRANSFORMS | {"residual"}
"""Operations of a layer that are always separate steps."""


@frozen
class Attention:
    """One attention of a graph.

    Attributes:
        nodes: its nodes, in execution order.
        is_cross: whether keys come from other inputs than queries.
        is_masked: whether a mask, bias or causal order limits which tokens are attended to.
    """

    nodes: tuple[Node, ...]
    is_cross: bool
    is_masked: bool


def attentions_of(edges: FlowEdges, *, in_layer: bool) -> Iterator[Attention]:
    """Yield the attentions of a graph; in a layer the softmax of a module counts as one."""
    for node in edges.flow.nodes:
        is_other = in_layer and node.operation == "softmax" and node.path != edges.flow.path
        if node.operation == "attention" or is_other:
            roles = {edge.role: edge for edge in edges.into(node)}
            is_masked = bool(node.details.get("causal") or {"mask", "bias"} & roles.keys())
            if "projections" in node.details:
                yield Attention((node,), len(edges.data(node)) > 1, is_masked)
                continue
            projected = [
                edges.source(roles[role]) for role in ("query", "key", "value") if role in roles
            ]
            inputs = [edges.inputs_of(each) for each in projected[:2]]
            found = _nodes_of(edges, node, [edges.ancestors(each) for each in projected])
            nodes = tuple(each for each in edges.flow.nodes if each.id in found)
            yield Attention(nodes, len(inputs) == 2 and bool(inputs[0] - inputs[1]), is_masked)


def _nodes_of(edges: FlowEdges, node: Node, before: list[set[str]]) -> set[str]:
    """Return the ids of an attention's nodes; ``before`` is what Q, K and V depend on."""
    # Where a layer itself attends, its path does not tell which nodes belong to the attention.
    holder = f"{node.path}." if node.path and node.path != edges.flow.path else None
    shared = set.intersection(*before) if before else set[str]()

    def is_end(each: Node) -> bool:
        return each.kind in ("input", "output") or each.operation in BLOCKS

    def is_inside(each: Node) -> bool:
        return holder is not None and f"{each.path}.".startswith(holder)

    def belongs(each: Node, *, is_projected: bool) -> bool:
        if is_end(each):
            return False
        if each.id in shared:  # what Q, K and V are projected from, or one projection for all
            return each.operation == "linear" and not is_projected
        if is_inside(each) or each.kind in ("constant", "parameter"):
            return True
        return not is_projected and each.operation not in {*NORMS, None}

    chain = [node]  # on to the output projection
    while len(users := edges.users(chain[-1])) == 1 and not is_end(users[0]):
        is_linear = users[0].operation == "linear"
        if is_linear or is_inside(users[0]):
            chain.append(users[0])
        if is_linear or not is_inside(users[0]):
            break
    found = {each.id for each in chain}
    waiting = [(source, False) for each in chain for source in edges.sources(each)]
    while waiting:  # back to Q, K and V, and to what else works for it, as a gate
        each, is_projected = waiting.pop()
        if each.id not in found and belongs(each, is_projected=is_projected):
            found.add(each.id)
            is_projected = is_projected or each.operation == "linear"
            waiting += [(source, is_projected) for source in edges.sources(each)]
    return found
