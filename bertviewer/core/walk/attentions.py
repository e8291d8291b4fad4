"""An attention as a teacher counts it: with its projections, Q, K, V and the output's."""

from collections.abc import Iterator, Sequence

from bertviewer.core.architecture.flow import Edge, Node
from bertviewer.core.frozen import frozen
from bertviewer.core.walk.wires import Wires

NORMS = ("layer norm", "rms norm", "layer_norm")
BLOCKS = frozenset(
    ("attention", "residual", "feed-forward", "gated feed-forward", "routing", "experts")
)
"""What a layer is made of: each is a step of its own."""
_SELECTION = ("part", "chunk", "split", "unbind", "narrow", "select")


@frozen
class AttentionNodes:
    """One attention of a flow.

    Attributes:
        nodes: it and its projections, in the order of execution.
        is_cross: whether keys come from elsewhere than queries.
        is_masked: whether something keeps a token from looking at all others.
    """

    nodes: tuple[Node, ...]
    is_cross: bool
    is_masked: bool


def attentions_of(wires: Wires) -> Iterator[AttentionNodes]:
    """Yield the attentions of a flow."""
    for node in wires.flow.nodes:
        if node.operation == "attention":
            yield _Gathering(wires, node).attention()


class _Gathering:
    """Gathers what belongs to one attention."""

    def __init__(self, wires: Wires, node: Node) -> None:
        self._wires = wires
        self._node = node
        self._is_whole = "projections" in node.details
        path, flow = node.path or "", wires.flow.path
        # Where a layer itself attends, what is in its module says nothing of what belongs to it.
        self._holder = path if path != flow and path else None
        roles = {edge.role: edge for edge in wires.into(node)}
        self._ways = [roles[role] for role in ("query", "key", "value") if role in roles]
        befores = [wires.before([wires.source(edge)]) for edge in self._ways]
        self._common = set.intersection(*befores) if befores else set[str]()
        self._found: dict[str, Node] = {node.id: node}

    def attention(self) -> AttentionNodes:
        """Return the attention with all that belongs to it."""
        if not self._is_whole:
            for edge in self._wires.into(self._node):
                self._go_back(edge, has_projection=False)
            self._go_on()
            self._take_in()
        nodes = tuple(each for each in self._wires.flow.nodes if each.id in self._found)
        return AttentionNodes(nodes, self._is_cross(), self._is_masked())

    def _go_back(self, edge: Edge, *, has_projection: bool) -> None:
        """Take what an edge comes from, up to the projection; in its own module all of it."""
        node = self._wires.source(edge)
        if node.id in self._found or not self._belongs(node, edge, has_projection=has_projection):
            return
        self._found[node.id] = node
        for before in self._wires.into(node):
            is_through = has_projection or node.operation == "linear"
            self._go_back(before, has_projection=is_through)

    def _belongs(self, node: Node, edge: Edge, *, has_projection: bool) -> bool:
        if node.kind in ("input", "output") or node.operation in BLOCKS:
            return False
        if node.id in self._common:
            # One projection for all three is parted after it; all else is what goes in.
            is_parted = any(word.startswith(_SELECTION) for word in edge.movement)
            return node.operation == "linear" and is_parted and not has_projection
        if node.kind == "module" and node.operation is None:
            return self._is_inside(node)
        if has_projection or node.operation in NORMS:
            return self._is_inside(node) or node.kind in ("constant", "parameter")
        return True

    def _go_on(self) -> None:
        """Take what follows, up to the output projection."""
        node = self._node
        while len(users := self._wires.users(node)) == 1:
            node = users[0]
            is_linear = node.operation == "linear"
            if node.operation in BLOCKS or not (is_linear or self._is_inside(node)):
                return
            self._found[node.id] = node
            if is_linear:
                return

    def _take_in(self) -> None:
        """Take what is in the attention's module and works for it alone, as a gate."""
        for node in reversed(self._wires.flow.nodes):
            users = self._wires.users(node)
            is_for_it = bool(users) and all(user.id in self._found for user in users)
            is_free = node.id not in self._common and node.kind not in ("input", "output")
            if is_for_it and is_free and node.operation not in BLOCKS and self._is_inside(node):
                self._found[node.id] = node

    def _is_inside(self, node: Node) -> bool:
        if self._holder is None or node.path is None:
            return False
        return node.path == self._holder or node.path.startswith(f"{self._holder}.")

    def _is_cross(self) -> bool:
        if self._is_whole:
            return len(self._wires.data(self._node)) > 1
        sources: Sequence[Node] = [self._wires.source(edge) for edge in self._ways]
        if len(sources) < 2:
            return False
        query, key = (self._wires.inputs_of([source]) for source in sources[:2])
        return bool(query - key)

    def _is_masked(self) -> bool:
        if self._node.details.get("causal"):
            return True
        return any(edge.role in ("mask", "bias") for edge in self._wires.into(self._node))
