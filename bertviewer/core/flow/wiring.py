"""What goes from one box of a drawing to another, and what comes from outside of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Literal

from bertviewer.core.flow.boxes import Box
from bertviewer.core.flow.graph import ASIDE, DATA, LEARNT, Graph
from bertviewer.core.flow.groups.finding import Groups
from bertviewer.core.flow.trace import Call, Shape
from bertviewer.core.frozen import frozen

ABSORBING = frozenset(("embedding", "embedding_bag", "index_select", "grouped_mm", "addmm"))
"""Operations whose parameters are a part of them, beside what is known as a layer."""


@frozen
class End:
    """Where a drawing begins or ends: an input, an output, a parameter, what masks give."""

    kind: Literal["input", "output", "parameter", "constant"]
    name: str
    shape: Shape
    operation: str | None = None
    path: str | None = None
    value: int = field(default=-1, compare=False)


@frozen(eq=False)
class Wire:
    """A value on its way from one end to another."""

    source: Box | End
    target: Box | End
    value: int
    role: str | None
    movement: tuple[str, ...]


class Wiring:
    """Finds the wires between the boxes of one call."""

    def __init__(self, graph: Graph, groups: Groups, root: Call, boxes: Sequence[Box]) -> None:
        self._graph = graph
        self._groups = groups
        self._root = root
        self._boxes = boxes
        self._box_of: Mapping[int, Box] = {
            number: box for box in boxes for number in box.operations
        }
        self._names = {value: name for name, value in reversed(root.inputs)}
        self._uses: dict[int, str] = {}
        self._ends: dict[tuple[str, str], End] = {}
        self._roles_inside: dict[int, dict[int, str]] = {}

    def wires(self) -> Iterator[Wire]:
        """Yield what each box takes, in order."""
        for box in self._boxes:
            seen: set[tuple[object, str | None]] = set()
            for number in sorted(box.operations):
                if box.kind != "module" and self._graph.is_moving(number):
                    continue
                for value in self._graph.trace.operations[number].reads:
                    source, movement = self.source(value, box)
                    if source is None or source is box or self._is_number(value):
                        continue
                    role = self.role(box, number, value)
                    if isinstance(source, Box) and source.kind == "constant":
                        self._note_use(source, number, role)
                    key = (id(source) if isinstance(source, Box) else source), role
                    if key not in seen:
                        seen.add(key)
                        yield Wire(source, box, value, role, movement)

    def _is_number(self, value: int) -> bool:
        """Tell whether a value is one number that hangs on no text: a scale, a length."""
        is_one = max(self._graph.shape(value), default=1) == 1
        return is_one and self._graph.level[value] == ASIDE

    def _note_use(self, source: Box, user: int, role: str | None) -> None:
        if role is None and self._graph.words[user] == "embedding":
            role = "position"  # rows of a table that hang on no text
        if role is not None:
            self._uses.setdefault(id(source), role)

    def outputs(self) -> Iterator[Wire]:
        """Yield what the call gives, each thing once."""
        seen: set[object] = set()
        level = max((self._graph.level[value] for _, value in self._root.outputs), default=ASIDE)
        given = [
            (name, value)
            for name, value in self._root.outputs
            if self._graph.level[value] == level and not self._is_inside(value)
        ]
        # All hidden states beside the last one are those of the layers, which are there.
        plain = [each for each in given if "." not in each[0]]
        given = plain or given
        several = len(given) > 1
        for name, value in given:
            source, movement = self.source(value, None)
            whole = self._graph.same(value)
            if source is None or isinstance(source, End) or whole in seen:
                continue
            seen.add(whole)
            told = name.replace("_", " ") if name and not name[0].isdigit() else ""
            if not told:
                is_first = not several or len(seen) == 1
                told = self._like_input(value) if is_first else f"output {len(seen) - 1}"
            end = End("output", told, self._graph.shape(value), value=value)
            yield Wire(source, end, value, None, movement)

    def _like_input(self, value: int) -> str:
        """Return an output's name: a layer gives hidden states as it takes them."""
        for name, taken in self._root.inputs:
            if self._graph.level[taken] == DATA:
                is_like = self._graph.shape(taken) == self._graph.shape(value)
                return name.replace("_", " ") if is_like and name == "hidden_states" else "output"
        return "output"

    def _is_inside(self, value: int) -> bool:
        """Tell whether a value is made in the middle of a group, as attention's weights are."""
        maker = self._graph.maker(value)
        box = None if maker is None else self._box_of.get(maker)
        return box is not None and box.group is not None and maker != box.group.last

    def use_of(self, box: Box) -> str | None:
        """Return what a constant is used as, ``mask`` or ``positions``; ``None`` if unknown."""
        use = self._uses.get(id(box))
        return {"mask": "mask", "position": "positions", "bias": "position bias"}.get(use or "")

    def source(self, value: int, target: Box | None) -> tuple[Box | End | None, tuple[str, ...]]:
        """Return where a value comes from, and how it was moved on the way."""
        movement: list[str] = []
        while True:
            maker = self._graph.trace.maker.get(value)
            if maker is None or maker not in self._root.operations:
                return self._outside(value, target), tuple(reversed(movement))
            if (box := self._box_of.get(maker)) is not None:
                return box, tuple(reversed(movement))
            step = self._graph.back(value)
            if step is None:
                return None, ()
            value = step[0]
            movement.append(step[1])

    def through(self, value: int) -> tuple[str, ...]:
        """Return the modules that handed a value on as it was, on its way from its source."""
        found: list[str] = []
        while True:
            maker = self._graph.trace.maker.get(value)
            if maker is None or maker not in self._root.operations or maker in self._box_of:
                return tuple(reversed(found))
            step = self._graph.back(value)
            if step is None:
                return ()
            call = next(
                each for each in reversed(self._graph.trace.calls) if maker in each.operations
            )
            if len(call.operations) == 1:
                found.append(call.path)
            value = step[0]

    def end_of_parameter(self, name: str) -> End | None:
        """Return the end that a parameter is, ``None`` where a box holds it."""
        return self._ends.get(("parameter", name))

    def _outside(self, value: int, target: Box | None) -> End | None:
        stored = self._graph.value(value)
        level = self._graph.level[value]
        if stored.kind == "parameter":
            if target is None or target.kind != "operation" or self._absorbs(target):
                return None
            plain = stored.name.rpartition(".")[2]
            made = End("parameter", plain, stored.shape, path=stored.name, value=value)
            return self._ends.setdefault((stored.kind, stored.name), made)
        name = self._names.get(value) or self._names.get(self._graph.same(value)) or ""
        if stored.kind in ("buffer", "constant") and not name:
            if target is not None and target.kind != "operation":
                return None
            plain = stored.name.rpartition(".")[2] or "constant"
            return self._end("constant", plain, value, None)
        base, _, rest = name.partition(".")
        plain = (base if not rest or not base.isdecimal() else name).replace("_", " ")
        if level == DATA or (level == ASIDE and self._is_text(value)):
            return self._end("input", plain or "external input", value, None)
        operation = "position bias" if level == LEARNT else _use_by_name(plain)
        return self._end("constant", plain or operation or "constant", value, operation)

    def _is_text(self, value: int) -> bool:
        """Tell whether a value is one of the model's own inputs, as ids are."""
        return self._graph.value(value).kind == "input"

    def _end(
        self, kind: Literal["input", "constant"], name: str, value: int, operation: str | None
    ) -> End:
        """Return an end; the parts of one argument, cosines and sines, are one."""
        made = End(kind, name, self._graph.shape(value), operation, value=value)
        return self._ends.setdefault((kind, name), made)

    def _absorbs(self, box: Box) -> bool:
        number = next(iter(box.operations))
        operation = self._graph.trace.operations[number]
        return bool(operation.products) or self._graph.words[number] in ABSORBING

    def role(self, box: Box, number: int, value: int) -> str | None:
        """Return what a value is to the group that an operation of a box belongs to."""
        if box.kind == "module" and box.group is None:
            is_aside = self._graph.level[value] == ASIDE
            return self._role_inside(box, value) if is_aside else None
        group = self._groups.outer.get(number) or self._groups.inner.get(number)
        return None if group is None else group.roles.get((number, value))

    def _role_inside(self, box: Box, value: int) -> str | None:
        """Return what a closed module uses a mask or positions for."""
        known = self._roles_inside.get(id(box))
        if known is None:
            known = self._roles_inside[id(box)] = self._roles_of(box)
        return known.get(self._graph.same(value))

    def _roles_of(self, box: Box) -> dict[int, str]:
        """Return what a module's groups use masks and positions for, back to where they come in."""
        found: dict[int, str] = {}
        groups = {id(it): it for each in box.operations if (it := self._groups.inner.get(each))}
        for group in groups.values():
            for (_, read), role in group.roles.items():
                waiting = [read] if role in ("mask", "position") else []
                while waiting:
                    value = self._graph.same(waiting.pop())
                    if value in found or self._graph.level[value] == DATA:
                        continue
                    found[value] = role
                    maker = self._graph.maker(value)
                    if maker is not None and maker in box.operations:
                        waiting += [each.value for each in self._graph.readings[maker]]
        return found


def _use_by_name(name: str) -> str | None:
    if "mask" in name:
        return "mask"
    return "positions" if "position" in name or name in ("cos", "sin") else None
