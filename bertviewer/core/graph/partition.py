"""Partitions the operations of a module into the nodes of its graph."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cache, partial

from msgspec import Struct, field

from bertviewer.core.graph.operation_names import ELEMENTWISE
from bertviewer.core.graph.trace import Call, Trace
from bertviewer.core.graph.trace_graph import (
    ACTIVATION,
    AUXILIARY,
    PARAMETER,
    Graph,
    Pattern,
    Patterns,
    closure,
)
from bertviewer.core.schema.flow import Node, NodeKind
from bertviewer.core.schema.modules import Repeat

MAX_NODES = 40
"""A graph with more nodes is drawn with closed children instead."""


class GraphNode(Struct, eq=False):
    """One node of a module's graph, as a set of operations.

    A constant depends on masks and positions only. Only modules contain view operations; a module
    may be a whole ``pattern``, and may represent equal layers, ``repeat``. Inputs and outputs have
    no operations; ``end`` is the node to show.
    """

    kind: NodeKind
    operations: set[int]
    call: Call | None = None
    pattern: Pattern | None = None
    repeat: Repeat | None = None
    end: Node | None = None

    @property
    def first(self) -> int:
        """Its first operation."""
        return min(self.operations)


def partition(graph: Graph, patterns: Patterns, root: Call) -> list[GraphNode]:
    """Return the nodes of a module in execution order, with equal layers merged."""
    within = frozenset(root.operations)
    # A module may be a part of a larger pattern: the activation of a feed-forward network.
    known = {
        number: pattern if pattern.operations <= within else patterns.inner[number]
        for number, pattern in patterns.outer.items()
    }
    nodes = _Partition(graph, known, within).nodes(root)
    if sum(node.kind != "constant" for node in nodes) > MAX_NODES:
        closed = _Partition(graph, known, within, closes_children=True).nodes(root)
        nodes = min(nodes, closed, key=len)
    return _with_merged_layers(graph, nodes)


def partition_pattern(
    graph: Graph, patterns: Patterns, root: Call, pattern: Pattern
) -> list[GraphNode]:
    """Return the nodes within a pattern: modules, activations and other operations."""
    inner = {number: each for number, each in patterns.inner.items() if each is not pattern}
    return _Partition(graph, inner, pattern.operations).nodes(root)


class _Partition(Struct):
    """Collects the nodes of the operations ``within``."""

    graph: Graph
    patterns: Mapping[int, Pattern]
    within: frozenset[int]
    closes_children: bool = False
    is_stack: bool = False
    layers: frozenset[Call] = frozenset()
    found: dict[int, GraphNode] = field(default_factory=dict)

    def nodes(self, root: Call) -> list[GraphNode]:
        self.layers = frozenset(_layer_calls(self.graph.trace, root))
        held = sum(len(call.operations) for call in self.layers)
        self.is_stack = 2 * held >= max(len(root.operations), 1)
        self._descend(root)
        constants = [node for node in self.found.values() if node.kind == "constant"]
        others = [node for node in self.found.values() if node.kind != "constant"]
        return sorted((*others, *_joined(self.graph, constants)), key=lambda node: node.first)

    def _add(
        self,
        kind: NodeKind,
        operations: set[int],
        call: Call | None = None,
        pattern: Pattern | None = None,
    ) -> None:
        node = GraphNode(kind, operations, call, pattern)
        self.found.setdefault(node.first, node)

    def _descend(self, call: Call) -> None:
        position = call.start
        for child in self.graph.trace.children(call):
            self._add_operations(range(position, child.start))
            self._add_child(child)
            position = child.stop
        self._add_operations(range(position, call.stop))

    def _add_operations(self, numbers: Sequence[int]) -> None:
        """Add operations of the module's own code."""
        for number in numbers:
            if number not in self.within or self.graph.is_view(number):
                continue
            if (pattern := self._pattern(number)) is not None:
                self._add("group", set(pattern.operations), None, pattern)
            else:
                self._add("constant" if self._is_constant(number) else "operation", {number})

    def _add_child(self, child: Call) -> None:
        graph = self.graph
        inside = [each for each in child.operations if each in self.within]
        real = [each for each in inside if not graph.is_view(each)]
        counted = {each for each in real if graph.level_of(each) != AUXILIARY}
        if not counted:
            for each in real:
                self._add("constant", {each}, child)
            return
        below = graph.trace.children(child)
        wrapped = next((each for each in below if counted <= set(each.operations)), None)
        if wrapped is not None and child not in self.layers:
            self._add_child(wrapped)  # without the wrapper
            return
        known = (self._pattern(each) for each in counted)
        patterns = list({id(pattern): pattern for pattern in known if pattern}.values())
        if any(not pattern.operations.issubset(real) for pattern in patterns):
            self._descend(child)  # a part of it belongs to a larger pattern
        elif len(patterns) == 1 and patterns[0].operations >= counted:
            self._add("module", set(inside), child, patterns[0])
        elif child in self.layers or len(counted) == 1 or self._is_closed(child):
            self._add("module", set(inside), child)
        else:
            self._descend(child)

    def _is_closed(self, child: Call) -> bool:
        """Return whether a module is one node; in a stack those around layers are not."""
        if any(child.start <= layer.start and layer.stop <= child.stop for layer in self.layers):
            return self.closes_children and not self.is_stack
        return self.closes_children or self.is_stack

    def _pattern(self, number: int) -> Pattern | None:
        """Return the pattern of an operation, if all of it is within."""
        pattern = self.patterns.get(number)
        return pattern if pattern is not None and pattern.operations <= self.within else None

    def _is_constant(self, number: int) -> bool:
        """Return whether an operation computes masks and positions, or biases on them."""
        level = self.graph.level_of(number)
        if level != PARAMETER or self.graph.words[number] not in ELEMENTWISE:
            return level == AUXILIARY
        return any(
            read.level == AUXILIARY and not self.graph.is_scalar(read.value)
            for read in self.graph.readings[number]
        )


def _layer_calls(trace: Trace, call: Call) -> Iterator[Call]:
    """Yield the calls of the outermost layers: several of one class in a list, or repeated ones."""
    children = trace.children(call)
    siblings = Counter((child.holder, child.class_name) for child in children)
    for child in children:
        if child.is_numbered and siblings[child.holder, child.class_name] > 1:
            yield child
        else:
            yield from _layer_calls(trace, child)


def _with_merged_layers(graph: Graph, nodes: list[GraphNode]) -> list[GraphNode]:
    """Return the nodes with equal consecutive layers merged."""
    found: list[GraphNode] = []
    before: GraphNode | None = None
    signed = cache(partial(signature, graph))
    for node in nodes:
        if (
            before is not None
            and before.call is not None
            and node.call is not None
            and node.kind == "module"
            and node.call.is_numbered
            and (before.call.holder, before.call.above) == (node.call.holder, node.call.above)
            and signed(before.call) == signed(node.call)
            and any(m in before.operations for n in node.operations for m in graph.data_makers(n))
        ):
            before.operations |= node.operations
            count = 2 if before.repeat is None else before.repeat.count + 1
            before.repeat = Repeat(int(before.call.name), int(node.call.name), count)
        else:
            found.append(node)
            before = node if node.kind == "module" else before
    return found


def _joined(graph: Graph, constants: Sequence[GraphNode]) -> Iterator[GraphNode]:
    """Yield one node for each group of connected constants."""
    left = {number: node for node in constants for number in node.operations}

    def near(number: int) -> list[int]:
        return [each for each in (*graph.users(number), *graph.makers(number)) if each in left]

    while left:
        number, node = next(reversed(left.items()))
        operations = set(closure([number], near))
        for each in operations:
            del left[each]
        yield GraphNode("constant", operations, node.call)


def signature(graph: Graph, call: Call) -> Hashable:
    """Return a key that is equal for calls of equal layers.

    It consists of the operations, their constants and connections, the parameters by their names
    below the module, and the masks and positions from outside, in which alone local and global
    attention differ.
    """
    own: dict[int, tuple[int, int]] = {}
    outside: dict[int, int] = {}

    def described(value: int) -> Hashable:
        if value in own:
            return own[value]
        stored = graph.trace.values[value]
        if stored.kind in ("parameter", "buffer"):
            return stored.name.removeprefix(f"{call.path}."), stored.shape
        if graph.level[value] != ACTIVATION:
            return "auxiliary", graph.same(value)
        return "outside", outside.setdefault(value, len(outside)), stored.shape

    found = []
    for place, number in enumerate(call.operations):
        found.append((graph.texts[number], *map(described, graph.trace.reads[number])))
        for order, value in enumerate(graph.trace.operations[number].makes):
            own[value] = place, order
    return call.class_name, tuple(found)
