"""Rotary positions: pairs of features rotated by an angle that grows with the position.

x cos + rotate(x) sin (Su et al. 2021, section 3.4.2), with halves or neighbours as pairs, written
with sines or with complex numbers.
"""

from collections.abc import Iterator

from bertviewer.core.graph.patterns.pattern import Pattern
from bertviewer.core.graph.trace_graph import ACTIVATION, AUXILIARY, PARAMETER, Graph, Reading

_Rotation = tuple[set[int], set[int]]
"""Operations, and the values that they rotate."""


def rotary_sum(graph: Graph, number: int) -> Iterator[Pattern]:
    """Yield x cos + rotate(x) sin."""
    operations, wholes = _sum_of_products(graph, number)
    if len(wholes) != 1 or not {"neg", "cat", "stack"} & {graph.words[it] for it in operations}:
        return
    user = graph.sole_user(number)
    # Where only some of the features are rotated, they are concatenated with the others again.
    if graph.word(user) == "cat":
        others = {graph.whole(each.value) for each in graph.data(user) if each.maker != number}
        if others and others <= wholes:
            operations.add(user)
    yield _pattern(graph, operations)


def rotary_pairs(graph: Graph, number: int) -> Iterator[Pattern]:
    """Yield (a cos - b sin, b cos + a sin), concatenated."""
    taken = graph.data(number)
    if all(reading.word in ("add", "sub") for reading in taken):
        found = [_sum_of_products(graph, reading.maker) for reading in taken]
        if len(taken) > 1 and all(wholes for _, wholes in found):
            operations, wholes = _joined(found, {number})
            if len(wholes) == 1:
                yield _pattern(graph, operations)


def rotary_complex(graph: Graph, number: int) -> Iterator[Pattern]:
    """Yield the product of two complex numbers."""
    readings = graph.readings[number]
    levels = sorted(each.level for each in readings)
    values = (graph.trace.values[each.value] for each in readings)
    if levels == [AUXILIARY, ACTIVATION] and all(v.dtype.startswith("complex") for v in values):
        yield _pattern(graph, {number})


def _pattern(graph: Graph, operations: set[int]) -> Pattern:
    roles = graph.positions(operations, {AUXILIARY, PARAMETER})
    return Pattern("rotary", frozenset(operations), roles=roles)


def _joined(found: list[_Rotation], operations: set[int]) -> _Rotation:
    return operations.union(*(it for it, _ in found)), set[int]().union(*(it for _, it in found))


def _sum_of_products(graph: Graph, number: int) -> _Rotation:
    """Return a sum of two products with sines and cosines, and what they rotate; else nothing."""
    found: list[_Rotation] = []
    for reading in graph.data(number):
        data = graph.data(reading.maker) if reading.word == "mul" else ()
        if len(data) != 1 or not any(map(_is_angle, graph.readings[reading.maker])):
            return set(), set()
        operations, wholes = _rotated(graph, data[0].value)
        found.append(({reading.maker, *operations}, wholes))
    return _joined(found, {number}) if len(found) == 2 else (set(), set())


def _is_angle(reading: Reading) -> bool:
    """Return whether a factor depends only on positions; some look their sines up in a table."""
    return reading.level == AUXILIARY or (reading.level == PARAMETER and bool(reading.word))


def _rotated(graph: Graph, value: int) -> _Rotation:
    """Return the operations that rotate a value: signs, pairs and numbers; and what they rotate."""
    whole = graph.whole(value)
    maker = graph.maker(whole)
    word = graph.word(maker)
    if word not in ("neg", "cat", "stack", "mul") or not graph.data(maker):
        return set(), {whole}
    if word == "mul" and not graph.numbers(maker):
        return set(), {whole}
    return _joined([_rotated(graph, each.value) for each in graph.data(maker)], {maker})
