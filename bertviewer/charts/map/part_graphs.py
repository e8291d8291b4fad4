"""What can be opened on the map: a module, or a group of operations in it.

The flow inside of a group, with what comes into it and what leaves it.

Which part of a model opens into which: from the whole down to single operations.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.graph.fused_attention import attention_steps, with_projections
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Edge, Flow, Node
from bertviewer.core.schema.modules import ModuleNode


class Scope(Struct, frozen=True):
    """A part of a model that has a flow of its own.

    Attributes:
        path: the module, empty for the whole model.
        groups: the groups in its flow that lead to it, by their ids, the outermost first.
        call: which call it is, of a module that several layers share.
    """

    path: str = ""
    groups: tuple[str, ...] = ()
    call: int = 0

    def group(self, key: str) -> "Scope":
        """Return a group in it."""
        return replace(self, groups=(*self.groups, key))


_OUTPUT = "output"


def inner_flow(around: Flow, group: Node) -> Flow | None:
    """Return what goes on in a group, ``None`` if that is no more than the group itself.

    Args:
        around: the flow that the group is in.
        group: one of its nodes.
    """
    if not group.nodes:
        return None
    steps = attention_steps(around, group)
    if steps is not None:
        return steps
    if len(group.nodes) < 2:
        return None
    inside = {node.id for node in group.nodes}
    entries = [edge for edge in around.edges if edge.target == group.id]
    edges = [*group.edges]
    for node in group.nodes:
        edges += _entering(node, entries, group)
    outer = {node.id: node for node in around.nodes}
    used = dict.fromkeys(edge.source for edge in edges if edge.source not in inside)
    inputs = [_as_input(outer[key], entries) for key in used if key in outer]
    edges = [edge for edge in edges if edge.source in inside or edge.source in outer]
    giving = {edge.source for edge in group.edges}
    last = [node for node in group.nodes if node.id not in giving]
    results = [_as_output(node, number, len(last)) for number, node in enumerate(last)]
    edges += [
        Edge(node.id, result.id, node.shape, node.symbolic_shape)
        for node, result in zip(last, results, strict=True)
    ]
    name = group.class_name or group.operation or group.name
    return Flow(group.path or around.path, name, (*inputs, *group.nodes, *results), tuple(edges))


def _entering(node: Node, entries: list[Edge], group: Node) -> Iterator[Edge]:
    """Yield what leads into a node of a group from outside of it."""
    named = [each.node for each in node.operands if each.node]
    is_first = not any(edge.target == node.id for edge in group.edges)
    for edge in entries:
        if edge.source in named or (is_first and not node.operands and edge.role != "residual"):
            yield replace(edge, target=node.id)


def _as_input(node: Node, entries: list[Edge]) -> Node:
    edge = next((each for each in entries if each.source == node.id), None)
    shape = node.shape if edge is None else edge.shape
    letters = node.symbolic_shape if edge is None else edge.symbolic_shape
    is_aside = node.kind in ("constant", "parameter")
    return replace(
        node,
        kind=node.kind if is_aside else "input",
        operation=node.operation if is_aside else None,
        shape=shape,
        symbolic_shape=letters,
        nodes=None,
        edges=(),
        repeat=None,
        macs=0,
    )


def _as_output(node: Node, number: int, count: int) -> Node:
    name = _OUTPUT if count == 1 else f"{_OUTPUT} {number}"
    return Node(
        f"{node.id} {_OUTPUT}", "output", name, shape=node.shape, symbolic_shape=node.symbolic_shape
    )


WHOLE = Scope()


class PartGraphs:
    """Finds the flows of a model's parts, each read once."""

    def __init__(self, architecture: Architecture) -> None:
        self.architecture = architecture
        self._modules = {node.path: node for node in architecture.modules}
        self._flows: dict[Scope, Flow | None] = {}

    def flow(self, part: Scope) -> Flow | None:
        """Return a part's flow, ``None`` if it has none."""
        if part not in self._flows:
            self._flows[part] = self._read(part)
        return self._flows[part]

    @property
    def lengths(self) -> Mapping[str, int]:
        """The sentence that the flows are of, by the letters B, S and S_d."""
        flows = self.architecture.flows
        return {} if flows is None else flows.lengths

    def module(self, path: str) -> ModuleNode | None:
        """Return what is known of a module."""
        return self._modules.get(path)

    def reason(self, part: Scope) -> str:
        """Return why a part has no flow, in a line; empty while flows are still to come."""
        flows = self.architecture.flows
        return "" if flows is None else flows.reason_for(part.path)

    def inside(self, part: Scope, node: Node, member: str = "") -> Scope | None:
        """Return what a node opens into, ``None`` if it is drawn as a whole.

        Args:
            part: what the node stands in.
            node: one of its flow.
            member: which of equal layers is meant, the first if none is named.
        """
        if node.nodes:
            inner = part.group(node.id)
        elif node.kind == "module" and node.path and node.path != part.path:
            path = member or node.path
            inner = Scope(path, call=call_of(node, path, part.call))
        else:
            return None
        flow = self.flow(inner)
        return inner if flow is not None and flow.nodes else None

    def way(self, path: str) -> tuple[Scope, ...]:
        """Return the parts that lead to a module, the last one that in which it is drawn."""
        found = [WHOLE]
        while True:
            inner = self._next(found[-1], path)
            if inner is None or inner in found:
                return tuple(found)
            found.append(inner)

    def above(self, part: Scope) -> Scope | None:
        """Return the part in which another one is drawn, ``None`` for the whole model."""
        if part.groups:
            return Scope(part.path, part.groups[:-1], part.call)
        if not part.path:
            return None
        around = next((each for each in reversed(self.way(part.path)) if each != part), None)
        return None if around is None else self._innermost(around, part)

    def box(self, part: Scope, inner: Scope) -> tuple[Node, str] | None:
        """Return the node of a part that opens into another, and which of its layers that is."""
        flow = self.flow(part)
        for node in () if flow is None else flow.nodes:
            if inner.path == part.path and inner.groups == (*part.groups, node.id):
                return node, ""
            if not inner.groups and node.kind == "module" and inner.path in node.layers:
                return node, inner.path
        return None

    def module_of(self, part: Scope, node: Node) -> str | None:
        """Return the module that a node is or is in, if that is not the part around it."""
        is_one = node.kind in ("module", "group") and node.path != part.path
        return node.path or None if is_one else None

    def shown(self, part: Scope, path: str) -> tuple[str, ...]:
        """Return the nodes of a part, by their ids, that show a module."""
        flow = self.flow(part)
        if flow is None or not path or path == part.path:
            return ()
        exact = [node for node in flow.nodes if _is(node, path, part.path)]
        if any(node.operation == "attention" for node in exact):
            exact = [node for node in exact if node.operation == "attention"]
        elif not any(node.kind == "module" for node in exact):
            inside = [node for node in flow.nodes if _is_below(node, path) or _has(node, path)]
            exact += [node for node in inside if node not in exact]
        if not exact:
            exact = [node for node in flow.nodes if _holds(node, path)]
        return tuple(node.id for node in exact if node.kind not in ("input", "output"))

    def _innermost(self, around: Scope, part: Scope) -> Scope:
        """Return the group of a part that has a module's box in it, or else the part itself."""
        here = around
        while self.box(here, part) is None:
            flow = self.flow(here)
            groups = [] if flow is None else [n for n in flow.nodes if _holds(n, part.path)]
            inner = self.inside(here, groups[0]) if groups else None
            if inner is None:
                return around
            here = inner
        return here

    def _read(self, part: Scope) -> Flow | None:
        flows = self.architecture.flows
        if flows is None:
            return None
        if not part.groups:
            flow = flows.flow(part.path)
            return None if flow is None else with_projections(flow)
        around = self.flow(Scope(part.path, part.groups[:-1], part.call))
        for node in () if around is None else around.nodes:
            if around is not None and node.id == part.groups[-1]:
                return inner_flow(around, node)
        return None

    def _next(self, part: Scope, path: str) -> Scope | None:
        """Return the part below that holds a module which this one does not draw itself."""
        flow = self.flow(part)
        if flow is None or self.shown(part, path):
            return None
        for node in flow.nodes:
            if node.kind != "module":
                continue
            for layer in node.layers:
                if layer and path.startswith(f"{layer}."):
                    return self.inside(part, node, layer)
        return None


def call_of(node: Node, path: str, call: int) -> int:
    """Return which call of a module is meant when a node of it is opened."""
    is_shared = node.repeat is not None and node.repeat.count > len(node.layers)
    return call if is_shared or not path else 0


def _is(node: Node, path: str, around: str) -> bool:
    if node.path is None or node.path == around:
        return False
    return path in node.layers if node.kind == "module" else node.path == path


def _is_below(node: Node, path: str) -> bool:
    return bool(node.path) and f"{node.path}".startswith(f"{path}.")


def _has(group: Node, path: str) -> bool:
    """Tell whether a group has a part of a module in it, and that of no module around it."""
    return any(_is_below(each, path) for each in _inner(group))


def _holds(group: Node, path: str) -> bool:
    """Tell whether a group has a module in it."""
    return any(each.path == path for each in _inner(group))


def _inner(node: Node) -> Iterator[Node]:
    for each in node.nodes or ():
        yield each
        yield from _inner(each)
