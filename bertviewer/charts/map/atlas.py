"""Which part of a model opens into which: from the whole down to single operations."""

from collections.abc import Iterator, Mapping

from bertviewer.charts.graph.projections import with_projections
from bertviewer.charts.map.inner_flows import inner_flow
from bertviewer.charts.map.part import Part
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Flow, Node
from bertviewer.core.schema.modules import ModuleNode

WHOLE = Part()


class Atlas:
    """Finds the flows of a model's parts, each read once."""

    def __init__(self, architecture: Architecture) -> None:
        self.architecture = architecture
        self._modules = {node.path: node for node in architecture.modules}
        self._flows: dict[Part, Flow | None] = {}

    def flow(self, part: Part) -> Flow | None:
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

    def reason(self, part: Part) -> str:
        """Return why a part has no flow, in a line; empty while flows are still to come."""
        flows = self.architecture.flows
        return "" if flows is None else flows.reason_for(part.path)

    def inside(self, part: Part, node: Node, member: str = "") -> Part | None:
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
            inner = Part(path, call=call_of(node, path, part.call))
        else:
            return None
        flow = self.flow(inner)
        return inner if flow is not None and flow.nodes else None

    def way(self, path: str) -> tuple[Part, ...]:
        """Return the parts that lead to a module, the last one that in which it is drawn."""
        found = [WHOLE]
        while True:
            inner = self._next(found[-1], path)
            if inner is None or inner in found:
                return tuple(found)
            found.append(inner)

    def above(self, part: Part) -> Part | None:
        """Return the part in which another one is drawn, ``None`` for the whole model."""
        if part.groups:
            return Part(part.path, part.groups[:-1], part.call)
        if not part.path:
            return None
        around = next((each for each in reversed(self.way(part.path)) if each != part), None)
        return None if around is None else self._innermost(around, part)

    def box(self, part: Part, inner: Part) -> tuple[Node, str] | None:
        """Return the node of a part that opens into another, and which of its layers that is."""
        flow = self.flow(part)
        for node in () if flow is None else flow.nodes:
            if inner.path == part.path and inner.groups == (*part.groups, node.id):
                return node, ""
            if not inner.groups and node.kind == "module" and inner.path in node.layers:
                return node, inner.path
        return None

    def module_of(self, part: Part, node: Node) -> str | None:
        """Return the module that a node is or is in, if that is not the part around it."""
        is_one = node.kind in ("module", "group") and node.path != part.path
        return node.path or None if is_one else None

    def shown(self, part: Part, path: str) -> tuple[str, ...]:
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

    def _innermost(self, around: Part, part: Part) -> Part:
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

    def _read(self, part: Part) -> Flow | None:
        flows = self.architecture.flows
        if flows is None:
            return None
        if not part.groups:
            flow = flows.flow(part.path)
            return None if flow is None else with_projections(flow)
        around = self.flow(Part(part.path, part.groups[:-1], part.call))
        for node in () if around is None else around.nodes:
            if around is not None and node.id == part.groups[-1]:
                return inner_flow(around, node)
        return None

    def _next(self, part: Part, path: str) -> Part | None:
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
