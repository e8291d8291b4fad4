"""One main line with all that hangs on it, placed and connected."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.graph.arranging import Arranging
from bertviewer.charts.graph.channels import Net, tracks_of
from bertviewer.charts.graph.drawing import Line, Placed
from bertviewer.charts.graph.glyphs import Glyph
from bertviewer.charts.graph.hangers import SIDE_ROLES, Between, Hanger
from bertviewer.charts.graph.hanging import hanging_size, hung
from bertviewer.charts.graph.places import Places, places_of
from bertviewer.charts.graph.ports import Arrival, arrivals
from bertviewer.charts.graph.skeleton import Item, Room, Skeleton, skeleton_of
from bertviewer.charts.graph.texts import texts_of
from bertviewer.charts.graph.ways import Ways
from bertviewer.core.schema.flow import Edge, Node

PAIR_GAP = 7.0
_ROLES = ("residual", "query", "key", "value", None, "gate", "routing", *SIDE_ROLES)
_CROOKED = ("key", "value", "gate", "routing", *SIDE_ROLES)


class Parts(Struct, frozen=True):
    """What a strip is made of: nodes and edges, what hangs on them, and all shapes by id."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    below: Mapping[str, tuple[Hanger, ...]]
    pairs: tuple[Between, ...]
    glyphs: Mapping[str, Glyph]
    pills: Mapping[str, Glyph]


class Strip(Struct, frozen=True):
    """A strip with its upper left corner at 0.

    ``first_row`` are the nodes in it that can be reached from above.
    """

    placed: tuple[Placed, ...]
    lines: tuple[Line, ...]
    width: float
    height: float
    first_row: frozenset[str]


def strip_of(parts: Parts, canvas: float) -> Strip:
    """Return a strip, laid out.

    Raises:
        CycleError: its nodes go in a circle.
    """
    skeleton, heights = _arranged(parts)
    loose = [pair for pair in parts.pairs if not _has_place(pair, skeleton, heights)]
    if loose:
        parts = _parted(parts, loose)
        skeleton, heights = _arranged(parts)
    arriving = arrivals(skeleton, heights, parts.glyphs)
    nets = _nets(skeleton, heights, arriving)
    tracks = {column: tracks_of(found) for column, found in nets.items()}
    counts = {column: max(found.values(), default=-1) + 1 for column, found in tracks.items()}
    texts = texts_of(skeleton, heights, nets, arriving)
    places = places_of(skeleton.items, heights, counts, texts, canvas)
    placed = {
        item.key: _placed(item, heights, places, parts.glyphs[item.key])
        for item in skeleton.items
        if item.key
    }
    lines = Ways(skeleton, heights, arriving, tracks, counts, places, placed).lines()
    beside, threads = hung(parts.below, parts.pairs, parts.pills, placed)
    first = places.rows[0]
    width = max(places.right, *(each.rect.right for each in beside), 0.0)
    return Strip(
        (*placed.values(), *beside),
        (*lines, *threads),
        width,
        places.bottom,
        frozenset(item.key for item in skeleton.items if item.column <= first.last),
    )


def _arranged(parts: Parts) -> tuple[Skeleton, Mapping[int, float]]:
    rooms = {node.id: _room(node.id, parts) for node in parts.nodes}
    skeleton = skeleton_of(parts.nodes, parts.edges, rooms)
    return skeleton, _heights(skeleton, parts)


def _has_place(pair: Between, skeleton: Skeleton, heights: Mapping[int, float]) -> bool:
    """Tell whether two nodes stand one below the other, with nothing between them."""
    at = {item.key: item for item in skeleton.items if item.key}
    upper, lower = at[pair.upper], at[pair.lower]
    if upper.column != lower.column or heights[upper.number] >= heights[lower.number]:
        return False
    return not any(
        heights[upper.number] < heights[item.number] < heights[lower.number]
        for item in skeleton.items
        if item.column == upper.column
    )


def _parted(parts: Parts, loose: Sequence[Between]) -> Parts:
    """Return the same where some that hang between two hang below each of them."""
    below = dict(parts.below)
    for pair in loose:
        again = Hanger(pair.hanger.node, pair.lower_edges, is_again=True)
        below[pair.upper] = (*below.get(pair.upper, ()), pair.hanger)
        below[pair.lower] = (*below.get(pair.lower, ()), again)
    pairs = tuple(pair for pair in parts.pairs if pair not in loose)
    return replace(parts, below=below, pairs=pairs)


def _heights(skeleton: Skeleton, parts: Parts) -> Mapping[int, float]:
    links: dict[int, list[int]] = {item.number: [] for item in skeleton.items}
    ranks: dict[tuple[int, int], tuple[int, int]] = {}
    crooked: set[int] = set()
    for number, (edge, chain) in enumerate(zip(skeleton.edges, skeleton.chains, strict=True)):
        rank = _ROLES.index(edge.role) if edge.role in _ROLES else _ROLES.index(None)
        if edge.role in _CROOKED:
            crooked.update(chain[1:-1])
        for one, other in pairwise(chain):
            links[one].append(other)
            links[other].append(one)
            ranks[one, other] = min(ranks.get((one, other), (rank, number)), (rank, number))
    at = {item.key: item.number for item in skeleton.items if item.key}
    apart = {
        (at[pair.upper], at[pair.lower]): parts.glyphs[pair.upper].below
        + parts.pills[pair.hanger.node.id].placed.rect.height
        + 2 * PAIR_GAP
        + parts.glyphs[pair.lower].above
        for pair in parts.pairs
    }
    ends = frozenset(
        at[key]
        for key in (*skeleton.spine[:1], *skeleton.spine[-1:])
        if parts.glyphs[key].placed.form in ("input", "output")
    )
    arranging = Arranging(skeleton.items, links, ranks, frozenset(crooked), apart, ends)
    return arranging.part(range(len(skeleton.items))).heights


def _nets(
    skeleton: Skeleton, heights: Mapping[int, float], arriving: Mapping[int, Arrival]
) -> dict[int, list[Net]]:
    """Return what goes from each item to the next column, by that column."""
    pins: dict[int, list[float]] = {}
    for number, chain in enumerate(skeleton.chains):
        for one, other in pairwise(chain):
            height = arriving[number].height if other == chain[-1] else heights[other]
            pins.setdefault(one, []).append(height)
    found: dict[int, list[Net]] = {}
    for number, ends in pins.items():
        column = skeleton.items[number].column + 1
        found.setdefault(column, []).append(Net(number, heights[number], tuple(ends)))
    return found


def _placed(item: Item, heights: Mapping[int, float], places: Places, glyph: Glyph) -> Placed:
    rect = glyph.placed.rect
    left, width = places.left[item.column], places.width[item.column]
    if glyph.placed.form == "input":
        x = left
    elif glyph.placed.form == "output":
        x = left + width - rect.width
    else:
        x = left + (width - rect.width) / 2
    line = places.row_of(item.column).line
    return glyph.placed.moved(x, line + heights[item.number] - glyph.line)


def _room(key: str, parts: Parts) -> Room:
    glyph = parts.glyphs[key]
    width, depth = hanging_size(parts.below.get(key, ()), parts.pills)
    beside = (
        parts.pills[pair.hanger.node.id].width
        for pair in parts.pairs
        if key in (pair.upper, pair.lower)
    )
    return Room(max(glyph.width, width, *beside), glyph.above, glyph.below + depth, glyph.text)
