"""A flow as a drawing: the one layout for the screen, for SVG and for paper."""

from math import ceil

from msgspec.structs import replace

from bertviewer.charts.graph.drawing import (
    Drawing,
    Label,
    Letters,
    Line,
    Measure,
    Picture,
    Placed,
    Point,
)
from bertviewer.charts.graph.glyphs import glyph_of, side_pill
from bertviewer.charts.graph.hangers import Hanger, Split, split
from bertviewer.charts.graph.lettering import title_of
from bertviewer.charts.graph.listing import listed
from bertviewer.charts.graph.places import TURN
from bertviewer.charts.graph.projections import with_projections
from bertviewer.charts.graph.reaching import CycleError
from bertviewer.charts.graph.strip import Parts, Strip, strip_of
from bertviewer.charts.graph.towers import Tower, tower_of
from bertviewer.charts.graph.ways import simplified
from bertviewer.charts.graph.words import Words, words_of
from bertviewer.core.schema.flow import Flow

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
    measure: Measure,
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
    letters = Letters.brief(measure) if is_brief else Letters(measure)
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


def _stood(flow: Flow, letters: Letters, room: float) -> Picture:
    parts = split(flow)
    words = words_of(flow)
    glyphs = {node.id: glyph_of(node, words[node.id], letters) for node in flow.nodes}
    pills = {node.id: side_pill(node, words[node.id], letters) for node in flow.nodes}
    tower = tower_of(parts.main, parts.edges)
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
        name = Words(tower.name or words[end.id].title)
        named = {**pills, end.id: side_pill(end, name, letters)}
        lower = strip_of(replace(rest, below=_referring(parts, tower), pills=named), room)
        tower = replace(tower, crossing=())
    return _joined(upper, lower, tower, letters.small)


def _referring(parts: Split, tower: Tower) -> dict[str, tuple[Hanger, ...]]:
    """Return what hangs where the end of one strip is named wherever another one reads it."""
    below = dict(parts.below)
    end = next(node for node in tower.nodes if node.id == tower.end)
    for target in dict.fromkeys(edge.target for edge in tower.crossing):
        edges = tuple(edge for edge in tower.crossing if edge.target == target)
        below[target] = (*below.get(target, ()), Hanger(end, edges, is_again=True))
    return below


def _joined(upper: Strip, lower: Strip, tower: Tower, size: float) -> Picture:
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
    source: Placed, target: Placed, bus: float, shift: float, width: float
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
    measure: Measure,
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


def _right(placed: Placed, measure: Measure) -> float:
    """Return how far a node reaches to the right, a text that begins at its left included."""
    ends = (
        label.x + measure(label.text, label.style, label.size)
        for label in placed.labels
        if label.anchor == "start"
    )
    return max(placed.rect.right, *ends, placed.rect.right)
