"""Which parts a module is drawn by: closed modules, groups of operations, single operations."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bertviewer.core.architecture.module_node import Repeat
from bertviewer.core.flow.graph import ASIDE, LEARNT, Graph
from bertviewer.core.flow.groups.finding import Groups
from bertviewer.core.flow.groups.group import Group
from bertviewer.core.flow.operation_names import ELEMENTWISE
from bertviewer.core.flow.signatures import signature
from bertviewer.core.flow.trace import Call

MOST_BOXES = 40
"""What has more parts is drawn by its children, closed."""

_MOST_OF_IT = 0.5


@dataclass(slots=True)
class Box:
    """One part, while a drawing is made.

    Attributes:
        kind: what it is.
        operations: all operations in it; those that only move too, of a closed module.
        call: the module's call, ``None`` where it is no module.
        group: the group that it is, or that a module is the whole of.
        repeat: the equal layers that it stands for.
    """

    kind: Literal["module", "group", "operation", "constant"]
    operations: set[int]
    call: Call | None = None
    group: Group | None = None
    repeat: Repeat | None = None

    @property
    def first(self) -> int:
        """Where it begins."""
        return min(self.operations)


@dataclass(slots=True)
class Boxes:
    """Sorts a module's operations into boxes."""

    graph: Graph
    groups: Mapping[int, Group]
    root: Call
    within: frozenset[int]
    closes_children: bool = False
    found: list[Box] = field(default_factory=list)
    _of_group: dict[int, Box] = field(default_factory=dict)

    def collect(self) -> list[Box]:
        """Return the boxes in the order of execution."""
        layers = layer_calls(self.graph, self.root)
        held = sum(len(call.operations) for call in layers)
        is_stack = held >= _MOST_OF_IT * max(len(self.root.operations), 1)
        self._descend(self.root, frozenset(layers), is_stack)
        aside = [box for box in self.found if box.kind == "constant"]
        self.found = [box for box in self.found if box.kind != "constant"]
        self.found += _joined(self.graph, aside)
        self.found.sort(key=lambda box: box.first)
        return self.found

    def _descend(self, call: Call, layers: frozenset[Call], is_stack: bool) -> None:
        trace = self.graph.trace
        position = call.start
        numbers = trace.below.get(self._number(call), ())
        for child in (trace.calls[number] for number in numbers):
            self._take(range(position, child.start))
            self._child(child, layers, is_stack)
            position = child.stop
        self._take(range(position, call.stop))

    def _number(self, call: Call) -> int:
        return next(
            number
            for number in self.graph.trace.calls_of[call.path]
            if self.graph.trace.calls[number].number == call.number
        )

    def _take(self, numbers: Sequence[int]) -> None:
        """Take operations that no module below does."""
        for number in numbers:
            if number not in self.within or self.graph.is_moving(number):
                continue
            group = self._group(number)
            if group is not None:
                self._add_group(group)
            elif self._is_aside(number):
                self.found.append(Box("constant", {number}))
            else:
                self.found.append(Box("operation", {number}))

    def _child(self, child: Call, layers: frozenset[Call], is_stack: bool) -> None:
        inside = [each for each in child.operations if each in self.within]
        real = [each for each in inside if not self.graph.is_moving(each)]
        counted = {each for each in real if self.graph.level_of(each) != ASIDE}
        if not counted:
            self.found += [Box("constant", {each}, child) for each in real]
            return
        below = self._around(child, counted)
        if below is not None and child not in layers:
            self._child(below, layers, is_stack)  # a wrapper: its name says less
            return
        groups = {id(group): group for each in counted if (group := self._group(each))}
        if len(groups) == 1:
            group = next(iter(groups.values()))
            if group.operations >= counted and group.operations <= set(real):
                self._add_module(child, group, real)
                return
        crossing = [group for group in groups.values() if not group.operations <= set(real)]
        if crossing:
            self._descend(child, layers, is_stack)  # a part of it belongs to a group around
        elif child in layers or self._is_closed(child, layers, is_stack, len(counted)):
            self._add_module(child, None, inside)
        else:
            self._descend(child, layers, is_stack)

    def _around(self, call: Call, operations: set[int]) -> Call | None:
        """Return the one call directly below that does all of these operations."""
        trace = self.graph.trace
        for child in (trace.calls[each] for each in trace.below.get(self._number(call), ())):
            if operations <= set(child.operations):
                return child
        return None

    def _is_closed(
        self, child: Call, layers: frozenset[Call], is_stack: bool, operations: int
    ) -> bool:
        if operations == 1:
            return True  # a linear layer, a table
        if any(child.start <= layer.start and layer.stop <= child.stop for layer in layers):
            return not is_stack and self.closes_children
        return is_stack or self.closes_children

    def _add_module(self, call: Call, group: Group | None, operations: Sequence[int]) -> None:
        inside = set(call.operations) & self.within or set(operations)
        self.found.append(Box("module", inside, call, group))

    def _add_group(self, group: Group) -> None:
        if id(group) not in self._of_group:
            box = Box("group", set(group.operations), None, group)
            self._of_group[id(group)] = box
            self.found.append(box)

    def _group(self, number: int) -> Group | None:
        """Return the group of an operation, if all of it is within what is drawn."""
        group = self.groups.get(number)
        return group if group is not None and group.operations <= self.within else None

    def _is_aside(self, number: int) -> bool:
        """Tell whether an operation works on masks and positions alone, or on biases of those."""
        level = self.graph.level_of(number)
        if level != LEARNT or self.graph.words[number] not in ELEMENTWISE:
            return level == ASIDE
        return any(
            reading.level == ASIDE and max(self.graph.shape(reading.value), default=1) > 1
            for reading in self.graph.readings[number]
        )


def boxes_of(graph: Graph, groups: Groups, root: Call) -> list[Box]:
    """Return what a call of a module is drawn by."""
    within = frozenset(root.operations)
    # A module may be a part of a group around it: the activation of a feed-forward network.
    known = {
        number: group if group.operations <= within else groups.inner[number]
        for number, group in groups.outer.items()
    }
    boxes = Boxes(graph, known, root, within).collect()
    if sum(box.kind != "constant" for box in boxes) > MOST_BOXES:
        closed = Boxes(graph, known, root, within, closes_children=True).collect()
        if len(closed) < len(boxes):
            boxes = closed
    return merged_layers(graph, boxes)


def boxes_in_group(graph: Graph, groups: Groups, root: Call, group: Group) -> list[Box]:
    """Return what a group is made of: the modules of its operations, and activations."""
    inner = {number: each for number, each in groups.inner.items() if each is not group}
    return Boxes(graph, inner, root, group.operations).collect()


def layer_calls(graph: Graph, root: Call) -> list[Call]:
    """Return the calls of the layers of stacks in a module, those around others alone.

    They are several of a class in one list, or one that is called again and again.
    """
    calls = [
        call
        for call in graph.trace.calls
        if root.start <= call.start and call.stop <= root.stop and call is not root
    ]
    siblings = Counter((call.above, _list_of(call), call.class_name) for call in calls)
    layers: list[Call] = []
    for call in calls:
        name = call.path.rpartition(".")[2]
        several = siblings[call.above, _list_of(call), call.class_name] > 1
        if several and name.isdecimal() and len(call.operations) > 1:
            around = any(it.start <= call.start and call.stop <= it.stop for it in layers)
            if not around and _is_below(graph, call, root):
                layers.append(call)
    return layers


def _is_below(graph: Graph, call: Call, root: Call) -> bool:
    """Tell whether a call is one of those below the root, and not the one around it."""
    number = call.above
    while number is not None:
        above = graph.trace.calls[number]
        if above is root:
            return True
        number = above.above
    return False


def _list_of(call: Call) -> str:
    return call.path.rpartition(".")[0]


def merged_layers(graph: Graph, boxes: list[Box]) -> list[Box]:
    """Return the boxes with equal layers that follow one another as one."""
    found: list[Box] = []
    known: dict[int, object] = {}
    for box in boxes:
        before = next((each for each in reversed(found) if each.kind == "module"), None)
        if before is not None and _are_equal(graph, before, box, known):
            assert box.call is not None
            assert before.call is not None
            before.operations |= box.operations
            before.repeat = _repeat(before, box)
        else:
            found.append(box)
    return found


def _are_equal(graph: Graph, one: Box, other: Box, known: dict[int, object]) -> bool:
    if one.call is None or other.call is None or other.kind != "module":
        return False
    if _list_of(one.call) != _list_of(other.call) or one.call.above != other.call.above:
        return False
    if not other.call.path.rpartition(".")[2].isdecimal() or len(other.operations) < 2:
        return False
    signatures = [
        known.setdefault(id(call), signature(graph, call)) for call in (one.call, other.call)
    ]
    if signatures[0] != signatures[1]:
        return False
    makers = {reading.maker for number in other.operations for reading in graph.data(number)}
    return bool(makers & one.operations)


def _repeat(one: Box, other: Box) -> Repeat:
    assert one.call is not None
    assert other.call is not None
    first, last = (int(box.call.path.rpartition(".")[2]) for box in (one, other) if box.call)
    count = 2 if one.repeat is None else one.repeat.count + 1
    return Repeat(first, last, count)


def _joined(graph: Graph, aside: list[Box]) -> Iterator[Box]:
    """Yield one box for all that follows from masks and positions and hangs together."""
    waiting = {number: box for box in aside for number in box.operations}
    while waiting:
        number, box = waiting.popitem()
        operations, border = {number}, [number]
        while border:
            each = border.pop()
            near = [*graph.users.get(each, ())]
            near += [reading.maker for reading in graph.readings[each] if reading.maker is not None]
            for other in near:
                if other in waiting:
                    del waiting[other]
                    operations.add(other)
                    border.append(other)
        yield Box("constant", operations, box.call)
