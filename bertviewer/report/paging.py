"""Pages that are not full: what does not break and would leave much of one empty is moved.

A figure may shrink a little, so that it fits; a figure and a formula may float to the next page,
so that what follows them fills this one; where nothing else helps, a formula's notes or some of
its legend go to the next page. Pages are mended one after the other from the first on, as each
move changes all after it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

MOST_EMPTY = 0.32
"""The part of a page that may stay empty at its end."""
MOST_MOVES = 40
"""After how many moves a report stays as it is."""
LEAST_CHANGE = 0.8
"""A figure that fits at this size is made smaller at once."""
LEAST_SCALE = 0.6
"""A figure is not made smaller than this, where floating does not help."""

_MARGIN = 24.0
"""What stands above a figure and below its caption, in points."""
_CAPTION = 34.0
"""What its caption takes."""


class Move(Struct, frozen=True):
    """How a block stands: in its place and whole, floating, smaller, or broken before a part."""

    floats: bool = False
    scale: float = 1.0
    breaks: Literal["", "notes", "legend"] = ""


class Edges(Struct, frozen=True):
    """Where a block starts and ends: pages from 1, and points from the page's upper edge."""

    page: int
    top: float
    last_page: int
    bottom: float


class Layout(Struct, frozen=True):
    """Where the blocks of a report stand: the upper and lower edge of each page, and each block."""

    top: float
    bottom: float
    blocks: Mapping[int, Edges]

    @classmethod
    def of(cls, places: Mapping[str, Any]) -> "Layout":
        """Read what the template says of the pages it made."""
        ends = {(block, which): (page, y) for block, which, page, y in places["edges"]}
        blocks = {
            block: Edges(*start, *ends[block, "end"])
            for (block, which), start in ends.items()
            if which == "start" and (block, "end") in ends
        }
        top, bottom = places["page"]
        return cls(top, bottom, blocks)

    def left(self, page: int) -> float:
        """Return how much is free at the end of a page, in points; 0 where a block goes on."""
        if any(edges.page <= page < edges.last_page for edges in self.blocks.values()):
            return 0.0
        ends = [edges.bottom for edges in self.blocks.values() if edges.last_page == page]
        return self.bottom - max(ends, default=self.bottom)


def blocks_of(chapters: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the blocks of each chapter in their order."""

    def each(section: dict[str, Any]) -> list[dict[str, Any]]:
        inner = [block for one in section["sections"] for block in each(one)]
        return [*section["blocks"], *inner]

    return [each(chapter) for chapter in chapters]


def fill_pages(chapters: Sequence[dict[str, Any]], places: Callable[[], Mapping[str, Any]]) -> None:
    """Say in each block how it stands, so that no page stays emptier than it has to.

    Args:
        chapters: as the template reads them; each block gets an ``id`` and its move.
        places: sets them, and says where each block stands.
    """
    told = blocks_of(chapters)
    numbers = [number for number, chapter in enumerate(told) for _ in chapter]
    blocks = [block for chapter in told for block in chapter]
    for number, block in enumerate(blocks):
        block["id"] = number
        _stand(block, Move())
    tries: dict[int, _Tries] = {}
    for _ in range(MOST_MOVES):
        layout = Layout.of(places())
        for place, left in _misfits(layout, numbers):
            if place not in tries:
                tries[place] = _tries(blocks[place]["kind"], layout.blocks[place], left)
            move = tries[place].next_after(left)
            if move is not None:
                _stand(blocks[place], move)
                break
        else:
            return


def _stand(block: dict[str, Any], move: Move) -> None:
    block |= {"floats": move.floats, "scale": move.scale, "breaks": move.breaks}


def _misfits(layout: Layout, numbers: Sequence[int]) -> Iterator[tuple[int, float]]:
    """Yield what did not fit into the rest of too empty a page, and how much that is."""
    limit = MOST_EMPTY * (layout.bottom - layout.top)
    pages = {edges.last_page for edges in layout.blocks.values()}
    for page in sorted(pages - {max(pages, default=0)}):
        left = layout.left(page)
        if left <= limit:
            continue
        ended = max(block for block, edges in layout.blocks.items() if edges.last_page == page)
        later = [block for block, edges in layout.blocks.items() if edges.page > page]
        # What floats is told before what is on this page.
        floating = sorted(block for block in later if block < ended)
        for block in (min((block for block in later if block > ended), default=ended), *floating):
            if numbers[block] == numbers[ended]:
                yield block, left


class _Tries:
    """How a block could stand, and how much of a page each way left."""

    def __init__(self, moves: Sequence[Move]) -> None:
        self._ahead = list(moves)
        self._now = Move()
        self._seen: list[tuple[float, Move]] = []
        self._is_settled = False

    def next_after(self, left: float) -> Move | None:
        """Return what to try next, at last what left least; nothing once that is known."""
        if self._is_settled:
            return None
        self._seen.append((left, self._now))
        self._is_settled = not self._ahead
        best = min(self._seen, key=lambda seen: seen[0])[1]
        before, self._now = self._now, self._ahead.pop(0) if self._ahead else best
        return None if self._now == before else self._now


def _tries(kind: str, edges: Edges, left: float) -> _Tries:
    """Return what can be tried for a block that did not fit into what was left of a page."""
    if kind == "formula-block":
        return _Tries([Move(floats=True), Move(breaks="notes"), Move(breaks="legend")])
    if kind != "figure":
        return _Tries([])
    height = edges.bottom - edges.top
    fitting = Move(scale=min((left - _MARGIN - _CAPTION) / max(height - _CAPTION, 1.0), 0.98))
    smaller = [fitting] if fitting.scale >= LEAST_SCALE else []
    floating = [Move(floats=True)]
    return _Tries(smaller + floating if fitting.scale >= LEAST_CHANGE else floating + smaller)
