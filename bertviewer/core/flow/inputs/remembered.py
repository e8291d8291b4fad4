"""Things that take time to make, made when the first of them is wanted and not made twice."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Remembered(Generic[Item]):
    """What an iterator gives, as often as it is wanted."""

    def __init__(self, items: Iterator[Item]) -> None:
        self._items = items
        self._seen: list[Item] = []

    def __iter__(self) -> Iterator[Item]:
        """Yield what was made before, and make the rest on the way."""
        for place in count():
            if place == len(self._seen):
                try:
                    self._seen.append(next(self._items))
                except StopIteration:
                    return
            yield self._seen[place]


def products_of(groups: Sequence[Iterable[Item]]) -> Iterator[tuple[Item, ...]]:
    """Yield one of each group, as ``itertools.product`` does once it has made all of them."""
    if not groups:
        yield ()
        return
    for first in groups[0]:
        for rest in products_of(groups[1:]):
            yield first, *rest
