"""Fills pages: moves or shrinks figures that would leave much of a page empty.

A figure may shrink a little to fit, or float to the next page, so that the text after it fills this
one; figures stay in their order. Pages are filled from first to last, because each move changes
those after it.

Typst's own floats (``place(auto, float: true)``) were tried for all figures: they stand above the
heading of their chapter, or below that of the next one, and cannot shrink to fit a page.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct

MAX_EMPTY = 0.2
"""Fraction of a page that may stay empty at its end."""
MAX_MOVES = 40
"""Maximum number of moves in a report."""
PREFERRED_SCALE = 0.8
"""A figure that fits at this scale shrinks rather than floats."""
MIN_SCALE = 0.6
"""A figure shrinks to this scale only if floating does not help."""

_MARGIN = 24.0
"""Space above a figure and below its caption, in points."""
_CAPTION = 34.0
"""Height of a caption, in points."""


class Placement(Struct, frozen=True):
    """The placement of a figure; by default it has its size and is in its place."""

    floats: bool = False
    scale: float = 1.0


class Extent(Struct, frozen=True):
    """First and last page of a block, from 1, and its edges in points from the page's top."""

    page: int
    top: float
    last_page: int
    bottom: float


class Layout(Struct, frozen=True):
    """Top and bottom of the pages' text, and the extents of all blocks."""

    top: float
    bottom: float
    blocks: Mapping[int, Extent]

    @classmethod
    def of(cls, positions: Mapping[str, Any]) -> "Layout":
        """Read the metadata of the template."""
        ends = {(block, which): (page, y) for block, which, page, y in positions["edges"]}
        blocks = {
            block: Extent(*start, *ends[block, "end"])
            for (block, which), start in ends.items()
            if which == "start" and (block, "end") in ends
        }
        top, bottom = positions["page"]
        return cls(top, bottom, blocks)

    def empty_space(self, page: int) -> float:
        """Return the points that are empty at the end of a page; 0 if a block continues."""
        if any(extent.page <= page < extent.last_page for extent in self.blocks.values()):
            return 0.0
        ends = [extent.bottom for extent in self.blocks.values() if extent.last_page == page]
        return self.bottom - max(ends, default=self.bottom)


def fill_pages(
    chapters: Sequence[dict[str, Any]], positions: Callable[[], Mapping[str, Any]]
) -> None:
    """Set the placement of each figure, so that pages are not emptier than necessary.

    Args:
        chapters: data of the template; each block gets an ``id``, each figure its placement.
        positions: typesets the chapters and returns the template's metadata.
    """
    by_chapter = [list(_blocks(chapter)) for chapter in chapters]
    numbers = [number for number, chapter in enumerate(by_chapter) for _ in chapter]
    blocks = [block for chapter in by_chapter for block in chapter]
    for number, block in enumerate(blocks):
        block["id"] = number
        _place(block, Placement())
    figures = [number for number, block in enumerate(blocks) if block["kind"] == "figure"]
    trials: dict[int, _Trials] = {}
    for _ in range(MAX_MOVES):
        layout = Layout.of(positions())
        if overtaking := _overtaking(layout, figures):
            _place(blocks[overtaking[0]], Placement(floats=True))
            continue
        for number, empty in _candidates(layout, numbers, figures):
            if number not in trials:
                trials[number] = _Trials(_placements(layout.blocks[number], empty))
            placement = trials[number].next(empty)
            if placement is not None:
                _place(blocks[number], placement)
                break
        else:
            return


def _blocks(section: dict[str, Any]) -> Iterable[dict[str, Any]]:
    yield from section["blocks"]
    for inner in section["sections"]:
        yield from _blocks(inner)


def _place(block: dict[str, Any], placement: Placement) -> None:
    block |= {"floats": placement.floats, "scale": placement.scale}


def _overtaking(layout: Layout, figures: Sequence[int]) -> list[int]:
    """Return the figures that are on a page before that of the previous figure."""
    pages = {number: layout.blocks[number].page for number in figures if number in layout.blocks}
    return [number for before, number in pairwise(pages) if pages[number] < pages[before]]


def _candidates(
    layout: Layout, numbers: Sequence[int], figures: Sequence[int]
) -> Iterator[tuple[int, float]]:
    """Yield figures that did not fit into a page that is too empty, and its empty space.

    They are of the chapter that ends on the page; ``numbers`` are the blocks' chapters.
    """
    limit = MAX_EMPTY * (layout.bottom - layout.top)
    pages = {extent.last_page for extent in layout.blocks.values()}
    for page in sorted(pages - {max(pages, default=0)}):
        empty = layout.empty_space(page)
        if empty <= limit:
            continue
        last = max(block for block, extent in layout.blocks.items() if extent.last_page == page)
        later = [block for block, extent in layout.blocks.items() if extent.page > page]
        # The blocks before it on later pages are floating.
        floating = sorted(block for block in later if block < last)
        following = min((block for block in later if block > last), default=last)
        for block in (following, *floating):
            if numbers[block] == numbers[last] and block in figures:
                yield block, empty


class _Trials:
    """The placements of a figure that were tried, each with the empty space that it left."""

    def __init__(self, placements: Sequence[Placement]) -> None:
        self._untried = list(placements)
        self._current = Placement()
        self._tried: list[tuple[float, Placement]] = []
        self._is_settled = False

    def next(self, empty: float) -> Placement | None:
        """Return the next placement, the best one after all were tried, and then ``None``."""
        if self._is_settled:
            return None
        self._tried.append((empty, self._current))
        self._is_settled = not self._untried
        best = min(self._tried, key=lambda tried: tried[0])[1]
        previous, self._current = self._current, self._untried.pop(0) if self._untried else best
        return None if self._current == previous else self._current


def _placements(extent: Extent, empty: float) -> list[Placement]:
    """Return what can be tried for a figure that does not fit into the empty space of a page."""
    height = extent.bottom - extent.top
    scale = min((empty - _MARGIN - _CAPTION) / max(height - _CAPTION, 1.0), 0.98)
    smaller = [Placement(scale=scale)] if scale >= MIN_SCALE else []
    floating = [Placement(floats=True)]
    return smaller + floating if scale >= PREFERRED_SCALE else floating + smaller
