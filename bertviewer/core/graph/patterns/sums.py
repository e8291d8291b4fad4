"""Residual connections: sums of a block's output and its input (He et al. 2016)."""

from collections.abc import Iterator

from bertviewer.core.graph.patterns.pattern import Pattern
from bertviewer.core.graph.trace_graph import Graph, Reading, closure

_Summands = list[tuple[int, Reading]]
"""The terms of a sum, each with the addition that reads it."""


def find_residuals(graph: Graph) -> Iterator[Pattern]:
    """Yield every sum in which one term was used to compute another one.

    Sums of sums are one: x + attention(x) + mlp(x) in any order.
    """
    inner: set[int] = set()
    for number in reversed(range(len(graph.words))):
        if graph.words[number] not in ("add", "sub") or number in inner:
            continue
        alone = {number}, [(number, each) for each in graph.data(number)]
        for operations, summands in (_summands(graph, number), alone):
            if (skip := _skip(graph, [each for _, each in summands])) is not None:
                inner |= operations
                ends = [(owner, each.value) for owner, each in summands if each.same == skip]
                roles = dict.fromkeys(ends, "residual")
                yield Pattern("residual", frozenset(operations), roles=roles)
                break


def _summands(graph: Graph, number: int) -> tuple[set[int], _Summands]:
    """Return the additions that a sum consists of, and its terms."""
    operations, found = {number}, []
    waiting = [(number, each) for each in graph.data(number)]
    shape = graph.shape(graph.made(number))
    while waiting:
        owner, reading = waiting.pop()
        maker = reading.maker
        if (
            reading.word == "add"
            and graph.sole_user(maker) == owner
            and graph.shape(graph.made(maker)) == shape
            and reading.same == graph.made(maker)
            and len(graph.data(maker)) == 2
            and maker not in graph.given
        ):
            operations.add(maker)
            waiting += [(maker, each) for each in graph.data(maker)]
        else:
            found.append((owner, reading))
    return operations, found


def _skip(graph: Graph, summands: list[Reading]) -> int | None:
    """Return the term that another one was computed from, ``None`` if there is none."""
    for skip in sorted({each.same for each in summands}):
        if any(each.same != skip and _reads(graph, each.maker, skip) for each in summands):
            return skip
    return None


def _reads(graph: Graph, number: int, value: int) -> bool:
    """Return whether an operation's result was computed from a value."""
    first = graph.trace.maker.get(value, -1)
    if number <= first:
        return False
    whole = graph.whole(value)
    return any(
        reading.same == value or graph.whole(reading.value) == whole
        for each in closure([number], lambda n: [m for m in graph.data_makers(n) if m > first])
        for reading in graph.data(each)
    )
