"""Loops over positions: operations that the code repeats are in a formula once.

A state-space model steps through a sentence in Python. Each round executes the same operations for
the next position, and reads results of the round before.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.frozen import frozen
from bertviewer.core.graph.module_graph import ModuleGraph, Step

AT = "at "
"""Before the index of a round, first among the parts of an operand."""
NOW, BEFORE = f"{AT}t", f"{AT}t-1"

_FEW = 4
"""So many equal rounds are a loop."""
_LONGEST = 40
_NUMBER = re.compile(r"\d+")


@frozen
class Folded:
    """A graph with each loop as one round.

    Attributes:
        steps: the graph.
        rounds: how often each of the round's steps is executed, by node.
    """

    steps: ModuleGraph
    rounds: Mapping[str, int]


@frozen
class _Loop:
    """Equal rounds that follow one another, from the step ``first`` to ``stop``.

    ``round`` is any round t. ``place`` has for each node its round and its number in the round.
    """

    first: int
    stop: int
    count: int
    round: tuple[Step, ...]
    place: Mapping[str, tuple[int, int]]

    def at(self, operand: Operand, *, several: bool = False) -> Operand:
        """Return an operand of a step after the loop, read at its round or at all of them."""
        if operand.node not in self.place:
            return operand
        number, which = self.place[operand.node]
        time = NOW if several else f"{AT}{number}"
        return replace(operand, node=self.round[which].node.id, parts=(time, *operand.parts))

    def after(self, step: Step) -> Step:
        """Return a step after the loop: it reads one round, or all of them."""
        place = {node: which for node, (_, which) in self.place.items()}
        read = [place[each.node] for each in step.operands if each.node in place]
        moved = (
            self.at(each, several=read.count(place.get(each.node, -1)) > 1)
            for each in step.operands
        )
        return replace(step, operands=tuple(dict.fromkeys(moved)))


def folded(steps: ModuleGraph) -> Folded:
    """Return a graph with its longest loop as one round."""
    loops = _loops(steps.steps)
    loop = max(loops, key=lambda each: each.stop - each.first, default=None)
    if loop is None:
        return Folded(steps, {})
    before, after = steps.steps[: loop.first], steps.steps[loop.stop :]
    kept = (*before, *loop.round, *map(loop.after, after))
    results = tuple((node, loop.at(operand)) for node, operand in steps.results)
    rounds = dict.fromkeys((step.node.id for step in loop.round), loop.count)
    return Folded(replace(steps, steps=kept, results=results), rounds)


def _loops(steps: Sequence[Step]) -> Iterator[_Loop]:
    names = [step.operation or step.node.name for step in steps]
    words = ["add" if name == "residual" else name for name in names]
    for length in range(1, _LONGEST + 1):
        first = 0
        while first + _FEW * length <= len(words):
            stop = first + length
            while words[first : first + length] == words[stop : stop + length]:
                stop += length
            loop = _loop(steps, first, stop, length) if stop - first >= _FEW * length else None
            if loop is not None:
                yield loop
            first = first + 1 if loop is None else stop


def _loop(steps: Sequence[Step], first: int, stop: int, length: int) -> _Loop | None:
    """Return a loop as its second round: the first has nothing before it."""
    place = {s.node.id: divmod(number, length) for number, s in enumerate(steps[first:stop])}
    second, third = (steps[first + n * length : first + (n + 1) * length] for n in (1, 2))
    ids, inside = [step.node.id for step in second], []
    for one, other in zip(second, third, strict=True):
        both = zip(one.operands, other.operands, strict=False)
        found = (_in_round(operand, later, place, ids) for operand, later in both)
        operands = tuple(each for each in found if each is not None)
        if not len(operands) == len(one.operands) == len(other.operands):
            return None
        inside.append(replace(one, operands=operands))
    is_loop = any(BEFORE in operand.parts for step in inside for operand in step.operands)
    return _Loop(first, stop, (stop - first) // length, tuple(inside), place) if is_loop else None


def _in_round(
    one: Operand, other: Operand, place: Mapping[str, tuple[int, int]], ids: Sequence[str]
) -> Operand | None:
    """Return an operand of round 1 for any round t, ``None`` if round 2 differs in more than t."""
    number, which = place.get(one.node, (0, 0))
    is_same = (
        place.get(other.node) == (number + 1, which)
        if one.node in place
        else one.node == other.node
    )
    texts = list(zip((one.plain, *one.parts), (other.plain, *other.parts), strict=False))
    plain, *parts = (_for_any(*both) for both in texts)
    if not is_same or None in (plain, *parts) or len(one.parts) != len(other.parts):
        return None
    found = replace(one, plain=str(plain), parts=tuple(map(str, parts)))
    if one.node not in place:
        return found
    return replace(found, node=ids[which], parts=(NOW if number == 1 else BEFORE, *found.parts))


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
