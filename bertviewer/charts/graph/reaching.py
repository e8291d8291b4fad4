"""What can be reached along edges, in which order, and what cannot be passed by."""

from collections.abc import Iterable, Sequence

from bertviewer.core.schema.flow import Edge


class CycleError(ValueError):
    """A flow goes in a circle."""


def in_order(keys: Iterable[str], edges: Iterable[Edge]) -> list[str]:
    """Return nodes' ids, each after all those that lead to it.

    Raises:
        CycleError: the flow goes in a circle.
    """
    waits = dict.fromkeys(keys, 0)
    out: dict[str, list[str]] = {}
    for edge in edges:
        waits[edge.target] += 1
        out.setdefault(edge.source, []).append(edge.target)
    found = [key for key, count in waits.items() if not count]
    for key in found:
        for target in out.get(key, ()):
            waits[target] -= 1
            if not waits[target]:
                found.append(target)
    if len(found) < len(waits):
        raise CycleError("the data flow has a cycle")
    return found


def depths(order: Iterable[str], edges: Iterable[Edge]) -> dict[str, int]:
    """Return how many edges the longest way to each node has."""
    out: dict[str, list[str]] = {}
    for edge in edges:
        out.setdefault(edge.source, []).append(edge.target)
    depths = dict.fromkeys(order, 0)
    for key in depths:
        for target in out.get(key, ()):
            depths[target] = max(depths[target], depths[key] + 1)
    return depths


def reached(start: Iterable[str], edges: Iterable[Edge]) -> set[str]:
    """Return the nodes that can be reached, the first ones included."""
    out: dict[str, list[str]] = {}
    for edge in edges:
        out.setdefault(edge.source, []).append(edge.target)
    waiting = list(start)
    found = set(waiting)
    while waiting:
        for target in out.get(waiting.pop(), ()):
            if target not in found:
                found.add(target)
                waiting.append(target)
    return found


def stations(first: str, last: str, order: Sequence[str], edges: Iterable[Edge]) -> list[str]:
    """Return the nodes that every way from the first to the last passes, both included.

    ``order`` has each node after all those that lead to it: a node is passed by if an edge between
    nodes on such ways begins before it and ends after it.
    """
    known = list(edges)
    back = [Edge(edge.target, edge.source) for edge in known]
    inside = reached([first], known) & reached([last], back)
    place = {key: number for number, key in enumerate(order) if key in inside}
    found, farthest = [], -1
    ends: dict[str, int] = {}
    for edge in known:
        if edge.source in place and edge.target in place:
            ends[edge.source] = max(ends.get(edge.source, -1), place[edge.target])
    for key in order:
        if key in place:
            if farthest <= place[key]:
                found.append(key)
            farthest = max(farthest, ends.get(key, -1))
    return found
