"""The edges between the nodes of a module's graph, and from and to its inputs and outputs."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple

from msgspec import Struct, field

from bertviewer.core.graph.operation_names import TABLES
from bertviewer.core.graph.partition import GraphNode
from bertviewer.core.graph.trace import Call
from bertviewer.core.graph.trace_graph import (
    ACTIVATION,
    AUXILIARY,
    PARAMETER,
    Graph,
    Patterns,
    closure,
)
from bertviewer.core.schema.flow import PARTS, TRANSPOSED, Node, Operand, SymbolicShape

_TURNS = ("T", "mT", "t", "transpose", "permute", "swapaxes", "swapdims")
_USES = {"mask": "mask", "position": "positions", "bias": "position bias"}
"""The use of a constant by the role in which it is read."""


class Origin(NamedTuple):
    """The node that a value comes from, ``None`` if it is not drawn, and the view operations since.

    ``through`` are the modules that consist of such an operation.
    """

    node: GraphNode | None
    views: tuple[str, ...] = ()
    through: tuple[str, ...] = ()


class NodeEdge(NamedTuple):
    """An edge: a value that one node computes and another one reads."""

    source: GraphNode
    target: GraphNode
    value: int
    role: str | None
    origin: Origin


class EdgeFinder(Struct, eq=False, dict=True):
    """Finds the edges between the nodes of one call, and creates nodes for its inputs and outputs.

    Attributes:
        symbolic_shapes: the symbolic shapes of values, by value.
        around: for the nodes of a pattern, the enclosing finder and its node of the pattern.
        ids: the ids of the nodes that are drawn.
    """

    graph: Graph
    patterns: Patterns
    root: Call
    nodes: Sequence[GraphNode]
    symbolic_shapes: Mapping[int, SymbolicShape]
    around: "tuple[EdgeFinder, GraphNode] | None" = None
    ids: Mapping[GraphNode | None, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Index the nodes, and the inputs of the call."""
        self._node_of = {number: node for node in self.nodes for number in node.operations}
        self._names = {value: name for name, value in reversed(self.root.inputs)}
        self._uses: dict[GraphNode, str] = {}
        self._ends: dict[tuple[str, str], GraphNode] = {}
        self._roles_inside = cache(self._roles_of)

    def node_edges(self) -> Iterator[NodeEdge]:
        """Yield the edges into each node, in order."""
        graph = self.graph
        for node in self.nodes:
            seen: set[tuple[GraphNode, str | None]] = set()
            for number in sorted(node.operations):
                if node.kind != "module" and graph.is_view(number):
                    continue
                for value in graph.trace.reads[number]:
                    origin = self.origin(value, node)
                    source = origin.node
                    is_number = graph.is_scalar(value) and graph.level[value] == AUXILIARY
                    if source is None or source is node or is_number:
                        continue  # a number such as a scale or a length
                    role = self.role(node, number, value)
                    if source.kind == "constant" and source.end is None:
                        # Indices of a table that do not depend on the data are positions.
                        is_table = graph.words[number] == "embedding"
                        if use := role or ("position" if is_table else None):
                            self._uses.setdefault(source, use)
                    if (source, role) not in seen:
                        seen.add((source, role))
                        yield NodeEdge(source, node, value, role, origin)

    def use_of(self, node: GraphNode) -> str | None:
        """Return the use of a constant, such as ``mask``; ``None`` if unknown."""
        return _USES.get(self._uses.get(node, ""))

    def outputs(self) -> Iterator[NodeEdge]:
        """Yield the edges to the outputs of the call, each value once."""
        graph, outputs = self.graph, self.root.outputs
        level = max((graph.level[value] for _, value in outputs), default=AUXILIARY)
        given = [it for it in outputs if graph.level[it[1]] == level and not self._is_inside(it[1])]
        # Outputs in tuples are hidden states of layers, which are drawn.
        given = [each for each in given if "." not in each[0]] or given
        seen: set[int] = set()
        for name, value in given:
            origin = self.origin(value, None)
            source, same = origin.node, graph.same(value)
            if source is None or source.end is not None or same in seen:
                continue
            seen.add(same)
            shown = name.replace("_", " ") if name and not name[0].isdigit() else ""
            if not shown and (len(given) == 1 or len(seen) == 1):
                shown = self._like_input(value)
            shown = shown or f"output {len(seen) - 1}"
            yield NodeEdge(source, self._end("output", shown, value), value, None, origin)

    def _like_input(self, value: int) -> str:
        """Return the name of an output: hidden states, if it has the shape of such an input."""
        graph = self.graph
        data = ((name, it) for name, it in self.root.inputs if graph.level[it] == ACTIVATION)
        name, taken = next(data, ("", value))
        is_like = graph.shape(taken) == graph.shape(value) and name == "hidden_states"
        return "hidden states" if is_like else "output"

    def _is_inside(self, value: int) -> bool:
        """Return whether a value is computed inside a pattern, as attention weights are."""
        maker = self.graph.maker(value)
        node = self._node_of.get(maker)
        return node is not None and node.pattern is not None and maker != node.pattern.last

    def origin(self, value: int, target: GraphNode | None) -> Origin:
        """Return the origin of a value that a node or, for ``None``, an output reads."""
        trace, inside = self.graph.trace, self.root.operations
        words: list[str] = []
        through: list[str] = []
        while (maker := trace.maker_of.get(value)) is not None and maker in inside:
            if node := self._node_of.get(maker):
                return Origin(node, tuple(words), tuple(through))
            view = self.graph.view(value)
            if view is None:
                return Origin(None)
            value = view.source
            words.insert(0, view.word)
            number = trace.innermost[maker]
            if number is not None and len(trace.calls[number].operations) == 1:
                through.insert(0, trace.calls[number].path)
        return Origin(self._outside(value, target), tuple(words), tuple(through))

    def operand(self, value: int, node: GraphNode) -> Operand | None:
        """Return a tensor that a node reads as an operand, ``None`` if its origin is not drawn."""
        if name := self.graph.parameter(value):
            if (end := self._ends.get(("parameter", name))) in self.ids:
                return Operand(self.ids[end])
            turns = sum(view.word in _TURNS for view in self.graph.views(value))
            return Operand(parameter=name, parts=(TRANSPOSED,) if turns % 2 else ())
        origin = self.origin(value, node)
        views = origin.views
        while origin.node is node and (view := self.graph.view(value)) is not None:
            value = view.source  # a view within the node itself
            origin = self.origin(value, node)
            views = (*origin.views, view.word, *views)
        if origin.node in self.ids and origin.node is not node:
            parts = tuple(word for word in views if word.startswith(PARTS))
            return Operand(self.ids[origin.node], parts)
        return None if self.around is None else self.around[0].operand(value, self.around[1])

    def _outside(self, value: int, target: GraphNode | None) -> GraphNode | None:
        graph = self.graph
        stored, level = graph.trace.values[value], graph.level[value]
        is_operation = target is not None and target.kind == "operation"
        plain = stored.name.rpartition(".")[2]
        if stored.kind == "parameter":
            if target is None or not is_operation or graph.words[target.first] in TABLES:
                return None
            is_weight = graph.trace.operations[target.first].products
            return None if is_weight else self._end("parameter", plain, value, path=stored.name)
        name = self._names.get(value) or self._names.get(graph.same(value)) or ""
        if stored.kind in ("buffer", "constant") and not name:
            is_shown = target is None or is_operation
            return self._end("constant", plain or "constant", value) if is_shown else None
        base, _, rest = name.partition(".")
        plain = (name if rest and base.isdecimal() else base).replace("_", " ")
        if level == ACTIVATION or (level == AUXILIARY and stored.kind == "input"):
            return self._end("input", plain or "external input", value)
        use = None
        if level == PARAMETER:
            use = "position bias"
        elif "mask" in plain:
            use = "mask"
        elif "position" in plain or plain in ("cos", "sin"):
            use = "positions"
        return self._end("constant", plain or use or "constant", value, operation=use)

    def _end(
        self,
        kind: Literal["input", "output", "parameter", "constant"],
        name: str,
        value: int,
        operation: str | None = None,
        path: str | None = None,
    ) -> GraphNode:
        """Return the node of an input or output, one for all tensors in one argument."""
        key = kind, path or name
        if key not in self._ends:
            shapes = self.graph.shape(value), self.symbolic_shapes.get(value)
            end = Node("", kind, name, path, None, operation, *shapes)
            self._ends[key] = GraphNode(kind, set(), end=end)
        return self._ends[key]

    def role(self, node: GraphNode, number: int, value: int) -> str | None:
        """Return the role of a value in the pattern of an operation of a node."""
        if node.kind != "module" or node.pattern is not None:
            pattern = self.patterns.outer.get(number) or self.patterns.inner.get(number)
            return None if pattern is None else pattern.roles.get((number, value))
        is_auxiliary = self.graph.level[value] == AUXILIARY
        return self._roles_inside(node).get(self.graph.same(value)) if is_auxiliary else None

    def _roles_of(self, node: GraphNode) -> dict[int, str]:
        """Return the roles of masks and positions in a closed module, traced back to its inputs."""
        graph, inner = self.graph, self.patterns.inner

        def read(value: int) -> list[int]:
            maker = graph.maker(value)
            readings = graph.readings[maker] if maker in node.operations else ()
            return [each.same for each in readings if graph.level[each.same] != ACTIVATION]

        found: dict[int, str] = {}
        patterns = {id(it): it for each in node.operations if (it := inner.get(each))}
        roles = (role for pattern in patterns.values() for role in pattern.roles.items())
        for (_, value), role in roles:
            same = graph.same(value)
            if role in ("mask", "position") and graph.level[same] != ACTIVATION:
                for each in closure([same], read):
                    found.setdefault(each, role)
        return found
