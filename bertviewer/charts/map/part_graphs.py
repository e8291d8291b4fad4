"""Graphs of a model's parts: which node opens into which part, down to single operations."""

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.graph.fused_attention import attention_steps, with_projections
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Edge, Flow, Node
from bertviewer.core.schema.modules import ModuleNode

_OUTPUT = "output"


class Scope(Struct, frozen=True):
    """A part of a model that has its own graph: a module, or a group of operations in it.

    Attributes:
        path: the module, "" for the whole model.
        groups: the ids of the nested groups in its graph, the outermost first.
        call: the call of a module that several layers share.
    """

    path: str = ""
    groups: tuple[str, ...] = ()
    call: int = 0

    def group(self, key: str) -> "Scope":
        """Return a group in it."""
        return replace(self, groups=(*self.groups, key))

    @property
    def parent(self) -> "Scope":
        """The scope around a group."""
        return replace(self, groups=self.groups[:-1])


WHOLE = Scope()


class PartGraphs:
    """Finds and caches the graphs of a model's parts."""

    def __init__(self, architecture: Architecture) -> None:
        self.architecture = architecture
        self._modules = {node.path: node for node in architecture.modules}
        self._flows: dict[Scope, Flow | None] = {}

    def flow(self, part: Scope) -> Flow | None:
        """Return the graph of a part, ``None`` without any."""
        if part not in self._flows:
            self._flows[part] = self._read(part)
        return self._flows[part]

    def nodes(self, part: Scope) -> tuple[Node, ...]:
        """Return the nodes of the graph of a part."""
        flow = self.flow(part)
        return () if flow is None else flow.nodes

    def _read(self, part: Scope) -> Flow | None:
        if part.groups:
            around = self.flow(part.parent)
            group = next((n for n in self.nodes(part.parent) if n.id == part.groups[-1]), None)
            return None if around is None or group is None else inner_flow(around, group)
        flows = self.architecture.flows
        flow = None if flows is None else flows.flow(part.path)
        return None if flow is None else with_projections(flow)

    @property
    def lengths(self) -> Mapping[str, int]:
        """The traced batch size and sequence lengths, by the symbols B, S and S_d."""
        flows = self.architecture.flows
        return {} if flows is None else flows.lengths

    def module(self, path: str) -> ModuleNode | None:
        """Return a module."""
        return self._modules.get(path)

    def reason(self, part: Scope) -> str:
        """Return why a part has no graph, or "" before tracing."""
        flows = self.architecture.flows
        return "" if flows is None else flows.reason_for(part.path)

    def inside(self, part: Scope, node: Node, member: str = "") -> Scope | None:
        """Return the part that a node opens into, ``None`` if it does not.

        Args:
            part: the part whose graph has the node.
            node: the node.
            member: one of identical layers, by default the first.
        """
        if node.nodes:
            inner = part.group(node.id)
        elif node.kind == "module" and node.path and node.path != part.path:
            path = member or node.path
            is_shared = node.repeat is not None and node.repeat.count > len(node.layers)
            inner = Scope(path, call=part.call if is_shared else 0)
        else:
            return None
        return inner if self.nodes(inner) else None

    def way(self, path: str) -> tuple[Scope, ...]:
        """Return the parts from the whole model to the one whose graph has a module."""
        found = [WHOLE]
        while True:
            inner = self._next(found[-1], path)
            if inner is None or inner in found:
                return tuple(found)
            found.append(inner)

    def _next(self, part: Scope, path: str) -> Scope | None:
        """Return the part below that contains a module which is not in this graph."""
        if self.shown(part, path):
            return None
        for node in self.nodes(part):
            for layer in node.layers if node.kind == "module" else ():
                if layer and path.startswith(f"{layer}."):
                    return self.inside(part, node, layer)
        return None

    def above(self, part: Scope) -> Scope | None:
        """Return the part in whose graph another one is a node, ``None`` for the whole model."""
        if part.groups:
            return part.parent
        if not part.path:
            return None
        around = next((each for each in reversed(self.way(part.path)) if each != part), None)
        here = around
        while here is not None and self.box(here, part) is None:
            group = next((node for node in self.nodes(here) if _holds(node, part.path)), None)
            here = None if group is None else self.inside(here, group)
        return here or around

    def box(self, part: Scope, inner: Scope) -> tuple[Node, str] | None:
        """Return the node that opens into an inner part, and which of its layers that is."""
        for node in self.nodes(part):
            if inner.path == part.path and inner.groups == (*part.groups, node.id):
                return node, ""
            if not inner.groups and node.kind == "module" and inner.path in node.layers:
                return node, inner.path
        return None

    def module_of(self, part: Scope, node: Node) -> str | None:
        """Return the module of a node, unless that is the part itself."""
        is_one = node.kind in ("module", "group") and node.path != part.path
        return node.path or None if is_one else None

    def shown(self, part: Scope, path: str) -> tuple[str, ...]:
        """Return the ids of the nodes of a part that show a module."""
        nodes = self.nodes(part)
        if not path or path == part.path:
            return ()
        exact = [node for node in nodes if _is(node, path, part.path)]
        if any(node.operation == "attention" for node in exact):
            exact = [node for node in exact if node.operation == "attention"]
        elif not any(node.kind == "module" for node in exact):
            inside = (node for node in nodes if _is_below(node, path) or _has_parts(node, path))
            exact += [node for node in inside if node not in exact]
        exact = exact or [node for node in nodes if _holds(node, path)]
        return tuple(node.id for node in exact if node.kind not in ("input", "output"))


def _is(node: Node, path: str, around: str) -> bool:
    if node.path is None or node.path == around:
        return False
    return path in node.layers if node.kind == "module" else node.path == path


def _is_below(node: Node, path: str) -> bool:
    return bool(node.path) and f"{node.path}".startswith(f"{path}.")


def _has_parts(group: Node, path: str) -> bool:
    """Tell whether a group contains a part of a module."""
    return any(_is_below(each, path) for each in _descendants(group))


def _holds(group: Node, path: str) -> bool:
    """Tell whether a group contains a module."""
    return any(each.path == path for each in _descendants(group))


def _descendants(node: Node) -> Iterator[Node]:
    for each in node.nodes or ():
        yield each
        yield from _descendants(each)


def inner_flow(around: Flow, group: Node) -> Flow | None:
    """Return the graph of a group with its inputs and outputs, ``None`` for a single operation.

    Args:
        around: the graph that contains the group.
        group: the group.
    """
    steps = attention_steps(around, group)
    if steps is not None or len(group.nodes or ()) < 2:
        return steps
    nodes = group.nodes or ()
    inside = {node.id for node in nodes}
    entries = [edge for edge in around.edges if edge.target == group.id]
    edges = [*group.edges]
    for node in nodes:
        edges += _entering(node, entries, group)
    outer = {node.id: node for node in around.nodes}
    used = dict.fromkeys(edge.source for edge in edges if edge.source not in inside)
    inputs = [_as_input(outer[key], entries) for key in used if key in outer]
    edges = [edge for edge in edges if edge.source in inside or edge.source in outer]
    sources = {edge.source for edge in group.edges}
    last = [node for node in nodes if node.id not in sources]
    outputs = []
    for number, node in enumerate(last):
        name = _OUTPUT if len(last) == 1 else f"{_OUTPUT} {number}"
        key, shapes = f"{node.id} {_OUTPUT}", (node.shape, node.symbolic_shape)
        outputs.append(Node(key, "output", name, None, None, None, *shapes))
        edges.append(Edge(node.id, key, *shapes))
    name = group.class_name or group.operation or group.name
    return Flow(group.path or around.path, name, (*inputs, *nodes, *outputs), tuple(edges))


def _entering(node: Node, entries: list[Edge], group: Node) -> Iterator[Edge]:
    """Yield the edges from outside a group into one of its nodes."""
    named = [each.node for each in node.operands if each.node]
    is_first = not any(edge.target == node.id for edge in group.edges)
    for edge in entries:
        if edge.source in named or (is_first and not node.operands and edge.role != "residual"):
            yield replace(edge, target=node.id)


def _as_input(node: Node, entries: list[Edge]) -> Node:
    edge = next((each for each in entries if each.source == node.id), None)
    given = node if edge is None else edge
    is_aside = node.kind in ("constant", "parameter")
    return replace(
        node,
        kind=node.kind if is_aside else "input",
        operation=node.operation if is_aside else None,
        shape=given.shape,
        symbolic_shape=given.symbolic_shape,
        nodes=None,
        edges=(),
        repeat=None,
        macs=0,
    )
