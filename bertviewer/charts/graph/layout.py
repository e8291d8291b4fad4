"""One main line with all that hangs on it, placed and connected.

A flow that is too much for a picture, as a list.

A flow as a drawing: the one layout for the screen, for SVG and for paper.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.graph.columns import Extent, Item, Skeleton, skeleton_of
from bertviewer.charts.graph.coordinates import Arranging
from bertviewer.charts.graph.drawing import (
    Drawing,
    DrawnNode,
    Label,
    Line,
    Picture,
    Point,
    Rect,
    TextWidth,
    Typography,
    simplified,
)
from bertviewer.charts.graph.edge_router import Arrival, Net, Ways, arrivals, texts_of, tracks_of
from bertviewer.charts.graph.fused_attention import with_projections
from bertviewer.charts.graph.node_labels import TIMES, NodeLabel, elided, node_labels, title_of
from bertviewer.charts.graph.node_shapes import Glyph, glyph_of, side_pill
from bertviewer.charts.graph.paths import SIDE_ROLES, CycleError, EncoderSubgraph, encoder_subgraph
from bertviewer.charts.graph.rows import TURN, Places, places_of
from bertviewer.charts.graph.side_nodes import (
    SharedSideNode,
    SideNode,
    SplitGraph,
    hanging_size,
    placed_side_nodes,
    split_graph,
)
from bertviewer.charts.theme import SMALL
from bertviewer.core.schema.flow import Edge, Flow, Node

PAIR_GAP = 7.0
_ROLES = ("residual", "query", "key", "value", None, "gate", "routing", *SIDE_ROLES)
_CROOKED = ("key", "value", "gate", "routing", *SIDE_ROLES)


class Parts(Struct, frozen=True):
    """What a strip is made of: nodes and edges, what hangs on them, and all shapes by id."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    below: Mapping[str, tuple[SideNode, ...]]
    pairs: tuple[SharedSideNode, ...]
    glyphs: Mapping[str, Glyph]
    pills: Mapping[str, Glyph]


class Strip(Struct, frozen=True):
    """A strip with its upper left corner at 0.

    ``first_row`` are the nodes in it that can be reached from above.
    """

    placed: tuple[DrawnNode, ...]
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
    beside, threads = placed_side_nodes(parts.below, parts.pairs, parts.pills, placed)
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


def _has_place(pair: SharedSideNode, skeleton: Skeleton, heights: Mapping[int, float]) -> bool:
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


def _parted(parts: Parts, loose: Sequence[SharedSideNode]) -> Parts:
    """Return the same where some that hang between two hang below each of them."""
    below = dict(parts.below)
    for pair in loose:
        again = SideNode(pair.hanger.node, pair.lower_edges, is_again=True)
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


def _placed(item: Item, heights: Mapping[int, float], places: Places, glyph: Glyph) -> DrawnNode:
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


def _room(key: str, parts: Parts) -> Extent:
    glyph = parts.glyphs[key]
    width, depth = hanging_size(parts.below.get(key, ()), parts.pills)
    beside = (
        parts.pills[pair.hanger.node.id].width
        for pair in parts.pairs
        if key in (pair.upper, pair.lower)
    )
    return Extent(max(glyph.width, width, *beside), glyph.above, glyph.below + depth, glyph.text)


_ROW, _LISTED_GAP, _MOST_WIDE = 20.0, 32.0, 420.0
_READING = "Each operation lists the numbers of its inputs."


def listed(flow: Flow, measure: TextWidth, room: float, reason: str) -> Picture:
    """Return all nodes as a list: each with the numbers of those that it reads, and its shape."""
    numbers = {node.id: number for number, node in enumerate(flow.nodes)}
    reads: dict[str, list[int]] = {}
    for edge in flow.edges:
        if edge.source in numbers:
            reads.setdefault(edge.target, []).append(numbers[edge.source])
    words = node_labels(flow)
    texts = []
    for node in flow.nodes:
        taken = ", ".join(map(str, reads.get(node.id, ())))
        shape = f"  [{TIMES.join(map(str, node.shape))}]" if node.shape else ""
        name = f"{words[node.id].title}({taken})" if taken else words[node.id].title
        texts.append(f"{numbers[node.id]:>3}  {name}{shape}")
    widest = min(_MOST_WIDE, max(measure(text, "mono", SMALL) for text in texts)) if texts else 0.0
    across = max(1, int((room + _LISTED_GAP) // (widest + _LISTED_GAP)))
    down = ceil(len(texts) / across)
    placed = []
    for number, (node, text) in enumerate(zip(flow.nodes, texts, strict=True)):
        x = number // down * (widest + _LISTED_GAP)
        rect = Rect(x, number % down * _ROW, widest, _ROW)
        cut = elided(text, widest, measure, "mono", SMALL)
        label = Label(cut, x, rect.y + _ROW / 2, "mono", SMALL, "start")
        placed.append(DrawnNode(node, "list", words[node.id].part, rect, (label,)))
    if not flow.nodes:
        return Picture((), ())
    label = Label(f"{reason} {_READING}", 0, -16.0, "caption", SMALL, "start", "muted")
    return Picture(placed, (), (label,))


CANVAS = 1480.0
"""What is wider goes on in another row."""

MOST_OPERATIONS = 25
"""Nobody reads a picture of more; they are listed."""

MARGIN, STRIPS_APART, CAPTION_ROOM = 24.0, 52.0, 24.0
TITLE_ROOM, TITLE_LINE = 44.0, 4.0


_TOO_WIDE = 1.4
_TOO_MUCH, _CIRCLE = "Too large to draw.", "The data flow has a cycle."


def draw(
    flow: Flow,
    measure: TextWidth,
    parameters: int | None = None,
    canvas: float = CANVAS,
    *,
    is_brief: bool = False,
) -> Drawing:
    """Return a flow's drawing.

    Args:
        flow: what to draw.
        measure: how wide texts are.
        parameters: how many elements the module has, for the title.
        canvas: how wide it may be before it goes on in another row.
        is_brief: names alone are written, and larger: it is to be seen small.
    """
    letters = Typography.brief(measure) if is_brief else Typography(measure)
    flow = with_projections(flow)
    operations = sum(node.kind == "operation" for node in flow.nodes)
    room = canvas - 2 * MARGIN
    if operations > MOST_OPERATIONS or not flow.nodes:
        return _finished(flow, measure, parameters, listed(flow, measure, room, _TOO_MUCH))
    try:
        stood = _stood(flow, letters, room)
    except CycleError:
        return _finished(flow, measure, parameters, listed(flow, measure, room, _CIRCLE))
    is_wide = max((each.rect.right for each in stood.nodes), default=0.0) > _TOO_WIDE * room
    if is_wide and operations > MOST_OPERATIONS / 2:
        stood = listed(flow, measure, room, _TOO_MUCH)
    return replace(_finished(flow, measure, parameters, stood), is_brief=is_brief)


def _stood(flow: Flow, letters: Typography, room: float) -> Picture:
    parts = split_graph(flow)
    words = node_labels(flow)
    glyphs = {node.id: glyph_of(node, words[node.id], letters) for node in flow.nodes}
    pills = {node.id: side_pill(node, words[node.id], letters) for node in flow.nodes}
    tower = encoder_subgraph(parts.main, parts.edges)
    whole = Parts(parts.main, parts.edges, parts.below, parts.pairs, glyphs, pills)
    if tower is None:
        strip = strip_of(whole, room)
        return Picture(strip.placed, strip.lines)
    upper = strip_of(replace(whole, nodes=tower.nodes, edges=tower.edges, pairs=()), room)
    rest = replace(
        whole,
        nodes=tower.rest,
        edges=tower.rest_edges,
        pairs=tuple(pair for pair in parts.pairs if pair.upper not in tower.keys),
    )
    lower = strip_of(rest, room)
    if not {edge.target for edge in tower.crossing} <= lower.first_row:
        end = next(node for node in tower.nodes if node.id == tower.end)
        name = NodeLabel(tower.name or words[end.id].title)
        named = {**pills, end.id: side_pill(end, name, letters)}
        lower = strip_of(replace(rest, below=_referring(parts, tower), pills=named), room)
        tower = replace(tower, crossing=())
    return _joined(upper, lower, tower, letters.small)


def _referring(parts: SplitGraph, tower: EncoderSubgraph) -> dict[str, tuple[SideNode, ...]]:
    """Return what hangs where the end of one strip is named wherever another one reads it."""
    below = dict(parts.below)
    end = next(node for node in tower.nodes if node.id == tower.end)
    for target in dict.fromkeys(edge.target for edge in tower.crossing):
        edges = tuple(edge for edge in tower.crossing if edge.target == target)
        below[target] = (*below.get(target, ()), SideNode(end, edges, is_again=True))
    return below


def _joined(upper: Strip, lower: Strip, tower: EncoderSubgraph, size: float) -> Picture:
    """Return one strip above another, with the lines that lead down."""
    names = (tower.name, tower.rest_name)
    top = CAPTION_ROOM if any(names) else 0.0
    down = top + upper.height + STRIPS_APART + top
    placed = [each.moved(0, top) for each in upper.placed]
    placed += [each.moved(0, down) for each in lower.placed]
    lines = [line.moved(0, top) for line in upper.lines]
    lines += [line.moved(0, down) for line in lower.lines]
    at = {each.node.id: each for each in reversed(placed)}
    bus = top + upper.height + STRIPS_APART / 2
    for edge in tower.crossing:
        sharing = [each for each in tower.crossing if each.target == edge.target]
        shift = 14.0 * (sharing.index(edge) - (len(sharing) - 1) / 2)
        lines.append(
            Line(
                edge,
                _leading_down(at[edge.source], at[edge.target], bus, shift, upper.width),
                "data",
                True,
            )
        )
    labels = [
        Label(name, 0, y, "strong", size, "start", "muted")
        for name, y in zip(names, (8.0, down - 16.0), strict=True)
        if name
    ]
    return Picture(placed, lines, labels)


def _leading_down(
    source: DrawnNode, target: DrawnNode, bus: float, shift: float, width: float
) -> tuple[Point, ...]:
    rect = source.rect
    # A deck's front card is lower than its rectangle's middle.
    y = rect.bottom - 29.0 if source.form == "deck" else rect.y + rect.height / 2
    right, x = max(rect.right, width) + TURN, target.rect.x + target.rect.width / 2 + shift
    if abs(right - x) < TURN:
        right = x
    points = ((rect.right, y), (right, y), (right, bus), (x, bus), (x, target.rect.y))
    return simplified(points)


def _finished(
    flow: Flow,
    measure: TextWidth,
    parameters: int | None,
    picture: Picture,
) -> Drawing:
    """Return the drawing with margins and its title."""
    placed, lines, labels = picture.nodes, picture.lines, picture.labels
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points]
    left = min([0.0, *(each.rect.x for each in placed), *xs])
    right = max([0.0, *(_right(each, measure) for each in placed), *xs])
    top = min([0.0, *(each.rect.y for each in placed), *(each.y - 8 for each in labels), *ys])
    bottom = max([0.0, *(each.rect.bottom for each in placed), *ys])
    title = title_of(flow, measure, parameters, right - left)
    last = title[-1]
    end = last.x + measure(last.text, last.style, last.size)
    width = max(right - left, end) + 2 * MARGIN
    # A picture narrower than its title stands in the middle.
    x = (width - (right - left)) / 2 - left
    y = MARGIN + TITLE_ROOM - top
    return Drawing(
        float(ceil(width)),
        float(ceil(bottom - top + MARGIN + TITLE_ROOM + MARGIN)),
        tuple(label.moved(MARGIN, MARGIN + TITLE_LINE) for label in title),
        tuple(each.moved(x, y) for each in placed),
        tuple(line.moved(x, y) for line in lines),
        tuple(label.moved(x, y) for label in labels),
    )


def _right(placed: DrawnNode, measure: TextWidth) -> float:
    """Return how far a node reaches to the right, a text that begins at its left included."""
    ends = (
        label.x + measure(label.text, label.style, label.size)
        for label in placed.labels
        if label.anchor == "start"
    )
    return max(placed.rect.right, *ends, placed.rect.right)
