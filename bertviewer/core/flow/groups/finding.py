"""All groups of a trace, each operation in one of them at the most."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from bertviewer.core.flow.graph import Graph
from bertviewer.core.flow.groups.activations import find_activations
from bertviewer.core.flow.groups.attentions import find_attentions
from bertviewer.core.flow.groups.feed_forwards import find_feed_forwards
from bertviewer.core.flow.groups.group import Group
from bertviewer.core.flow.groups.norms import find_affine, find_norms
from bertviewer.core.flow.groups.rotary import find_rotary
from bertviewer.core.flow.groups.routing import find_routing
from bertviewer.core.flow.groups.sums import find_residuals
from bertviewer.core.frozen import frozen


@frozen(slots=False)
class Groups:
    """The groups of a trace.

    ``outer`` are those that stand for themselves, by their operations; ``inner`` are those within
    them too: a feed-forward network's activation.
    """

    outer: Mapping[int, Group]
    inner: Mapping[int, Group]


def find_groups(graph: Graph) -> Groups:
    """Find what is known as a whole in a trace.

    What is found first is not taken apart again: a norm's root is no activation.
    """
    taken: dict[int, Group] = {}
    for finder in (
        find_norms,
        find_rotary,
        find_attentions,
        find_routing,
        find_affine,
        find_activations,
    ):
        _take(graph, taken, finder(graph))
    inner = dict(taken)
    for group in find_feed_forwards(graph, inner):
        taken |= dict.fromkeys(group.operations, group)
    _take(graph, taken, find_residuals(graph))
    for number, group in taken.items():
        inner.setdefault(number, group)
    return Groups(taken, inner)


def _take(graph: Graph, taken: dict[int, Group], found: Iterable[Group]) -> None:
    for group in found:
        whole = group.operations | _between(graph, group.operations)
        if not any(number in taken for number in whole):
            taken |= dict.fromkeys(whole, replace(group, operations=whole))


def _between(graph: Graph, operations: frozenset[int]) -> frozenset[int]:
    """Return what lies on the way from one of a group's operations to another.

    A group that something left and came back to would stand before and after it.
    """
    last = max(operations)
    reached: set[int] = set()
    waiting = list(operations)
    while waiting:
        for user in graph.users.get(waiting.pop(), ()):
            if user < last and user not in reached and user not in operations:
                reached.add(user)
                waiting.append(user)
    kept: set[int] = set()
    for number in sorted(reached, reverse=True):
        users = graph.users.get(number, ())
        if any(user in operations or user in kept for user in users):
            kept.add(number)
    return frozenset(kept)
