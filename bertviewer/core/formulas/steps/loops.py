"""Loops over positions: operations that the code repeats are in a formula once.

A state-space model steps through a sentence in Python. Each round executes the same operations for
the next position, and reads results of the round before.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.graph.module_graph import ModuleGraph, Step
from bertviewer.core.schema.flow import Operand

AT = "at "
"""Before the index of a round, first among the parts of an operand."""
NOW, BEFORE = f"{AT}t", f"{AT}t-1"

_ROUNDS = "rounds"
"""The detail of a step in a loop: how often it is executed."""
_FEW = 4
"""So many equal rounds are a loop."""
_LONGEST = 40
_NUMBER = re.compile(r"\d+")

_LACKING = 3
"""So many steps may be missing in the first round."""
_T = re.compile(r"\bt([+-]\d+)?\b")


class _Loop(Struct, frozen=True):
    """Steps from number ``first`` to the one before ``stop``.

    Attributes:
        first: the first step's number.
        stop: the number of the step after the last one.
        places: for each node its round, and its number in the round.
        inside: the steps of any round t.
    """

    first: int
    stop: int
    places: Mapping[str, tuple[int, int]]
    inside: Sequence[Step]


def rounds_of(graph: ModuleGraph) -> dict[str, int]:
    """Return how often the steps of a loop are executed, by node; empty without a loop."""
    found = {step.node.id: step.node.details.get(_ROUNDS) for step in graph.steps}
    return {node: count for node, count in found.items() if isinstance(count, int)}


def folded(graph: ModuleGraph) -> ModuleGraph:
    """Return a graph with its longest loop as one round, any round t."""
    found = max(_loops(graph.steps), key=lambda each: each.stop - each.first, default=None)
    if found is None:
        return graph
    place, inside = found.places, found.inside

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

    count = 1 + max(number for number, _ in place.values())
    rounds = (
        replace(step, node=replace(step.node, details={**step.node.details, _ROUNDS: count}))
        for step in inside
    )
    steps = (*graph.steps[: found.first], *rounds, *map(after, graph.steps[found.stop :]))
    results = tuple((node, at(operand)) for node, operand in graph.results)
    return replace(graph, steps=steps, results=results)


def _loops(steps: Sequence[Step]) -> Iterator[_Loop]:
    names = [step.operation or step.node.name for step in steps]
    words = ["add" if name == "residual" else name for name in names]
    for length in range(1, _LONGEST + 1):
        first = 0
        while first + _FEW * length <= len(words):
            stop = first + length
            while stop < len(words) and words[stop] == words[stop - length]:
                stop += 1
            found = None
            if stop - first >= _FEW * length:
                found = _loop(steps, words, first, stop, length)
            if found is not None:
                yield found
            first = first + 1 if found is None else max(first + 1, found.stop)


def _loop(
    steps: Sequence[Step], words: Sequence[str], first: int, stop: int, length: int
) -> _Loop | None:
    """Return the loop in steps whose words repeat.

    If its last round is not whole, rounds may begin at another step, after an incomplete first one.
    """
    plain = _loop_from(steps, first, stop, length, ())
    if plain is None or (plain.stop - first) % length == 0:
        return plain
    for start in range(first, min(first + length, stop - (_FEW - 1) * length + 1)):
        lacking = range(1, min(_LACKING, length - 1) + 1)
        for head in filter(None, (_head(words, start, length, count) for count in lacking)):
            if (found := _loop_from(steps, start, stop, length, head)) is not None:
                return found
    return plain


def _head(words: Sequence[str], start: int, length: int, lacking: int) -> tuple[int, ...]:
    """Return the numbers in a round of the steps before it, if they are a round but for some."""
    found: list[int] = []
    inside, before = words[start : start + length], words[:start][lacking - length :]
    for word in before:
        after = found[-1] + 1 if found else 0
        if word not in inside[after:]:
            return ()
        found.append(inside.index(word, after))
    return tuple(found) if len(found) == length - lacking else ()


def _loop_from(
    steps: Sequence[Step], start: int, stop: int, length: int, head: Sequence[int]
) -> _Loop | None:
    """Return the loop whose whole rounds begin at ``start``; before them is the ``head``.

    Its last round may lack the steps at its end, which nothing reads then. ``None`` if rounds
    differ in more than t, or no round reads the one before.
    """
    first, before = start - len(head), length if head else 0
    numbers = [(0, which) for which in head]
    numbers += [divmod(n, length) for n in range(before, before + stop - start)]
    ids = [step.node.id for step in steps[first:stop]]
    places = dict(zip(ids, numbers, strict=True))
    second = start + length  # the first round has nothing before it
    any_ids, inside = [each.node.id for each in steps[second : second + length]], list[Step]()
    for number in range(second, stop - length):
        operands = _in_any_round(steps[number], steps[number + length], places, any_ids)
        if len(inside) == length and operands != inside[(number - second) % length].operands:
            stop = start + (number + length - start) // length * length
            break
        if operands is None:
            return None
        if len(inside) < length:
            inside.append(replace(steps[number], operands=operands))
    reads_before = any(BEFORE in o.parts for step in inside for o in step.operands)
    if not reads_before or (before + stop - start) // length < _FEW:
        return None
    if head and not _is_first(steps[first:start], head, inside, any_ids):
        return None
    return _Loop(first, stop, dict(list(places.items())[: stop - first]), inside)


def _in_any_round(
    one: Step, other: Step, places: Mapping[str, tuple[int, int]], ids: Sequence[str]
) -> tuple[Operand, ...] | None:
    """Return what a step of any round t reads, ``None`` if the next round differs in more."""
    round_number, _ = places[one.node.id]
    operands: list[Operand] = []
    for read, later in zip(one.operands, other.operands, strict=False):
        number, which = places.get(read.node, (round_number, 0))
        is_inside, texts = read.node in places, (read.plain, *read.parts)
        same = (number + 1, which) if is_inside else None
        both = zip(texts, (later.plain, *later.parts), strict=False)
        plain, *parts = (_for_any(*each, round_number) for each in both)
        is_same = places.get(later.node) == same and (is_inside or read.node == later.node)
        is_near = number in (round_number, round_number - 1)
        if not (is_same and is_near) or None in (plain, *parts):
            return None
        if len(read.parts) != len(later.parts):
            return None
        time = (NOW if number == round_number else BEFORE,) if is_inside else ()
        node = ids[which] if is_inside else read.node
        operands.append(replace(read, node=node, plain=str(plain), parts=(*time, *map(str, parts))))
    return tuple(operands) if len(operands) == len(one.operands) == len(other.operands) else None


def _is_first(
    steps: Sequence[Step], head: Sequence[int], inside: Sequence[Step], ids: Sequence[str]
) -> bool:
    """Return whether steps are round 0 but for initial values, which other steps compute later."""
    own = {step.node.id: ids[which] for step, which in zip(steps, head, strict=True)}
    lacking = [step for which, step in enumerate(inside) if which not in head]
    if any(operand.parts[:1] == (NOW,) for step in lacking for operand in step.operands):
        return False
    for step, which in zip(steps, head, strict=True):
        if len(step.operands) != len(inside[which].operands):
            return False
        for read, usual in zip(step.operands, inside[which].operands, strict=True):
            time, *parts = usual.parts if usual.node in ids else ("", *usual.parts)
            is_initial = time == BEFORE or (time == NOW and usual.node not in own.values())
            texts = [_T.sub(lambda t: str(int(t[1] or 0)), text) for text in (usual.plain, *parts)]
            is_same = own.get(read.node, read.node) == usual.node
            if not is_initial and not (is_same and texts == [read.plain, *read.parts]):
                return False
    return True


def _for_any(one: str, other: str, round_number: int) -> str | None:
    """Return a text of a round with t for what is larger by 1 in the next, or ``None``."""
    if _NUMBER.sub("", one) != _NUMBER.sub("", other):
        return None
    both = list(zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=False))
    if any(int(after) - int(number) not in (0, 1) for number, after in both):
        return None
    grown = (
        number if number == after else f"t{int(number) - round_number:+}".removesuffix("+0")
        for number, after in both
    )
    return _NUMBER.sub(lambda _: next(grown), one)
