"""Trace to ``Flow``: a module's boxes, and what goes from one to another."""

from collections.abc import Hashable, Mapping, Sequence
from math import prod

from bertviewer.core.architecture import Architecture, ancestors
from bertviewer.core.flow.boxes import Box, boxes_in_group, boxes_of
from bertviewer.core.flow.flow import Edge, Flow, Letters, Node, NodeKind
from bertviewer.core.flow.flows import Flows
from bertviewer.core.flow.graph import ASIDE, Graph
from bertviewer.core.flow.groups.attentions import ATTENTION, POSITION_BIAS
from bertviewer.core.flow.groups.feed_forwards import FEED_FORWARD, GATED
from bertviewer.core.flow.groups.finding import find_groups
from bertviewer.core.flow.groups.linears import is_linear, widths_of
from bertviewer.core.flow.groups.rotary import ROTARY
from bertviewer.core.flow.groups.routing import EXPERTS, ROUTING
from bertviewer.core.flow.groups.sums import RESIDUAL
from bertviewer.core.flow.operand import Operand
from bertviewer.core.flow.operands import Drawing
from bertviewer.core.flow.signatures import signature
from bertviewer.core.flow.trace import Call, Trace
from bertviewer.core.flow.wiring import End, Wire, Wiring
from bertviewer.core.flow.words import CONVOLUTIONS
from bertviewer.core.special_floats import Scalar

OPEN_GROUPS = (*(ATTENTION, POSITION_BIAS, FEED_FORWARD, GATED, ROUTING, EXPERTS, ROTARY),)
"""Kinds of groups whose operations are shown when one looks into them."""


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
        """Return the flows of all modules that were called, once for those that do the same."""
        kinds: dict[str, Flow] = {}
        like: dict[str, str] = {}
        firsts: dict[Hashable, str] = {}
        for path, numbers in self.trace.calls_of.items():
            call = self.trace.calls[numbers[0]]
            if not call.operations:
                continue  # it hands on what it takes
            first = firsts.setdefault(signature(self.graph, call), path)
            if first == path:
                kinds[path] = self.flow(path)
            else:
                like[path] = first
        return Flows(kinds, like, self._missing(), lengths)

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
        self, call: Call, boxes: Sequence[Box], prefix: str, around: tuple[Drawing, Box] | None
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
        drawing = Drawing(self.graph, wiring, ids, *(around or ()))
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

    def _box_node(self, box: Box, root: Call, drawing: Drawing) -> Node:
        call, group, wiring = box.call, box.group, drawing.wiring
        identity = drawing.ids[_key(box)]
        macs = sum(
            prod(product)
            for number in box.operations
            for product in self.trace.operations[number].products
        )
        details = dict(group.details) if group is not None else {}
        nodes: tuple[Node, ...] | None = None
        edges: tuple[Edge, ...] = ()
        operands: tuple[Operand, ...] = ()
        single = self._single(box)
        if single is not None and is_linear(self.graph, single):
            taken, given = widths_of(self.graph, single)
            details |= {"in_features": taken, "out_features": given}
        elif single is not None and self.graph.words[single] == "embedding":
            details |= self._table(single)
        kind = self._kind(box)
        if single is not None and kind != "constant":
            details |= self._told(single, box)
            if box.kind != "module" or not is_linear(self.graph, single):
                operands = drawing.operands(box, single)
        if group is not None and kind == "group":
            parts = boxes_in_group(self.graph, self.groups, root, group)
            nodes, edges = self._drawn(root, parts, f"{identity}.", (drawing, box))
        if call is not None and call.path in self._counts and box.kind == "module":
            details["parameters"] = self._counts[call.path]
        given = self._given(box)
        is_closed = box.kind == "module" and call is not None
        holder = call if is_closed else self._holder(box)
        return Node(
            identity,
            kind,
            self._name(box, wiring),
            None if holder is None else holder.path,
            None if holder is None else holder.class_name,
            self._operation(box, wiring),
            self.graph.shape(given),
            self._letters.get(given),
            macs,
            nodes,
            edges,
            details,
            box.repeat,
            self._reads(box),
            operands,
        )

    def _table(self, number: int) -> Mapping[str, Scalar]:
        """Return how many rows a table has, and how wide they are."""
        shapes = [
            self.graph.shape(value)
            for value in self.trace.operations[number].reads
            if self.graph.parameter(value)
        ]
        return {"in_features": shapes[0][0], "out_features": shapes[0][1]} if shapes else {}

    def _told(self, number: int, box: Box) -> Mapping[str, Scalar]:
        """Return what a formula needs of one operation that is no module's whole work."""
        # Some residuals take the skip away.
        is_residual = box.group is not None and box.group.kind == RESIDUAL
        is_product = is_linear(self.graph, number) and box.kind != "module"
        return {"function": self.graph.words[number]} if is_residual or is_product else {}

    def _reads(self, box: Box) -> tuple[str, ...]:
        """Return the parameters that a box computes with; of equal layers those of the first."""
        first = box.repeat is not None and box.call is not None
        numbers = box.call.operations if first and box.call else sorted(box.operations)
        reads = (value for each in numbers for value in self.trace.operations[each].reads)
        return tuple(name for name in dict.fromkeys(map(self.graph.parameter, reads)) if name)

    def _kind(self, box: Box) -> NodeKind:
        """Return a node's kind: what is known as a whole and has parts to show is a group."""
        if box.group is None:
            return box.kind
        if box.group.kind in OPEN_GROUPS:
            return "group"
        return "module" if box.kind == "module" else "operation"

    def _single(self, box: Box) -> int | None:
        real = [
            number
            for number in box.operations
            if not self.graph.is_moving(number) and self._level(number) != ASIDE
        ]
        return real[0] if len(real) == 1 else None

    def _level(self, number: int) -> int:
        return max(self.graph.level[value] for value in self.trace.operations[number].makes)

    def _operation(self, box: Box, wiring: Wiring) -> str | None:
        if box.group is not None:
            return box.group.kind
        if box.kind == "constant":
            return wiring.use_of(box) or ("positions" if self._is_sinusoid(box) else None)
        single = self._single(box)
        if single is None:
            return None
        if is_linear(self.graph, single):
            return "linear"
        word = self.graph.words[single]
        if word in CONVOLUTIONS:
            return "convolution"
        if word == "__getitem__":
            return "look-up"
        return word

    def _name(self, box: Box, wiring: Wiring) -> str:
        if box.kind == "module" and box.call is not None:
            *above, name = box.call.path.split(".")
            return f"{above[-1]} {name}" if name.isdecimal() and above else name
        if box.group is not None:
            return box.group.name or box.group.kind
        if box.kind == "constant":
            found = "sines and cosines" if self._is_sinusoid(box) else "constant"
            return wiring.use_of(box) or found
        single = self._single(box)
        if single is not None and is_linear(self.graph, single):
            return self._weight_name(single)
        return self._operation(box, wiring) or "operation"

    def _is_sinusoid(self, box: Box) -> bool:
        """Tell whether a constant is made of sines and cosines, as of positions."""
        return {"sin", "cos"} <= {self.graph.words[number] for number in box.operations}

    def _weight_name(self, number: int) -> str:
        """Return what a product with a parameter of no module of its own is called."""
        names = [self.graph.parameter(value) for value in self.trace.operations[number].reads]
        last = next((name.rpartition(".")[2] for name in names if name), "")
        return last if last and last not in ("weight", "kernel") else "linear"

    def _holder(self, box: Box) -> Call | None:
        """Return the innermost call that all of a box's operations are in."""
        found = None
        first, last = min(box.operations), max(box.operations)
        for call in self.trace.calls:
            if call.start <= first and last < call.stop:
                found = call
        return found

    def _given(self, box: Box) -> int:
        """Return the first value that a box gives."""
        if box.kind == "module" and box.call is not None and box.call.outputs:
            return box.call.outputs[0][1]
        return self.graph.made(max(box.operations))


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
