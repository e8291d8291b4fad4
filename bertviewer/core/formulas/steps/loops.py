"""Loops over positions in a module's graph.

A state-space model steps through a sentence in Python. Each iteration executes the same operations
for the next position and reads results of the one before; in a formula they are written once.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.graph.module_graph import ModuleGraph, Step
from bertviewer.core.schema.flow import Operand

AT = "at "
"""Prefix of the index of an iteration, the first part of an operand."""

NOW, BEFORE = f"{AT}τ", f"{AT}τ-1"
_ITERATIONS = "iterations"
"""Detail of a step in a loop: the number of iterations."""

_MIN_ITERATIONS = 4
_MAX_STEPS = 40
"""Limit of steps in one iteration."""

_NUMBER = re.compile(r"\d+")
_MAX_MISSING = 3
"""Limit of steps that may be missing in the first iteration, which reads initial values."""

_T = re.compile(r"\bτ([+-]\d+)?\b")


class _Loop(Struct, frozen=True):
    """The steps in ``range(first, stop)``.

    Attributes:
        first: the number of the first step.
        stop: the number after the last step.
        positions: for each node its iteration, and its index in the iteration.
        inside: the steps of iteration τ.
    """

    first: int
    stop: int
    positions: Mapping[str, tuple[int, int]]
    inside: Sequence[Step]


def loop_iterations(graph: ModuleGraph) -> dict[str, int]:
    """Return the number of iterations of steps in a loop, by node; empty without a loop."""
    found = {step.node.id: step.node.details.get(_ITERATIONS) for step in graph.steps}
    return {node: count for node, count in found.items() if isinstance(count, int)}


def fold_loop(graph: ModuleGraph) -> ModuleGraph:
    """Return a graph in which the longest loop is one iteration τ."""
    found = max(_loops(graph.steps), key=lambda each: each.stop - each.first, default=None)
    if found is None:
        return graph
    positions, inside = found.positions, found.inside

    def at(operand: Operand, read: Sequence[int] = ()) -> Operand:
        """Return an operand after the loop: of one iteration, or of all if several are read."""
        number, which = positions.get(operand.node, (0, -1))
        if which < 0:
            return operand
        time = NOW if read.count(which) > 1 else f"{AT}{number}"
        return replace(operand, node=inside[which].node.id, parts=(time, *operand.parts))

    def after(step: Step) -> Step:
        read = [positions[each.node][1] for each in step.operands if each.node in positions]
        return replace(step, operands=tuple(dict.fromkeys(at(o, read) for o in step.operands)))

    count = 1 + max(number for number, _ in positions.values())
    iterations = (
        replace(step, node=replace(step.node, details={**step.node.details, _ITERATIONS: count}))
        for step in inside
    )
    steps = (*graph.steps[: found.first], *iterations, *map(after, graph.steps[found.stop :]))
    results = tuple((node, at(operand)) for node, operand in graph.results)
    return replace(graph, steps=steps, results=results)


def _loops(steps: Sequence[Step]) -> Iterator[_Loop]:
    names = [step.operation or step.node.name for step in steps]
    words = ["add" if name == "residual" else name for name in names]
    for length in range(1, _MAX_STEPS + 1):
        first = 0
        while first + _MIN_ITERATIONS * length <= len(words):
            stop = first + length
            while stop < len(words) and words[stop] == words[stop - length]:
                stop += 1
            found = None
            if stop - first >= _MIN_ITERATIONS * length:
                found = _loop(steps, words, first, stop, length)
            if found is not None:
                yield found
            first = first + 1 if found is None else max(first + 1, found.stop)


def _loop(
    steps: Sequence[Step], words: Sequence[str], first: int, stop: int, length: int
) -> _Loop | None:
    """Return the loop in steps whose operations repeat, ``None`` if there is none.

    If the last iteration is incomplete, they may begin at a later step, after an incomplete first
    one.
    """
    plain = _loop_from(steps, first, stop, length, ())
    if plain is None or (plain.stop - first) % length == 0:
        return plain
    for start in range(first, min(first + length, stop - (_MIN_ITERATIONS - 1) * length + 1)):
        missing = range(1, min(_MAX_MISSING, length - 1) + 1)
        for head in filter(None, (_head(words, start, length, count) for count in missing)):
            if (found := _loop_from(steps, start, stop, length, head)) is not None:
                return found
    return plain


def _head(words: Sequence[str], start: int, length: int, missing: int) -> tuple[int, ...]:
    """Return the indices in an iteration of the steps before it, if only some are missing."""
    found: list[int] = []
    inside, before = words[start : start + length], words[:start][missing - length :]
    for word in before:
        after = found[-1] + 1 if found else 0
        if word not in inside[after:]:
            return ()
        found.append(inside.index(word, after))
    return tuple(found) if len(found) == length - missing else ()


def _loop_from(
    steps: Sequence[Step], start: int, stop: int, length: int, head: Sequence[int]
) -> _Loop | None:
    """Return the loop with complete iterations from ``start``, and the steps ``head`` before.

    The last iteration may be incomplete. ``None`` if iterations differ in more than τ, or if none
    reads the one before.
    """
    first, before = start - len(head), length if head else 0
    numbers = [(0, which) for which in head]
    numbers += [divmod(n, length) for n in range(before, before + stop - start)]
    ids = [step.node.id for step in steps[first:stop]]
    positions = dict(zip(ids, numbers, strict=True))
    second = start + length  # the first iteration reads initial values
    any_ids, inside = [each.node.id for each in steps[second : second + length]], list[Step]()
    for number in range(second, stop - length):
        operands = _generalised(steps[number], steps[number + length], positions, any_ids)
        if len(inside) == length and operands != inside[(number - second) % length].operands:
            stop = start + (number + length - start) // length * length
            break
        if operands is None:
            return None
        if len(inside) < length:
            inside.append(replace(steps[number], operands=operands))
    reads_before = any(BEFORE in o.parts for step in inside for o in step.operands)
    if not reads_before or (before + stop - start) // length < _MIN_ITERATIONS:
        return None
    if head and not _is_first(steps[first:start], head, inside, any_ids):
        return None
    return _Loop(first, stop, dict(list(positions.items())[: stop - first]), inside)


def _generalised(
    one: Step, other: Step, positions: Mapping[str, tuple[int, int]], ids: Sequence[str]
) -> tuple[Operand, ...] | None:
    """Return a step's operands in terms of τ, ``None`` if the next iteration differs in more."""
    iteration, _ = positions[one.node.id]
    operands: list[Operand] = []
    for read, later in zip(one.operands, other.operands, strict=False):
        number, which = positions.get(read.node, (iteration, 0))
        is_inside, texts = read.node in positions, (read.plain, *read.parts)
        same = (number + 1, which) if is_inside else None
        both = zip(texts, (later.plain, *later.parts), strict=False)
        plain, *parts = (_for_any(*each, iteration) for each in both)
        is_same = positions.get(later.node) == same and (is_inside or read.node == later.node)
        is_near = number in (iteration, iteration - 1)
        if not (is_same and is_near) or None in (plain, *parts):
            return None
        if len(read.parts) != len(later.parts):
            return None
        time = (NOW if number == iteration else BEFORE,) if is_inside else ()
        node = ids[which] if is_inside else read.node
        operands.append(replace(read, node=node, plain=str(plain), parts=(*time, *map(str, parts))))
    return tuple(operands) if len(operands) == len(one.operands) == len(other.operands) else None


def _is_first(
    steps: Sequence[Step], head: Sequence[int], inside: Sequence[Step], ids: Sequence[str]
) -> bool:
    """Return whether steps are iteration 0 except for initial values."""
    own = {step.node.id: ids[which] for step, which in zip(steps, head, strict=True)}
    missing = [step for which, step in enumerate(inside) if which not in head]
    if any(operand.parts[:1] == (NOW,) for step in missing for operand in step.operands):
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


def _for_any(one: str, other: str, iteration: int) -> str | None:
    """Return a text with τ for numbers that grow by 1 in the next iteration, or ``None``."""
    if _NUMBER.sub("", one) != _NUMBER.sub("", other):
        return None
    both = list(zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=False))
    if any(int(after) - int(number) not in (0, 1) for number, after in both):
        return None
    grown = (
        number if number == after else f"τ{int(number) - iteration:+}".removesuffix("+0")
        for number, after in both
    )
    return _NUMBER.sub(lambda _: next(grown), one)
