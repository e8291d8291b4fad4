"""Rotary positions: pairs of features rotated by an angle that grows with the position.

x cos + rotate(x) sin (Su et al. 2021, section 3.4.2), with halves or neighbours as pairs, written
with sines or with complex numbers.
"""

from collections.abc import Iterator

from bertviewer.core.graph.patterns.group import Group
from bertviewer.core.graph.trace_graph import ASIDE, DATA, LEARNT, Graph, Reading

_Origin = tuple[set[int], set[int]]
"""Operations, and the values that they rotate."""


def rotary_sum(graph: Graph, number: int) -> Iterator[Group]:
    """Yield x cos + rotate(x) sin."""
    operations, wholes = _turned_products(graph, number)
    if len(wholes) != 1 or not {"neg", "cat", "stack"} & {graph.words[it] for it in operations}:
        return
    user = graph.sole_user(number)
    # Where only some of the features are rotated, they are concatenated with the others again.
    if user is not None and graph.words[user] == "cat":
        others = {graph.whole(each.value) for each in graph.data(user) if each.maker != number}
        if others and others <= wholes:
            operations.add(user)
    yield _group(graph, operations)


def rotary_pairs(graph: Graph, number: int) -> Iterator[Group]:
    """Yield (a cos - b sin, b cos + a sin), concatenated."""
    taken, operations, wholes = graph.data(number), {number}, set()
    for reading in taken:
        if reading.maker is None or graph.words[reading.maker] not in ("add", "sub"):
            return
        inner, whole = _turned_products(graph, reading.maker)
        if not whole:
            return
        operations |= inner
        wholes |= whole
    if len(taken) > 1 and len(wholes) == 1:
        yield _group(graph, operations)


def rotary_complex(graph: Graph, number: int) -> Iterator[Group]:
    """Yield the product of two complex numbers."""
    readings = graph.readings[number]
    dtypes = [graph.value(each.value).dtype for each in readings]
    levels = sorted(each.level for each in readings)
    if levels == [ASIDE, DATA] and all(dtype.startswith("complex") for dtype in dtypes):
        yield _group(graph, {number})


def _group(graph: Graph, operations: set[int]) -> Group:
    roles = graph.positions(operations, {ASIDE, LEARNT})
    return Group("rotary", frozenset(operations), roles=roles)


def _turned_products(graph: Graph, number: int) -> _Origin:
    """Return a sum of two products with sines and cosines, and what they rotate; else nothing."""
    taken, operations, wholes = graph.data(number), {number}, set()
    for reading in taken:
        product = reading.maker
        if product is None or graph.words[product] != "mul":
            return set(), set()
        data = graph.data(product)
        if len(data) != 1 or not any(_is_angle(each) for each in graph.readings[product]):
            return set(), set()
        inner, whole = _origin(graph, data[0].value)
        operations |= {product, *inner}
        wholes |= whole
    return (operations, wholes) if len(taken) == 2 else (set(), set())


def _is_angle(reading: Reading) -> bool:
    """Tell whether a factor depends only on positions; some look their sines up in a table."""
    return reading.level == ASIDE or (reading.level == LEARNT and reading.maker is not None)


def _origin(graph: Graph, value: int) -> _Origin:
    """Return the operations that rotate a value: signs, pairs and numbers; and what they rotate."""
    whole = graph.whole(value)
    maker = graph.trace.maker.get(whole)
    word = "" if maker is None else graph.words[maker]
    if maker is None or word not in ("neg", "cat", "stack", "mul") or not graph.data(maker):
        return set(), {whole}
    if word == "mul" and not graph.numbers(maker):
        return set(), {whole}
    operations, wholes = {maker}, set()
    for reading in graph.data(maker):
        inner, found = _origin(graph, reading.value)
        operations |= inner
        wholes |= found
    return operations, wholes
