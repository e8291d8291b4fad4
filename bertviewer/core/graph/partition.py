"""Divides the operations of a module into what it is drawn by: modules, groups, operations."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Literal

from bertviewer.core.architecture.module_node import Repeat
from bertviewer.core.graph.operation_names import ELEMENTWISE
from bertviewer.core.graph.patterns.finding import Groups
from bertviewer.core.graph.patterns.group import Group
from bertviewer.core.graph.signatures import signature
from bertviewer.core.graph.trace import Call, Trace
from bertviewer.core.graph.trace_graph import ASIDE, LEARNT, Graph, closure

MOST_BOXES = 40
"""What has more parts is drawn by its children, closed."""


@dataclass(slots=True, eq=False)
class Box:
    """One part, while a drawing is made.

    A constant follows from masks and positions alone. Only a module contains operations that
    just move; it may be all of a ``group``, and represent equal layers, ``repeat``.
    """

    kind: Literal["module", "group", "operation", "constant"]
    operations: set[int]
    call: Call | None = None
    group: Group | None = None
    repeat: Repeat | None = None

    @property
    def first(self) -> int:
        """Its first operation."""
        return min(self.operations)


def partition(graph: Graph, groups: Groups, root: Call) -> list[Box]:
    """Return the boxes of a module in the order of execution, equal layers as one."""
    within = frozenset(root.operations)
    # A module may be a part of a group around it: the activation of a feed-forward network.
    known = {
        number: group if group.operations <= within else groups.inner[number]
        for number, group in groups.outer.items()
    }
    boxes = _Partition(graph, known, within).boxes(root)
    if sum(box.kind != "constant" for box in boxes) > MOST_BOXES:
        closed = _Partition(graph, known, within, closes_children=True).boxes(root)
        boxes = min(boxes, closed, key=len)
    return _with_merged_layers(graph, boxes)


def partition_group(graph: Graph, groups: Groups, root: Call, group: Group) -> list[Box]:
    """Return the boxes of a group in a module: the modules of its operations, and activations."""
    inner = {number: each for number, each in groups.inner.items() if each is not group}
    return _Partition(graph, inner, group.operations).boxes(root)


@dataclass(slots=True)
class _Partition:
    """Collects boxes; ``within`` are the operations that are drawn."""

    graph: Graph
    groups: Mapping[int, Group]
    within: frozenset[int]
    closes_children: bool = False
    is_stack: bool = False
    layers: frozenset[Call] = frozenset()
    found: dict[int, Box] = field(default_factory=dict)

    def boxes(self, root: Call) -> list[Box]:
        self.layers = frozenset(_layer_calls(self.graph.trace, root))
        held = sum(len(call.operations) for call in self.layers)
        self.is_stack = 2 * held >= max(len(root.operations), 1)
        self._descend(root)
        constants = [box for box in self.found.values() if box.kind == "constant"]
        others = [box for box in self.found.values() if box.kind != "constant"]
        return sorted((*others, *_joined(self.graph, constants)), key=lambda box: box.first)

    def _add(self, box: Box) -> None:
        self.found.setdefault(box.first, box)

    def _descend(self, call: Call) -> None:
        position = call.start
        for child in self.graph.trace.children(call):
            self._add_operations(range(position, child.start))
            self._add_child(child)
            position = child.stop
        self._add_operations(range(position, call.stop))

    def _add_operations(self, numbers: Sequence[int]) -> None:
        """Add operations that no module below does."""
        for number in numbers:
            if number not in self.within or self.graph.is_moving(number):
                continue
            if (group := self._group(number)) is not None:
                self._add(Box("group", set(group.operations), None, group))
            else:
                self._add(Box("constant" if self._is_aside(number) else "operation", {number}))

    def _add_child(self, child: Call) -> None:
        inside = [each for each in child.operations if each in self.within]
        real = [each for each in inside if not self.graph.is_moving(each)]
        counted = {each for each in real if self.graph.level_of(each) != ASIDE}
        if not counted:
            for each in real:
                self._add(Box("constant", {each}, child))
            return
        below = self.graph.trace.children(child)
        wrapped = next((each for each in below if counted <= set(each.operations)), None)
        if wrapped is not None and child not in self.layers:
            self._add_child(wrapped)  # the name of the wrapper says less
            return
        groups = list(
            {id(group): group for each in counted if (group := self._group(each))}.values()
        )
        if any(not group.operations.issubset(real) for group in groups):
            self._descend(child)  # a part of it belongs to a group around
        elif len(groups) == 1 and groups[0].operations >= counted:
            self._add(Box("module", set(inside), child, groups[0]))
        elif child in self.layers or len(counted) == 1 or self._is_closed(child):
            self._add(Box("module", set(inside), child))
        else:
            self._descend(child)

    def _is_closed(self, child: Call) -> bool:
        """Tell whether a module is one box; those around layers are open in a stack."""
        if any(child.start <= layer.start and layer.stop <= child.stop for layer in self.layers):
            return self.closes_children and not self.is_stack
        return self.closes_children or self.is_stack

    def _group(self, number: int) -> Group | None:
        """Return the group of an operation, if all of it is drawn."""
        group = self.groups.get(number)
        return group if group is not None and group.operations <= self.within else None

    def _is_aside(self, number: int) -> bool:
        """Tell whether an operation computes masks and positions, or biases of those."""
        level = self.graph.level_of(number)
        if level != LEARNT or self.graph.words[number] not in ELEMENTWISE:
            return level == ASIDE
        return any(
            reading.level == ASIDE and max(self.graph.shape(reading.value), default=1) > 1
            for reading in self.graph.readings[number]
        )


def _layer_calls(trace: Trace, call: Call) -> Iterator[Call]:
    """Yield the calls of the outermost layers in a module.

    They are several of a class in one list, or one that is called again and again.
    """
    children = trace.children(call)
    siblings = Counter((_list_of(child), child.class_name) for child in children)
    for child in children:
        is_numbered = child.path.rpartition(".")[2].isdecimal() and len(child.operations) > 1
        if is_numbered and siblings[_list_of(child), child.class_name] > 1:
            yield child
        else:
            yield from _layer_calls(trace, child)


def _list_of(call: Call) -> str:
    return call.path.rpartition(".")[0]


def _with_merged_layers(graph: Graph, boxes: list[Box]) -> list[Box]:
    """Return the boxes with equal consecutive layers as one."""
    found: list[Box] = []
    before: Box | None = None
    signed = cache(partial(signature, graph))
    for box in boxes:
        if (
            before is not None
            and _may_be_equal(before, box)
            and signed(before.call) == signed(box.call)
            and any(m in before.operations for n in box.operations for m in graph.data_makers(n))
        ):
            before.operations |= box.operations
            first, last = (int(b.call.path.rpartition(".")[2]) for b in (before, box) if b.call)
            count = 2 if before.repeat is None else before.repeat.count + 1
            before.repeat = Repeat(first, last, count)
        else:
            found.append(box)
            before = box if box.kind == "module" else before
    return found


def _may_be_equal(one: Box, other: Box) -> bool:
    """Tell whether two boxes are layers of the same list."""
    if one.call is None or other.call is None or other.kind != "module":
        return False
    is_numbered = other.call.path.rpartition(".")[2].isdecimal() and len(other.operations) > 1
    is_same_list = _list_of(one.call) == _list_of(other.call) and one.call.above == other.call.above
    return is_numbered and is_same_list


def _joined(graph: Graph, constants: Sequence[Box]) -> Iterator[Box]:
    """Yield one box for all constants that are computed from one another."""
    left = {number: box for box in constants for number in box.operations}

    def near(number: int) -> list[int]:
        return [each for each in (*graph.users(number), *graph.makers(number)) if each in left]

    while left:
        number, box = next(reversed(left.items()))
        operations = set(closure([number], near))
        for each in operations:
            del left[each]
        yield Box("constant", operations, box.call)
