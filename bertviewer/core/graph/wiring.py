"""The edges between the boxes of a drawing, and from and to what is outside of it."""

from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cache
from typing import Literal

from bertviewer.core.frozen import frozen
from bertviewer.core.graph.partition import Box
from bertviewer.core.graph.patterns.finding import Groups
from bertviewer.core.graph.trace import Call, Shape
from bertviewer.core.graph.trace_graph import ASIDE, DATA, LEARNT, Graph

ABSORBING = frozenset(("embedding", "embedding_bag", "index_select", "grouped_mm", "addmm"))
"""Operations whose parameters are no nodes, in addition to those of matrix products."""

_USES = {"mask": "mask", "position": "positions", "bias": "position bias"}
"""What a constant is, by the role in which it is read."""


@frozen
class End:
    """Where a drawing begins or ends: an input, an output, a parameter, a constant."""

    kind: Literal["input", "output", "parameter", "constant"]
    name: str
    shape: Shape
    operation: str | None = None
    path: str | None = None
    value: int = field(default=-1, compare=False)


@frozen
class Source:
    """Where a value comes from, ``None`` if that is not drawn, and how it was moved on the way.

    ``through`` are the modules that only moved it.
    """

    end: Box | End | None
    movement: tuple[str, ...] = ()
    through: tuple[str, ...] = ()


@frozen(eq=False)
class Wire:
    """A value that goes from one box or end to another."""

    source: Box | End
    target: Box | End
    value: int
    role: str | None
    origin: Source


class Wiring:
    """Finds the wires between the boxes of one call."""

    def __init__(self, graph: Graph, groups: Groups, root: Call, boxes: Sequence[Box]) -> None:
        self.graph = graph
        self._groups = groups
        self._root = root
        self._boxes = boxes
        self._box_of = {number: box for box in boxes for number in box.operations}
        self._names = {value: name for name, value in reversed(root.inputs)}
        self._uses: dict[Box, str] = {}
        self._ends: dict[tuple[str, str], End] = {}
        self._roles_inside = cache(self._roles_of)

    def wires(self) -> Iterator[Wire]:
        """Yield what each box reads, in order."""
        for box in self._boxes:
            seen: set[tuple[Box | End, str | None]] = set()
            for number in sorted(box.operations):
                if box.kind != "module" and self.graph.is_moving(number):
                    continue
                for value in self.graph.trace.reads[number]:
                    origin = self.source(value, box)
                    source, level = origin.end, self.graph.level[value]
                    is_one = max(self.graph.shape(value), default=1) == 1
                    if source is None or source is box or (is_one and level == ASIDE):
                        continue  # a number that is independent of the text: a scale, a length
                    role = self.role(box, number, value)
                    if isinstance(source, Box) and source.kind == "constant":
                        # Rows of a table that don't depend on the text are positions.
                        is_table = self.graph.words[number] == "embedding"
                        if use := role or ("position" if is_table else None):
                            self._uses.setdefault(source, use)
                    if (source, role) not in seen:
                        seen.add((source, role))
                        yield Wire(source, box, value, role, origin)

    def use_of(self, box: Box) -> str | None:
        """Return what a constant is used as, ``mask`` or ``positions``; ``None`` if unknown."""
        return _USES.get(self._uses.get(box, ""))

    def outputs(self) -> Iterator[Wire]:
        """Yield the outputs of the call, each value once."""
        graph, outputs = self.graph, self._root.outputs
        level = max((graph.level[value] for _, value in outputs), default=ASIDE)
        given = [it for it in outputs if graph.level[it[1]] == level and not self._is_inside(it[1])]
        # All hidden states except for the last one are those of the layers, which are drawn.
        given = [each for each in given if "." not in each[0]] or given
        seen: set[int] = set()
        for name, value in given:
            origin = self.source(value, None)
            source, same = origin.end, graph.same(value)
            if source is None or isinstance(source, End) or same in seen:
                continue
            seen.add(same)
            shown = name.replace("_", " ") if name and not name[0].isdigit() else ""
            if not shown and (len(given) == 1 or len(seen) == 1):
                shown = self._like_input(value)
            end = End("output", shown or f"output {len(seen) - 1}", graph.shape(value), value=value)
            yield Wire(source, end, value, None, origin)

    def _like_input(self, value: int) -> str:
        """Return an output's name: a layer returns hidden states of the shape of its input."""
        data = ((name, it) for name, it in self._root.inputs if self.graph.level[it] == DATA)
        name, taken = next(data, ("", value))
        is_like = self.graph.shape(taken) == self.graph.shape(value)
        return "hidden states" if is_like and name == "hidden_states" else "output"

    def _is_inside(self, value: int) -> bool:
        """Tell whether a value is computed in the middle of a group, as attention's weights are."""
        maker = self.graph.maker(value)
        box = None if maker is None else self._box_of.get(maker)
        return box is not None and box.group is not None and maker != box.group.last

    def source(self, value: int, target: Box | None) -> Source:
        """Return where a value comes from, as seen by a box or, if ``None``, an output."""
        trace, inside = self.graph.trace, self._root.operations
        words: list[str] = []
        through: list[str] = []
        while (maker := trace.maker.get(value)) is not None and maker in inside:
            if maker in self._box_of:
                break
            step = self.graph.back(value)
            if step is None:
                return Source(None)
            value = step[0]
            words.insert(0, step[1])
            number = trace.innermost[maker]
            if number is not None and len(trace.calls[number].operations) == 1:
                through.insert(0, trace.calls[number].path)
        else:
            return Source(self._outside(value, target), tuple(words), tuple(through))
        return Source(self._box_of[maker], tuple(words), tuple(through))

    def end_of_parameter(self, name: str) -> End | None:
        """Return the end that is a parameter, ``None`` if a box has it."""
        return self._ends.get(("parameter", name))

    def _outside(self, value: int, target: Box | None) -> End | None:
        stored, level = self.graph.value(value), self.graph.level[value]
        plain = stored.name.rpartition(".")[2]
        if stored.kind == "parameter":
            number = -1 if target is None or target.kind != "operation" else target.first
            if number < 0 or self.graph.words[number] in ABSORBING:
                return None
            if self.graph.trace.operations[number].products:
                return None
            return self._end(End("parameter", plain, stored.shape, None, stored.name, value))
        name = self._names.get(value) or self._names.get(self.graph.same(value)) or ""
        if stored.kind in ("buffer", "constant") and not name:
            if target is not None and target.kind != "operation":
                return None
            return self._end(End("constant", plain or "constant", stored.shape, value=value))
        base, _, rest = name.partition(".")
        plain = (name if rest and base.isdecimal() else base).replace("_", " ")
        if level == DATA or (level == ASIDE and stored.kind == "input"):
            return self._end(End("input", plain or "external input", stored.shape, value=value))
        use = "position bias" if level == LEARNT else None
        if level != LEARNT and ("position" in plain or plain in ("cos", "sin")):
            use = "positions"
        if level != LEARNT and "mask" in plain:
            use = "mask"
        return self._end(
            End("constant", plain or use or "constant", stored.shape, use, None, value)
        )

    def _end(self, end: End) -> End:
        """Return an end, the same for the parts of one argument, as cosines and sines."""
        return self._ends.setdefault((end.kind, end.path or end.name), end)

    def role(self, box: Box, number: int, value: int) -> str | None:
        """Return what a value is to the group that an operation of a box belongs to."""
        if box.kind != "module" or box.group is not None:
            group = self._groups.outer.get(number) or self._groups.inner.get(number)
            return None if group is None else group.roles.get((number, value))
        is_aside = self.graph.level[value] == ASIDE
        return self._roles_inside(box).get(self.graph.same(value)) if is_aside else None

    def _roles_of(self, box: Box) -> dict[int, str]:
        """Return the roles of masks and positions in a closed module, back to its inputs."""
        found: dict[int, str] = {}
        groups = {id(it): it for each in box.operations if (it := self._groups.inner.get(each))}
        roles = (role for group in groups.values() for role in group.roles.items())
        for (_, read), role in roles:
            waiting = [read] if role in ("mask", "position") else []
            while waiting:
                value = self.graph.same(waiting.pop())
                if value not in found and self.graph.level[value] != DATA:
                    found[value] = role
                    maker = self.graph.maker(value)
                    if maker in box.operations:
                        waiting += [each.value for each in self.graph.readings[maker or 0]]
        return found
