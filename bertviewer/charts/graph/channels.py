"""The lines between two columns: each has its own upright, in an order with few crossings."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

_SAME = 3.0
"""Lines nearer than that would look like one."""

_MERGED = 100
_MARGIN = 7.0
_ROUNDS = 8


class Net(Struct, frozen=True):
    """What leaves one item for the next column.

    Attributes:
        source: the item.
        left: the height at which it leaves.
        pins: the heights at which it arrives.
    """

    source: int
    left: float
    pins: tuple[float, ...]

    @property
    def is_straight(self) -> bool:
        """Whether it needs no upright."""
        return all(abs(pin - self.left) < 0.01 for pin in self.pins)

    @property
    def top(self) -> float:
        """The upper end of its upright."""
        return min(self.left, *self.pins)

    @property
    def bottom(self) -> float:
        """The lower end of its upright."""
        return max(self.left, *self.pins)


def tracks_of(nets: Sequence[Net]) -> dict[int, int]:
    """Return for each net that has an upright which one from the left it is, by its source."""
    bent = sorted((net for net in nets if not net.is_straight), key=lambda net: net.left)
    costs = {(a.source, b.source): _cost(a, b) for a in bent for b in bent if a.source != b.source}
    for _ in range(_ROUNDS):
        was = list(bent)
        for net in was:
            bent.remove(net)
            bent.insert(_best_place(net, bent, costs), net)
        if bent == was:
            break
    tracks: dict[int, int] = {}
    for place, net in enumerate(bent):
        before = [
            tracks[other.source] + 1
            for other in bent[:place]
            if other.top - _MARGIN < net.bottom and net.top - _MARGIN < other.bottom
        ]
        tracks[net.source] = max(before, default=0)
    return tracks


def _best_place(net: Net, others: Sequence[Net], costs: Mapping[tuple[int, int], int]) -> int:
    """Return where a net goes among others so that it crosses them least, left if it may."""
    cost = sum(costs[net.source, other.source] for other in others)
    best, least = 0, cost
    for place, other in enumerate(others, 1):
        cost += costs[other.source, net.source] - costs[net.source, other.source]
        if cost < least:
            best, least = place, cost
    return best


def _cost(left: Net, right: Net) -> int:
    """Return how often two nets cross if the first one's upright is left of the other's."""
    crossed = sum(right.top < pin < right.bottom for pin in left.pins)
    crossed += left.top < right.left < left.bottom
    merged = sum(abs(pin - right.left) < _SAME for pin in left.pins)
    return crossed + _MERGED * merged
