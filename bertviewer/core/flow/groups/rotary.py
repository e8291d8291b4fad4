"""Rotary positions: pairs of features rotated by an angle that grows with the position.

x cos + rotate(x) sin (Su et al. 2021, section 3.4.2), with halves or neighbours as pairs, written
with sines or with complex numbers.
"""

from collections.abc import Iterator

from bertviewer.core.flow.graph import ASIDE, DATA, LEARNT, Graph, Reading
from bertviewer.core.flow.groups.group import Group

_TURNED = ("neg", "cat", "stack", "mul")


def find_rotary(graph: Graph) -> Iterator[Group]:
    """Yield every rotation of data by positions."""
    for number, word in enumerate(graph.words):
        operations: set[int] | None = None
        if word == "add":
            operations = _sum(graph, number)
        elif word in ("cat", "stack"):
            operations = _pairs(graph, number)
        elif word == "mul" and _is_complex(graph, number):
            operations = {number}
        if operations:
            roles = graph.positions(operations, {ASIDE, LEARNT})
            yield Group("rotary", frozenset(operations), roles=roles)


def _sum(graph: Graph, number: int) -> set[int] | None:
    """Return the operations of x cos + rotate(x) sin."""
    found = _turned_products(graph, number)
    if found is None:
        return None
    operations, wholes = found
    if len(wholes) != 1 or not {"neg", "cat", "stack"} & {graph.words[it] for it in operations}:
        return None
    operations.add(number)
    user = graph.sole_user(number)
    # Where only some of the features are rotated, they are concatenated with the others again.
    if user is not None and graph.words[user] == "cat":
        others = {graph.whole(each.value) for each in graph.data(user) if each.maker != number}
        if others and others <= wholes:
            operations.add(user)
    return operations


def _pairs(graph: Graph, number: int) -> set[int] | None:
    """Return the operations of (a cos - b sin, b cos + a sin), concatenated."""
    operations, wholes = {number}, set()
    taken = graph.data(number)
    for reading in taken:
        if reading.maker is None or graph.words[reading.maker] not in ("add", "sub"):
            return None
        found = _turned_products(graph, reading.maker)
        if found is None:
            return None
        operations |= {reading.maker, *found[0]}
        wholes |= found[1]
    return operations if len(taken) > 1 and len(wholes) == 1 else None


def _turned_products(graph: Graph, number: int) -> tuple[set[int], set[int]] | None:
    """Return the two products with sines and cosines that are added, and what they rotate."""
    taken = graph.data(number)
    if len(taken) != 2:
        return None
    operations, wholes = set(), set()
    for reading in taken:
        product = reading.maker
        if product is None or graph.words[product] != "mul":
            return None
        data = graph.data(product)
        if len(data) != 1 or not any(_is_angle(each) for each in graph.readings[product]):
            return None
        operations.add(product)
        inner, whole = _origin(graph, data[0].value)
        operations |= inner
        wholes |= whole
    return operations, wholes


def _is_angle(reading: Reading) -> bool:
    """Tell whether a factor depends only on positions; some look their sines up in a table."""
    return reading.level == ASIDE or (reading.level == LEARNT and reading.maker is not None)


def _origin(graph: Graph, value: int) -> tuple[set[int], set[int]]:
    """Return the values that a rotated one consists of, and the operations between."""
    whole = graph.whole(value)
    maker = graph.trace.maker.get(whole)
    if maker is None or graph.words[maker] not in _TURNED or not graph.data(maker):
        return set(), {whole}
    if graph.words[maker] == "mul" and not graph.numbers(maker):
        return set(), {whole}
    operations, wholes = {maker}, set()
    for reading in graph.data(maker):
        inner, found = _origin(graph, reading.value)
        operations |= inner
        wholes |= found
    return operations, wholes


def _is_complex(graph: Graph, number: int) -> bool:
    readings = graph.readings[number]
    dtypes = [graph.value(each.value).dtype for each in readings]
    return all(dtype.startswith("complex") for dtype in dtypes) and sorted(
        each.level for each in readings
    ) == [ASIDE, DATA]
