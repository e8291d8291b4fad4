"""Layout of a graph as a drawing, for the window, for SVG and for reports."""

from collections.abc import Mapping
from graphlib import CycleError
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.graph.columns import Extent, LayeredGraph, layered_graph
from bertviewer.charts.graph.coordinates import y_coordinates
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
from bertviewer.charts.graph.edge_router import EdgeRouter
from bertviewer.charts.graph.fused_attention import with_projections
from bertviewer.charts.graph.node_labels import TIMES, NodeLabel, elided, node_labels, title_of
from bertviewer.charts.graph.node_shapes import Glyph, glyph_of, side_pill
from bertviewer.charts.graph.paths import EncoderSubgraph, encoder_subgraph
from bertviewer.charts.graph.rows import TURN, row_layout
from bertviewer.charts.graph.side_nodes import (
    SharedSideNode,
    SideNode,
    SplitGraph,
    drawn_side_nodes,
    side_size,
    split_graph,
)
from bertviewer.charts.theme import SMALL
from bertviewer.core.schema.flow import Flow

CANVAS = 1480.0
"""Width at which a graph continues in another row."""

_MAX_OPERATIONS, _TOO_WIDE = 25, 1.4
"""Larger graphs are listed: those of more operations, or too many for a row of the canvas."""

_MARGIN, _STRIPS_APART, _CAPTION_HEIGHT, _SHARED_GAP = 24.0, 52.0, 24.0, 7.0
_TITLE_HEIGHT, _TITLE_LINE = 44.0, 4.0
_ROW, _LIST_GAP, _MAX_LIST_WIDTH = 20.0, 32.0, 420.0


def draw(
    flow: Flow,
    measure: TextWidth,
    parameters: int | None = None,
    canvas: float = CANVAS,
    *,
    is_brief: bool = False,
) -> Drawing:
    """Return the drawing of a graph.

    Args:
        flow: the graph.
        measure: returns the width of a text.
        parameters: the parameter count of the module, for the title.
        canvas: the width at which the drawing continues in another row.
        is_brief: only names are drawn, and larger, because the drawing is displayed small.
    """
    texts = Typography.brief(measure) if is_brief else Typography(measure)
    flow = with_projections(flow)
    operations = sum(node.kind == "operation" for node in flow.nodes)
    width = canvas - 2 * _MARGIN
    if operations > _MAX_OPERATIONS or not flow.nodes:
        return _finished(flow, measure, parameters, _listing(flow, measure, width))
    try:
        picture = _picture(flow, texts, width)
    except CycleError:
        listing = _listing(flow, measure, width, "The data flow has a cycle.")
        return _finished(flow, measure, parameters, listing)
    right = max((each.rect.right for each in picture.nodes), default=0.0)
    if right > _TOO_WIDE * width and operations > _MAX_OPERATIONS / 2:
        picture = _listing(flow, measure, width)
    return replace(_finished(flow, measure, parameters, picture), is_brief=is_brief)


def _picture(flow: Flow, texts: Typography, width: float) -> Picture:
    """Return a graph in one strip, or an encoder in a strip above the rest."""
    graph = split_graph(flow)
    labels = node_labels(flow)
    glyphs = {node.id: glyph_of(node, labels[node.id], texts) for node in flow.nodes}
    pills = {node.id: side_pill(node, labels[node.id], texts) for node in flow.nodes}
    encoder = encoder_subgraph(graph.main, graph.edges)
    if encoder is None:
        strip = _strip(graph, glyphs, pills, width)
        return Picture(strip.nodes, strip.lines)
    above = replace(graph, main=encoder.nodes, edges=encoder.edges, shared=())
    upper = _strip(above, glyphs, pills, width)
    shared = tuple(each for each in graph.shared if each.upper not in encoder.keys)
    rest = replace(graph, main=encoder.rest, edges=encoder.rest_edges, shared=shared)
    lower = _strip(rest, glyphs, pills, width)
    if not {edge.target for edge in encoder.crossing} <= lower.first_row:
        # Name the encoder below each node that reads it instead of drawing lines to them.
        end = next(node for node in encoder.nodes if node.id == encoder.end)
        name = NodeLabel(encoder.name or labels[end.id].title)
        below = dict(graph.below)
        for target in dict.fromkeys(edge.target for edge in encoder.crossing):
            edges = tuple(edge for edge in encoder.crossing if edge.target == target)
            below[target] = (*below.get(target, ()), SideNode(end, edges, is_again=True))
        pills = {**pills, end.id: side_pill(end, name, texts)}
        lower = _strip(replace(rest, below=below), glyphs, pills, width)
        encoder = replace(encoder, crossing=())
    return _joined(upper, lower, encoder, texts.small)


class _Strip(Struct, frozen=True):
    """A graph with its upper left corner at (0, 0).

    ``first_row`` are the nodes that can be reached from above.
    """

    nodes: tuple[DrawnNode, ...]
    lines: tuple[Line, ...]
    width: float
    height: float
    first_row: frozenset[str]


def _strip(
    graph: SplitGraph, glyphs: Mapping[str, Glyph], pills: Mapping[str, Glyph], canvas: float
) -> _Strip:
    """Lay out one graph with its side nodes.

    Raises:
        graphlib.CycleError: the graph has a cycle.
    """
    layered, heights = _layered(graph, glyphs, pills)
    loose = [each for each in graph.shared if not _is_between(each, layered, heights)]
    if loose:
        below = dict(graph.below)
        for each in loose:
            again = SideNode(each.side.node, each.lower_edges, is_again=True)
            below[each.upper] = (*below.get(each.upper, ()), each.side)
            below[each.lower] = (*below.get(each.lower, ()), again)
        shared = tuple(each for each in graph.shared if each not in loose)
        graph = replace(graph, below=below, shared=shared)
        layered, heights = _layered(graph, glyphs, pills)
    router = EdgeRouter(layered, heights, glyphs)
    rows = row_layout(layered, heights, router.counts, router.end_labels(), canvas)
    drawn = {}
    for item in layered.items:
        if item.key:
            glyph = glyphs[item.key]
            room = rows.width[item.column] - glyph.drawn.rect.width
            share = {"input": 0.0, "output": 1.0}.get(glyph.drawn.form, 0.5)
            y = rows.row_of(item.column).line + heights[item.number] - glyph.line
            drawn[item.key] = glyph.drawn.moved(rows.left[item.column] + share * room, y)
    lines = router.lines(rows, drawn)
    side_nodes, side_lines = drawn_side_nodes(graph.below, graph.shared, pills, drawn)
    first = rows.rows[0]
    return _Strip(
        (*drawn.values(), *side_nodes),
        (*lines, *side_lines),
        max(rows.right, *(each.rect.right for each in side_nodes), 0.0),
        rows.rows[-1].bottom,
        frozenset(item.key for item in layered.items if item.column <= first.last),
    )


def _layered(
    graph: SplitGraph, glyphs: Mapping[str, Glyph], pills: Mapping[str, Glyph]
) -> tuple[LayeredGraph, Mapping[int, float]]:
    """Return the columns and y coordinates of a graph."""
    extents = {}
    for node in graph.main:
        glyph = glyphs[node.id]
        width, height = side_size(graph.below.get(node.id, ()), pills)
        beside = (
            pills[each.side.node.id].width
            for each in graph.shared
            if node.id in (each.upper, each.lower)
        )
        width = max(glyph.width, width, *beside)
        extents[node.id] = Extent(width, glyph.above, glyph.below + height, glyph.text)
    layered = layered_graph(graph.main, graph.edges, extents)
    at = {item.key: item.number for item in layered.items if item.key}
    apart = {
        (at[each.upper], at[each.lower]): glyphs[each.upper].below
        + pills[each.side.node.id].drawn.rect.height
        + 2 * _SHARED_GAP
        + glyphs[each.lower].above
        for each in graph.shared
    }
    ends = frozenset(
        at[key]
        for key in (*layered.main_path[:1], *layered.main_path[-1:])
        if glyphs[key].drawn.form in ("input", "output")
    )
    return layered, y_coordinates(layered, apart, ends)


def _is_between(shared: SharedSideNode, graph: LayeredGraph, heights: Mapping[int, float]) -> bool:
    """Tell whether two nodes are above one another, with nothing between them."""
    at = {item.key: item for item in graph.items if item.key}
    upper, lower = at[shared.upper], at[shared.lower]
    if upper.column != lower.column or heights[upper.number] >= heights[lower.number]:
        return False
    return not any(
        heights[upper.number] < heights[item.number] < heights[lower.number]
        for item in graph.items
        if item.column == upper.column
    )


def _joined(upper: _Strip, lower: _Strip, encoder: EncoderSubgraph, size: float) -> Picture:
    """Return one strip above another, with the lines between them."""
    names = (encoder.name, encoder.rest_name)
    top = _CAPTION_HEIGHT if any(names) else 0.0
    down = top + upper.height + _STRIPS_APART + top
    nodes = [each.moved(0, top) for each in upper.nodes]
    nodes += [each.moved(0, down) for each in lower.nodes]
    lines = [line.moved(0, top) for line in upper.lines]
    lines += [line.moved(0, down) for line in lower.lines]
    at = {each.node.id: each for each in reversed(nodes)}
    between = top + upper.height + _STRIPS_APART / 2
    for edge in encoder.crossing:
        sharing = [each for each in encoder.crossing if each.target == edge.target]
        shift = 14.0 * (sharing.index(edge) - (len(sharing) - 1) / 2)
        points = _points_down(at[edge.source], at[edge.target], between, shift, upper.width)
        lines.append(Line(edge, points, "data", True))
    labels = [
        Label(name, 0, y, "strong", size, "start", "muted")
        for name, y in zip(names, (8.0, down - 16.0), strict=True)
        if name
    ]
    return Picture(nodes, lines, labels)


def _points_down(
    source: DrawnNode, target: DrawnNode, between: float, shift: float, width: float
) -> tuple[Point, ...]:
    """Return a line from the right side of a node to the upper side of one in the lower strip."""
    rect = source.rect
    # The front card of a deck is below the middle of its rectangle.
    y = rect.bottom - 29.0 if source.form == "deck" else rect.middle[1]
    right, x = max(rect.right, width) + TURN, target.rect.middle[0] + shift
    if abs(right - x) < TURN:
        right = x
    points = ((rect.right, y), (right, y), (right, between), (x, between), (x, target.rect.y))
    return simplified(points)


def _listing(
    flow: Flow, measure: TextWidth, width: float, reason: str = "Too large to draw."
) -> Picture:
    """Return a graph as a list of nodes with the numbers of their inputs, and their shapes."""
    if not flow.nodes:
        return Picture((), ())
    numbers = {node.id: number for number, node in enumerate(flow.nodes)}
    inputs: dict[str, list[str]] = {}
    for edge in flow.edges:
        if edge.source in numbers:
            inputs.setdefault(edge.target, []).append(str(numbers[edge.source]))
    labels = node_labels(flow)
    texts = []
    for node in flow.nodes:
        shape = f"  [{TIMES.join(map(str, node.shape))}]" if node.shape else ""
        arguments = f"({', '.join(inputs[node.id])})" if node.id in inputs else ""
        texts.append(f"{numbers[node.id]:>3}  {labels[node.id].title}{arguments}{shape}")
    widest = min(_MAX_LIST_WIDTH, max(measure(text, "mono", SMALL) for text in texts))
    across = max(1, int((width + _LIST_GAP) // (widest + _LIST_GAP)))
    down = ceil(len(texts) / across)
    nodes = []
    for number, (node, text) in enumerate(zip(flow.nodes, texts, strict=True)):
        x = number // down * (widest + _LIST_GAP)
        rect = Rect(x, number % down * _ROW, widest, _ROW)
        cut = elided(text, widest, measure, "mono", SMALL)
        label = Label(cut, x, rect.y + _ROW / 2, "mono", SMALL, "start")
        nodes.append(DrawnNode(node, "list", labels[node.id].part, rect, (label,)))
    text = f"{reason} Each operation lists the numbers of its inputs."
    return Picture(nodes, (), (Label(text, 0, -16.0, "caption", SMALL, "start", "muted"),))


def _finished(flow: Flow, measure: TextWidth, parameters: int | None, picture: Picture) -> Drawing:
    """Return the drawing with margins and title."""
    xs = [x for line in picture.lines for x, _ in line.points]
    ys = [y for line in picture.lines for _, y in line.points]
    ends = [
        label.x + measure(label.text, label.style, label.size)
        for each in picture.nodes
        for label in each.labels
        if label.anchor == "start"
    ]
    rects = [each.rect for each in picture.nodes]
    left = min([0.0, *(rect.x for rect in rects), *xs])
    right = max([0.0, *(rect.right for rect in rects), *ends, *xs])
    top = min([0.0, *(rect.y for rect in rects), *(each.y - 8 for each in picture.labels), *ys])
    bottom = max([0.0, *(rect.bottom for rect in rects), *ys])
    title = title_of(flow, measure, parameters, right - left)
    last = title[-1]
    width = max(right - left, last.x + measure(last.text, last.style, last.size)) + 2 * _MARGIN
    # Centre a picture that is narrower than its title.
    x = (width - (right - left)) / 2 - left
    y = _MARGIN + _TITLE_HEIGHT - top
    return Drawing(
        float(ceil(width)),
        float(ceil(bottom - top + _MARGIN + _TITLE_HEIGHT + _MARGIN)),
        tuple(label.moved(_MARGIN, _MARGIN + _TITLE_LINE) for label in title),
        tuple(each.moved(x, y) for each in picture.nodes),
        tuple(line.moved(x, y) for line in picture.lines),
        tuple(label.moved(x, y) for label in picture.labels),
    )
