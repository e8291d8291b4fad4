"""Residual connections: sums of what a block gave and of what went into it (He et al. 2016)."""

from collections.abc import Iterator

from bertviewer.core.architecture.flow import KnownOperation
from bertviewer.core.flow.graph import Graph, Reading
from bertviewer.core.flow.groups.group import Group

RESIDUAL: KnownOperation = "residual"


def find_residuals(graph: Graph) -> Iterator[Group]:
    """Yield every sum in which one summand went into what gave another one.

    Sums of sums are one: x + attention(x) + mlp(x) in any order.
    """
    inner: set[int] = set()
    for number in reversed(range(len(graph.words))):
        if graph.words[number] not in ("add", "sub") or number in inner:
            continue
        operations, summands = _summands(graph, number)
        skip = _skip(graph, summands)
        if skip is None:
            operations, summands = {number}, [(number, each) for each in graph.data(number)]
            skip = _skip(graph, summands)
        if skip is None:
            continue
        inner |= operations
        roles = {(owner, each.value): "residual" for owner, each in summands if each.same == skip}
        yield Group(RESIDUAL, frozenset(operations), roles=roles)


def _summands(graph: Graph, number: int) -> tuple[set[int], list[tuple[int, Reading]]]:
    """Return the additions that a sum is made of, and what they add, each with its addition."""
    operations, found = {number}, []
    waiting = [(number, each) for each in graph.data(number)]
    shape = graph.shape(graph.made(number))
    while waiting:
        owner, reading = waiting.pop()
        maker = reading.maker
        if (
            maker is not None
            and graph.words[maker] == "add"
            and graph.users.get(maker) == (owner,)
            and graph.shape(graph.made(maker)) == shape
            and graph.same(reading.value) == graph.made(maker)
            and len(graph.data(maker)) == 2
            and maker not in graph.given
        ):
            operations.add(maker)
            waiting += [(maker, each) for each in graph.data(maker)]
        else:
            found.append((owner, reading))
    return operations, found


def _skip(graph: Graph, summands: list[tuple[int, Reading]]) -> int | None:
    """Return the summand that another one is made of, ``None`` if there is none."""
    if len(summands) < 2:
        return None
    values = sorted({each.same for _, each in summands})
    for skip in values:
        others = [each.maker for _, each in summands if each.same != skip]
        made = graph.trace.maker.get(skip, -1)
        if any(maker is not None and _reads(graph, maker, skip, made) for maker in others):
            return skip
    return None


def _reads(graph: Graph, number: int, value: int, first: int) -> bool:
    """Tell whether an operation hangs on a value that was made by operation ``first``."""
    seen: set[int] = set()
    waiting = [number]
    while waiting:
        each = waiting.pop()
        if each <= first or each in seen:
            continue
        seen.add(each)
        for reading in graph.data(each):
            if reading.same == value or graph.whole(reading.value) == graph.whole(value):
                return True
            if reading.maker is not None:
                waiting.append(reading.maker)
    return False
