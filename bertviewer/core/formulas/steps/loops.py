"""Loops over positions: operations that the code repeats are in a formula once.

A state-space model steps through a sentence in Python. Each round executes the same operations for
the next position, and reads results of the round before.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import starmap

from msgspec.structs import replace

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.graph.module_graph import ModuleGraph, Step

AT = "at "
"""Before the index of a round, first among the parts of an operand."""
NOW, BEFORE = f"{AT}t", f"{AT}t-1"

_ROUNDS = "rounds"
"""The detail of a step in a loop: how often it is executed."""
_FEW = 4
"""So many equal rounds are a loop."""
_LONGEST = 40
_NUMBER = re.compile(r"\d+")

_Places = Mapping[str, tuple[int, int]]
"""For each node of a loop its round, and its number in the round."""


def rounds_of(graph: ModuleGraph) -> dict[str, int]:
    """Return how often the steps of a loop are executed, by node; empty without a loop."""
    found = {step.node.id: step.node.details.get(_ROUNDS) for step in graph.steps}
    return {node: count for node, count in found.items() if isinstance(count, int)}


def folded(graph: ModuleGraph) -> ModuleGraph:
    """Return a graph with its longest loop as one round, any round t."""
    loops = _loops(graph.steps)
    found = max(loops, key=lambda each: each[1] - each[0], default=None)
    if found is None:
        return graph
    first, stop, length, inside = found
    place = _places(graph.steps[first:stop], length)

    def at(operand: Operand, read: Sequence[int] = ()) -> Operand:
        """Return an operand after the loop: of one round, or of all if several are read."""
        number, which = place.get(operand.node, (0, -1))
        if which < 0:
            return operand
        time = NOW if read.count(which) > 1 else f"{AT}{number}"
        return replace(operand, node=inside[which].node.id, parts=(time, *operand.parts))

    def after(step: Step) -> Step:
        read = [place[each.node][1] for each in step.operands if each.node in place]
        return replace(step, operands=tuple(dict.fromkeys(at(o, read) for o in step.operands)))

    count = (stop - first) // length
    rounds = (
        replace(step, node=replace(step.node, details={**step.node.details, _ROUNDS: count}))
        for step in inside
    )
    steps = (*graph.steps[:first], *rounds, *map(after, graph.steps[stop:]))
    results = tuple((node, at(operand)) for node, operand in graph.results)
    return replace(graph, steps=steps, results=results)


def _places(steps: Sequence[Step], length: int) -> _Places:
    return {step.node.id: divmod(number, length) for number, step in enumerate(steps)}


def _loops(steps: Sequence[Step]) -> Iterator[tuple[int, int, int, Sequence[Step]]]:
    """Yield loops: their first step, the one after the last, the length of a round, round t."""
    names = [step.operation or step.node.name for step in steps]
    words = ["add" if name == "residual" else name for name in names]
    for length in range(1, _LONGEST + 1):
        first = 0
        while first + _FEW * length <= len(words):
            stop = first + length
            while words[first : first + length] == words[stop : stop + length]:
                stop += length
            is_long = stop - first >= _FEW * length
            inside = _any_round(steps[first:stop], length) if is_long else ()
            if inside:
                yield first, stop, length, inside
            first = stop if inside else first + 1


def _any_round(steps: Sequence[Step], length: int) -> Sequence[Step]:
    """Return the steps of any round t, from the second: the first has nothing before it.

    None if the third round differs in more than t, or no round reads the one before.
    """
    place, inside = _places(steps, length), list[Step]()
    second, third = steps[length : 2 * length], steps[2 * length : 3 * length]
    for one, other in zip(second, third, strict=True):
        operands: list[Operand] = []
        for read, later in zip(one.operands, other.operands, strict=False):
            number, which = place.get(read.node, (0, 0))
            is_inside, texts = read.node in place, (read.plain, *read.parts)
            same = (number + 1, which) if is_inside else None
            both = zip(texts, (later.plain, *later.parts), strict=False)
            plain, *parts = starmap(_for_any, both)
            is_same = place.get(later.node) == same and (is_inside or read.node == later.node)
            if not is_same or None in (plain, *parts) or len(read.parts) != len(later.parts):
                return ()
            time = (NOW if number == 1 else BEFORE,) if is_inside else ()
            node = second[which].node.id if is_inside else read.node
            taken = (*time, *map(str, parts))
            operands.append(replace(read, node=node, plain=str(plain), parts=taken))
        if not len(operands) == len(one.operands) == len(other.operands):
            return ()
        inside.append(replace(one, operands=tuple(operands)))
    return inside if any(BEFORE in o.parts for step in inside for o in step.operands) else ()


def _for_any(one: str, other: str) -> str | None:
    """Return a text of round 1 with t for what grows by 1 in round 2; ``None`` if more differs."""
    if _NUMBER.sub("", one) != _NUMBER.sub("", other):
        return None
    both = list(zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=False))
    if any(int(after) - int(number) not in (0, 1) for number, after in both):
        return None
    grown = (
        number if number == after else f"t{int(number) - 1:+}".removesuffix("+0")
        for number, after in both
    )
    return _NUMBER.sub(lambda _: next(grown), one)
