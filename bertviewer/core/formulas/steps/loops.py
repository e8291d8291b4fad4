"""Loops over positions: what the code does again and again stands in a formula once.

A state-space model steps through a sentence in Python. Each round does the same operations with
the next position, and reads what the round before made.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.frozen import frozen

FEW = 4
"""So many equal rounds are a loop."""
AT = "at "
"""Before the index of a round, first among the parts of an operand."""
NOW = f"{AT}t"

_LONGEST = 40
_NUMBER = re.compile(r"\d+")


@frozen
class Loop:
    """Rounds of equal steps that follow one another.

    Attributes:
        first: where the first round begins among the steps.
        length: how many steps a round has.
        rounds: how many there are.
    """

    first: int
    length: int
    rounds: int

    @property
    def stop(self) -> int:
        """The first step after it."""
        return self.first + self.length * self.rounds


@frozen
class Folded:
    """ModuleGraph with each loop as one round.

    Attributes:
        steps: those that are left.
        rounds: how often each of the round's steps is done, by node.
    """

    steps: ModuleGraph
    rounds: Mapping[str, int]


def folded(steps: ModuleGraph) -> Folded:
    """Return steps with a loop as its second round: the first has nothing before it."""
    loop = _loop(steps.steps)
    if loop is None:
        return Folded(steps, {})
    every = steps.steps
    place = {
        step.node.id: divmod(number, loop.length)
        for number, step in enumerate(every[loop.first : loop.stop])
    }
    second, third = (
        every[loop.first + number * loop.length : loop.first + (number + 1) * loop.length]
        for number in (1, 2)
    )
    ids = [step.node.id for step in second]
    inside = []
    for one, other in zip(second, third, strict=True):
        if len(one.operands) != len(other.operands):
            return Folded(steps, {})
        told = tuple(
            _in_round(each, later, place, ids)
            for each, later in zip(one.operands, other.operands, strict=True)
        )
        if None in told:
            return Folded(steps, {})
        inside.append(replace(one, operands=tuple(each for each in told if each is not None)))
    rest = tuple(_after(step, place, ids) for step in every[loop.stop :])
    results = tuple(
        (node, _at(operand, place, ids, several=False)) for node, operand in steps.results
    )
    kept = (*every[: loop.first], *inside, *rest)
    return Folded(replace(steps, steps=kept, results=results), dict.fromkeys(ids, loop.rounds))


Place = Mapping[str, tuple[int, int]]
"""The round of a node, and which of the round's steps it is."""


def _in_round(one: Operand, other: Operand, place: Place, ids: Sequence[str]) -> Operand | None:
    """Return an operand of round 1 for any round t; ``None`` if round 2 goes another way."""
    parts = [_for_any(*both) for both in zip(one.parts, other.parts, strict=False)]
    plain = _for_any(one.plain, other.plain)
    if None in (*parts, plain) or len(one.parts) != len(other.parts):
        return None
    told = replace(one, parts=tuple(map(str, parts)), plain=str(plain))
    if one.node not in place:
        return told if one.node == other.node else None
    (round_, which), later = place[one.node], place.get(other.node)
    if later != (round_ + 1, which):
        return None
    time = NOW if round_ == 1 else f"{AT}t-1"
    return replace(told, node=ids[which], parts=(time, *told.parts))


def _for_any(one: str, other: str) -> str | None:
    """Return a text of round 1 with t for what grows by 1 in round 2; ``None`` if more differs."""
    numbers, later = _NUMBER.findall(one), _NUMBER.findall(other)
    if _NUMBER.sub("", one) != _NUMBER.sub("", other) or len(numbers) != len(later):
        return None
    told = []
    for number, after in zip(numbers, later, strict=True):
        if number != after and int(after) != int(number) + 1:
            return None
        ahead = int(number) - 1
        grown = "t" if ahead == 0 else f"t{ahead:+}"
        told.append(number if number == after else grown)
    names = iter(told)
    return _NUMBER.sub(lambda _: next(names), one)


def _after(step: Step, place: Place, ids: Sequence[str]) -> Step:
    """Return a step after a loop: it reads all rounds, or one of them."""
    read = [place[each.node][1] for each in step.operands if each.node in place]
    moved = (
        _at(each, place, ids, several=read.count(place.get(each.node, (0, -1))[1]) > 1)
        for each in step.operands
    )
    return replace(step, operands=tuple(dict.fromkeys(moved)))


def _at(operand: Operand, place: Place, ids: Sequence[str], *, several: bool) -> Operand:
    if operand.node not in place:
        return operand
    round_, which = place[operand.node]
    time = NOW if several else f"{AT}{round_}"
    return replace(operand, node=ids[which], parts=(time, *operand.parts))


def _loop(steps: Sequence[Step]) -> Loop | None:
    """Return the longest run of equal rounds, ``None`` if there is none."""
    names = [step.node.operation or step.node.name for step in steps]
    words = ["add" if name == "residual" else name for name in names]
    best: Loop | None = None
    for length in range(1, _LONGEST + 1):
        first = 0
        while first + FEW * length <= len(words):
            rounds = 1
            while (
                words[first : first + length]
                == words[first + rounds * length : first + (rounds + 1) * length]
            ):
                rounds += 1
            found = Loop(first, length, rounds)
            if rounds >= FEW and _goes_on(steps, found):
                if best is None or found.stop - first > best.stop - best.first:
                    best = found
                first = found.stop
            else:
                first += 1
    return best


def _goes_on(steps: Sequence[Step], loop: Loop) -> bool:
    """Tell whether each round but the first reads the one before, and none an earlier one."""
    place = {
        step.node.id: number // loop.length
        for number, step in enumerate(steps[loop.first : loop.stop])
    }
    for round_ in range(1, loop.rounds):
        start = loop.first + round_ * loop.length
        read = {
            place[each.node]
            for step in steps[start : start + loop.length]
            for each in step.tensors
            if each.node in place
        }
        if round_ - 1 not in read or any(each < round_ - 1 for each in read):
            return False
    return True
