"""All groups of a trace; each operation is in at most one of them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from bertviewer.core.flow.graph import Graph, closure
from bertviewer.core.flow.groups.activations import find_activations
from bertviewer.core.flow.groups.attentions import find_attentions
from bertviewer.core.flow.groups.feed_forwards import find_feed_forwards
from bertviewer.core.flow.groups.group import Group
from bertviewer.core.flow.groups.norms import find_affine, find_norms
from bertviewer.core.flow.groups.rotary import find_rotary
from bertviewer.core.flow.groups.routing import find_routing
from bertviewer.core.flow.groups.sums import find_residuals
from bertviewer.core.frozen import frozen

_FINDERS = (find_norms, find_rotary, find_attentions, find_routing, find_affine, find_activations)
"""In this order: the square root of a norm is no activation."""


@frozen(slots=False)
class Groups:
    """The groups of a trace by their operations.

    ``outer`` are the largest ones, ``inner`` the smallest: a feed-forward network's activation.
    """

    outer: Mapping[int, Group]
    inner: Mapping[int, Group]


def find_groups(graph: Graph) -> Groups:
    """Find what is known as a whole in a trace."""
    taken: dict[int, Group] = {}
    for finder in _FINDERS:
        _take(graph, taken, finder(graph))
    inner = dict(taken)
    for group in find_feed_forwards(graph, inner):
        taken |= dict.fromkeys(group.operations, group)
    _take(graph, taken, find_residuals(graph))
    return Groups(taken, {**taken, **inner})


def _take(graph: Graph, taken: dict[int, Group], found: Iterable[Group]) -> None:
    """Add groups whose operations are in no other one yet."""
    for group in found:
        whole = _whole(graph, group.operations)
        if whole.isdisjoint(taken):
            taken |= dict.fromkeys(whole, replace(group, operations=whole))


def _whole(graph: Graph, operations: frozenset[int]) -> frozenset[int]:
    """Return operations and those between them.

    A group that something left and came back to would be both before and after it.
    """
    last = max(operations)
    later = closure(operations, lambda each: [u for u in graph.users(each) if u < last])
    return closure(operations, lambda each: [m for m in graph.makers(each) if m in later])
