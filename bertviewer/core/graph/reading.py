"""Reads the flows of modules from a trace."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

from bertviewer.core import budget
from bertviewer.core.architecture.architecture import Architecture, ancestors
from bertviewer.core.architecture.flow import Edge, Flow, Letters, Node
from bertviewer.core.architecture.flows import Flows
from bertviewer.core.architecture.operand import PARTS, TRANSPOSED, Operand
from bertviewer.core.budget import OverBudget
from bertviewer.core.frozen import frozen
from bertviewer.core.graph.node_labels import labelled, sole_operation
from bertviewer.core.graph.partition import Box, partition, partition_group
from bertviewer.core.graph.patterns.finding import find_groups
from bertviewer.core.graph.signatures import signature
from bertviewer.core.graph.trace import Argument, Call, Ref, Trace, text_of
from bertviewer.core.graph.trace_graph import Graph, closure
from bertviewer.core.graph.wiring import End, Wire, Wiring

_SILENT = ("dtype", "inplace", "training", "dropout_p", "out", "device", "_stacklevel")
"""Arguments that are not shown."""
_TURNS = ("T", "mT", "t", "transpose", "permute", "swapaxes", "swapdims")


@frozen
class _Drawing:
    """The boxes and ends of a module or a group by their ids, and the box that the group is."""

    wiring: Wiring
    ids: Mapping[Box | End, str]
    around: "_Drawing | None" = None
    holder: Box | None = None


class FlowReader:
    """Reads the flows of modules from one trace."""

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
        modules = architecture.modules if architecture else ()
        self._counts = {node.path: node.parameters for node in modules}
        self._repeats = {node.path: node.repeat for node in modules}

    def flow(self, path: str) -> Flow:
        """Return the flow of the module at ``path``, in its first call.

        Raises:
            LookupError: it was not called, or its call did not end.
        """
        call = self.trace.calls[self.trace.calls_of[path][0]]
        boxes = partition(self.graph, self.groups, call)
        nodes, edges = self._drawn(call, boxes, "n", None)
        return Flow(path, call.class_name, nodes, edges, self._repeats.get(path))

    def flows(self, lengths: Mapping[str, int]) -> Flows:
        """Return the flows of all modules that were called, once for those that do the same.

        At a limit in force the other modules have the reason instead of a flow.
        """
        distinct: dict[str, Flow] = {}
        like: dict[str, str] = {}
        firsts: dict[Hashable, str] = {}
        missing = self._missing()
        for path, numbers in self.trace.calls_of.items():
            call = self.trace.calls[numbers[0]]
            if not call.operations:
                continue  # it returns its input
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
        self, call: Call, boxes: Sequence[Box], prefix: str, around: tuple[_Drawing, Box] | None
    ) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
        """Return nodes and edges; in a group only the edges between its boxes.

        ``around`` is the drawing with the group in it, and the box that the group is.
        """
        wiring = Wiring(self.graph, self.groups, call, boxes)
        wires = list(wiring.wires())
        if around is None:
            wires = _alive([*wires, *wiring.outputs()])
            used = dict.fromkeys(end for wire in wires for end in (wire.source, wire.target))
        else:
            used = dict.fromkeys(box for box in boxes if box.kind != "constant")
            wires = [wire for wire in wires if wire.source in used and wire.target in used]
        ends = [end for end in used if isinstance(end, End)]
        ordered: list[Box | End] = [
            *(end for end in ends if end.kind != "output"),
            *sorted((box for box in used if isinstance(box, Box)), key=lambda box: box.first),
            *(end for end in ends if end.kind == "output"),
        ]
        ids = {each: f"{prefix}{number}" for number, each in enumerate(ordered)}
        drawing = _Drawing(wiring, ids, *(around or ()))
        nodes = tuple(
            self._box_node(each, call, drawing)
            if isinstance(each, Box)
            else Node(
                id=ids[each],
                kind=each.kind,
                name=each.name,
                path=each.path,
                operation=each.operation,
                shape=each.shape,
                symbolic_shape=self._letters.get(each.value),
            )
            for each in ordered
        )
        edges: dict[tuple[str, str, str | None], Edge] = {}
        for wire in wires:
            movement = wire.origin.movement
            edge = Edge(
                source=ids[wire.source],
                target=ids[wire.target],
                shape=self.graph.shape(wire.value),
                symbolic_shape=self._letters.get(wire.value),
                role=wire.role,
                movement=movement,
                through=wire.origin.through if "dropout" in movement else (),
            )
            edges.setdefault((edge.source, edge.target, edge.role), edge)
        return nodes, tuple(edges.values())

    def _box_node(self, box: Box, root: Call, drawing: _Drawing) -> Node:
        graph, identity = self.graph, drawing.ids[box]
        node = labelled(graph, box, drawing.wiring.use_of(box), self._letters)
        details = dict(node.details)
        if box.kind == "module" and node.path in self._counts:
            details["parameters"] = self._counts[node.path]
        nodes: tuple[Node, ...] | None = None
        edges: tuple[Edge, ...] = ()
        if box.group is not None and node.kind == "group":
            parts = partition_group(graph, self.groups, root, box.group)
            nodes, edges = self._drawn(root, parts, f"{identity}.", (drawing, box))
        operation = sole_operation(graph, box)
        return replace(
            node,
            id=identity,
            nodes=nodes,
            edges=edges,
            details=details,
            operands=() if operation is None else tuple(self._operands(drawing, box, operation)),
        )

    def _operands(self, drawing: _Drawing, box: Box, number: int) -> Iterator[Operand]:
        """Yield the operands of the one operation of a box: edges don't tell 1 - x from x - 1."""
        operation = self.trace.operations[number]
        named = [it for it in operation.kwargs if it[0] not in _SILENT and it[1] is not None]
        for key, argument in (*(("", arg) for arg in operation.args), *named):
            for value in _tensors_or_whole(argument):
                if isinstance(value, Ref):
                    found = self._tensor(drawing, value.value, box)
                    role = drawing.wiring.role(box, number, value.value) or ""
                    yield replace(found or Operand(role=role), key=key)
                else:
                    yield Operand(plain=text_of(value), key=key)

    def _tensor(self, drawing: _Drawing, value: int, box: Box) -> Operand | None:
        """Return what computes a tensor, here or in the drawing around; else ``None``."""
        wiring, ids = drawing.wiring, drawing.ids
        if name := self.graph.parameter(value):
            end = wiring.end_of_parameter(name)
            if end is not None and end in ids:
                return Operand(ids[end])
            turns = sum(word in _TURNS for _, word in self.graph.moves(value))
            return Operand(parameter=name, parts=(TRANSPOSED,) if turns % 2 else ())
        origin = wiring.source(value, box)
        movement = origin.movement
        while origin.end is box and (step := self.graph.back(value)) is not None:
            value = step[0]  # it was moved in the box itself
            origin = wiring.source(value, box)
            movement = (*origin.movement, step[1], *movement)
        if origin.end is not None and origin.end in ids and origin.end is not box:
            return Operand(ids[origin.end], tuple(it for it in movement if it.startswith(PARTS)))
        if drawing.around is None or drawing.holder is None:
            return None
        return self._tensor(drawing.around, value, drawing.holder)


def _tensors_or_whole(argument: Argument) -> Iterator[Argument]:
    """Yield the items of a list that contains tensors, or else an argument."""
    if isinstance(argument, tuple | list) and any(isinstance(item, Ref) for item in argument):
        for item in argument:
            yield from _tensors_or_whole(item)
    else:
        yield argument


def _alive(wires: Sequence[Wire]) -> list[Wire]:
    """Return the wires that lead to an output in the end."""
    sources: dict[Box | End, list[Box | End]] = {}
    for wire in wires:
        sources.setdefault(wire.target, []).append(wire.source)
    outputs: list[Box | End] = [end for end in sources if isinstance(end, End)]
    alive = closure(outputs, lambda end: sources.get(end, ()))
    return [wire for wire in wires if wire.target in alive]
