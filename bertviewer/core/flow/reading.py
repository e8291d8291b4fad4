"""Trace to ``Flow``: a module's boxes, and what goes from one to another."""

from collections.abc import Hashable, Mapping, Sequence

from bertviewer.core import budget
from bertviewer.core.architecture.architecture import Architecture, ancestors
from bertviewer.core.architecture.flow import Edge, Flow, Letters, Node
from bertviewer.core.architecture.flows import Flows
from bertviewer.core.budget import OverBudget
from bertviewer.core.flow.box_words import BoxWords
from bertviewer.core.flow.boxes import Box, boxes_in_group, boxes_of
from bertviewer.core.flow.graph import Graph
from bertviewer.core.flow.groups.finding import find_groups
from bertviewer.core.flow.macs import macs_of
from bertviewer.core.flow.operands import DrawnBoxes
from bertviewer.core.flow.signatures import signature
from bertviewer.core.flow.trace import Call, Trace
from bertviewer.core.flow.wiring import End, Wire, Wiring


class FlowReader:
    """Reads the flows of modules off one trace."""

    def __init__(
        self,
        trace: Trace,
        architecture: Architecture | None = None,
        letters: Mapping[int, Letters] | None = None,
    ) -> None:
        self.trace = trace
        self.graph = Graph(trace)
        self.groups = find_groups(self.graph)
        self._words = BoxWords(self.graph)
        self._letters = letters or {}
        self._counts: Mapping[str, int] = (
            {node.path: node.parameters for node in architecture.modules} if architecture else {}
        )
        self._repeats = (
            {node.path: node.repeat for node in architecture.modules} if architecture else {}
        )

    def flow(self, path: str) -> Flow:
        """Return the flow of the module at ``path``, in its first call.

        Raises:
            LookupError: it was not called, or did not come to its end.
        """
        numbers = self.trace.calls_of.get(path)
        if not numbers:
            raise LookupError(path)
        call = self.trace.calls[numbers[0]]
        boxes = boxes_of(self.graph, self.groups, call)
        nodes, edges = self._drawn(call, boxes, "n", None)
        return Flow(path, call.class_name, nodes, edges, self._repeats.get(path))

    def flows(self, lengths: Mapping[str, int]) -> Flows:
        """Return the flows of all modules that were called, once for those that do the same.

        At a limit in force the modules that are left have the reason in place of a flow.
        """
        distinct: dict[str, Flow] = {}
        like: dict[str, str] = {}
        firsts: dict[Hashable, str] = {}
        missing = self._missing()
        for path, numbers in self.trace.calls_of.items():
            call = self.trace.calls[numbers[0]]
            if not call.operations:
                continue  # it hands on what it takes
            try:
                budget.check()
                first = firsts.setdefault(signature(self.graph, call), path)
                if first == path:
                    distinct[path] = self.flow(path)
                else:
                    like[path] = first
            except OverBudget as error:
                missing[path] = str(error)
        return Flows(distinct, {p: f for p, f in like.items() if f in distinct}, missing, lengths)

    def _missing(self) -> dict[str, str]:
        """Return why the module in which the trace stopped, and those around it, have no flow."""
        if self.trace.stopped is None:
            return {}
        path, reason = self.trace.stopped
        return {
            above: reason if above == path else f"{path}: {reason}"
            for above in ancestors(path)
            if above not in self.trace.calls_of
        }

    def _drawn(
        self, call: Call, boxes: Sequence[Box], prefix: str, around: tuple[DrawnBoxes, Box] | None
    ) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
        """Return nodes and edges; in a group only what goes from one of its boxes to another.

        Args:
            call: the module.
            boxes: what is drawn.
            prefix: what all ids begin with.
            around: the drawing with the group in it, and the box that the group is.
        """
        wiring = Wiring(self.graph, self.groups, call, boxes)
        wires = list(wiring.wires())
        if around is None:
            wires = _alive([*wires, *wiring.outputs()])
            used = {_key(end): end for wire in wires for end in (wire.source, wire.target)}
        else:
            used = {_key(box): box for box in boxes if box.kind != "constant"}
            wires = [w for w in wires if _key(w.source) in used and _key(w.target) in used]
        inputs = [end for end in used.values() if isinstance(end, End) and end.kind != "output"]
        results = [end for end in used.values() if isinstance(end, End) and end.kind == "output"]
        inner = sorted((it for it in used.values() if isinstance(it, Box)), key=lambda b: b.first)
        ordered: list[Box | End] = [*inputs, *inner, *results]
        ids = {_key(each): f"{prefix}{number}" for number, each in enumerate(ordered)}
        drawing = DrawnBoxes(self.graph, wiring, ids, *(around or ()))
        nodes = tuple(
            self._end_node(ids[each], each)
            if isinstance(each, End)
            else self._box_node(each, call, drawing)
            for each in ordered
        )
        edges: dict[tuple[str, str, str | None], Edge] = {}
        for wire in wires:
            source, target = ids[_key(wire.source)], ids[_key(wire.target)]
            shape = self.graph.shape(wire.value)
            through = wiring.through(wire.value) if "dropout" in wire.movement else ()
            letters = self._letters.get(wire.value)
            edge = Edge(source, target, shape, letters, wire.role, wire.movement, through)
            edges.setdefault((source, target, wire.role), edge)
        return nodes, tuple(edges.values())

    def _end_node(self, identity: str, end: End) -> Node:
        shape, letters = end.shape, self._letters.get(end.value)
        return Node(identity, end.kind, end.name, end.path, None, end.operation, shape, letters)

    def _box_node(self, box: Box, root: Call, drawing: DrawnBoxes) -> Node:
        words, use = self._words, drawing.wiring.use_of(box)
        identity, given, holder = drawing.ids[_key(box)], words.given(box), words.holder(box)
        nodes: tuple[Node, ...] | None = None
        edges: tuple[Edge, ...] = ()
        if box.group is not None and words.kind(box) == "group":
            parts = boxes_in_group(self.graph, self.groups, root, box.group)
            nodes, edges = self._drawn(root, parts, f"{identity}.", (drawing, box))
        details = dict(words.details(box))
        if box.kind == "module" and holder is not None and holder.path in self._counts:
            details["parameters"] = self._counts[holder.path]
        operation = words.sole_operation(box)
        return Node(
            id=identity,
            kind=words.kind(box),
            name=words.name(box, use),
            path=None if holder is None else holder.path,
            class_name=None if holder is None else holder.class_name,
            operation=words.operation(box, use),
            shape=self.graph.shape(given),
            symbolic_shape=self._letters.get(given),
            macs=macs_of(self.trace, box.operations),
            nodes=nodes,
            edges=edges,
            details=details,
            repeat=box.repeat,
            reads=words.reads(box),
            operands=() if operation is None else drawing.operands(box, operation),
        )


def _key(end: Box | End) -> int | End:
    """Return what tells an end of a wire from others: ends are equal by what they are."""
    return id(end) if isinstance(end, Box) else end


def _alive(wires: Sequence[Wire]) -> list[Wire]:
    """Return the wires that lead to an output in the end."""
    into: dict[int | End, list[Wire]] = {}
    for wire in wires:
        into.setdefault(_key(wire.target), []).append(wire)
    reached = {key for key in into if isinstance(key, End)}
    waiting: list[int | End] = list(reached)
    alive: set[int | End] = set(waiting)
    while waiting:
        for wire in into.get(waiting.pop(), ()):
            key = _key(wire.source)
            if key not in alive:
                alive.add(key)
                waiting.append(key)
    return [wire for wire in wires if _key(wire.target) in alive]
