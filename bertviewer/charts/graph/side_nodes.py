"""Side nodes: masks, tables, rotary angles and further outputs, drawn small below their node.

They depend on positions and masks only, so they are repeated below each node that reads them
instead of being connected by long lines.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.graph.drawing import DrawnNode, Line, LineWeight, Point, simplified
from bertviewer.charts.graph.node_labels import POSITION_BIAS
from bertviewer.charts.graph.node_shapes import Glyph
from bertviewer.charts.graph.paths import SIDE_ROLES, reached
from bertviewer.core.schema.flow import Edge, Flow, Node

_GAP, _APART = 12.0, 10.0
"""Between a node and its side nodes, and between these."""

EdgesByNode = Mapping[str, Sequence[Edge]]


class SideNode(Struct, frozen=True):
    """A node below another.

    Attributes:
        node: the node.
        edges: those between both.
        below: the side nodes below it in turn.
        is_again: it is drawn elsewhere, too.
    """

    node: Node
    edges: tuple[Edge, ...]
    below: tuple["SideNode", ...] = ()
    is_again: bool = False


class SharedSideNode(Struct, frozen=True):
    """A node of two others: between them if they are above one another."""

    side: SideNode
    upper: str
    lower: str
    lower_edges: tuple[Edge, ...]


class SplitGraph(Struct, frozen=True):
    """The nodes that data pass through, their edges, and the side nodes below each."""

    main: tuple[Node, ...]
    edges: tuple[Edge, ...]
    below: Mapping[str, tuple[SideNode, ...]]
    shared: tuple[SharedSideNode, ...] = ()


def split_graph(flow: Flow) -> SplitGraph:
    """Separate side nodes from the nodes that data pass through."""
    nodes = {node.id: node for node in flow.nodes}
    edges = tuple(edge for edge in flow.edges if {edge.source, edge.target} <= nodes.keys())
    into: dict[str, list[Edge]] = {key: [] for key in nodes}
    out: dict[str, list[Edge]] = {key: [] for key in nodes}
    for edge in edges:
        into[edge.target].append(edge)
        out[edge.source].append(edge)
    side = _inputs_at_side(nodes, into, out, edges)
    further = _further_outputs(flow, into, out)
    main = tuple(node for node in flow.nodes if node.id not in side | further)
    seen: set[str] = set()

    def below_of(key: str) -> tuple[SideNode, ...]:
        found: dict[str, list[Edge]] = {}
        for edge in into[key]:
            if edge.source in side:
                found.setdefault(edge.source, []).append(edge)
        for edge in out[key]:
            if edge.target in further:
                found.setdefault(edge.target, []).append(edge)
        return tuple(side_node(each, between) for each, between in found.items())

    def side_node(key: str, between: Sequence[Edge]) -> SideNode:
        is_again = key in seen
        seen.add(key)
        # Only the first of repeated nodes has its own side nodes.
        below = () if is_again or key in further else below_of(key)
        return SideNode(nodes[key], tuple(between), below, is_again)

    below: dict[str, tuple[SideNode, ...]] = {}
    shared: list[SharedSideNode] = []
    for node in main:
        found: list[SideNode] = []
        for each in below_of(node.id):
            pair = _rotary_pair(out[each.node.id], nodes, side)
            if pair is None:
                found.append(each)
            elif pair[0] == node.id:
                lower = tuple(edge for edge in out[each.node.id] if edge.target == pair[1])
                shared.append(SharedSideNode(each, *pair, lower))
        below[node.id] = tuple(found)
    kept = tuple(e for e in edges if not {e.source, e.target} & (side | further))
    return SplitGraph(main, kept, below, tuple(shared))


def _rotary_pair(
    edges: Sequence[Edge], nodes: Mapping[str, Node], side: frozenset[str]
) -> tuple[str, str] | None:
    """Return the two rotary embeddings that share their angles, in the order of the graph."""
    targets = {edge.target for edge in edges}
    if len(targets) != 2 or any(
        each in side or nodes[each].operation != "rotary" for each in targets
    ):
        return None
    first, second = (key for key in nodes if key in targets)
    return first, second


def _inputs_at_side(
    nodes: Mapping[str, Node], into: EdgesByNode, out: EdgesByNode, edges: Sequence[Edge]
) -> frozenset[str]:
    """Return the nodes that no data reach and that only adjust others."""
    sources = (
        key
        for key, node in nodes.items()
        if node.kind == "input"
        and any(e.role not in SIDE_ROLES and not _is_constant(nodes[e.target]) for e in out[key])
    )
    data = reached(sources, edges)
    side: set[str] = set()

    def only_adjusts(edge: Edge) -> bool:
        source, target = nodes[edge.source], nodes[edge.target]
        if target.id in side or target.kind == "output":
            return True
        # The output of a module is data, too, unless its role says otherwise.
        is_bias = edge.role in SIDE_ROLES or target.operation == POSITION_BIAS
        return target.id in data and (is_bias or _is_constant(source) or source.kind == "parameter")

    before = -1
    while before != len(side):
        before = len(side)
        side |= {
            key
            for key, leaving in out.items()
            if key not in data
            and all(map(only_adjusts, leaving))
            and any(nodes[edge.target].kind != "output" for edge in leaving)
        }
    return frozenset(side)


def _is_constant(node: Node) -> bool:
    return node.kind == "constant" or node.operation in ("mask", "positions")


def _further_outputs(flow: Flow, into: EdgesByNode, out: EdgesByNode) -> frozenset[str]:
    """Return the outputs after the first whose source has other successors, too."""
    further = [node.id for node in flow.nodes if node.kind == "output"][1:]
    return frozenset(
        key
        for key in further
        if len(into[key]) == 1
        and any(edge.target not in further for edge in out[into[key][0].source])
    )


def side_size(below: Sequence[SideNode], pills: Mapping[str, Glyph]) -> tuple[float, float]:
    """Return the width and the height of the side nodes below a node."""
    if not below:
        return 0.0, 0.0
    sizes = [_size(side, pills) for side in below]
    width = sum(size[0] for size in sizes) + _APART * (len(sizes) - 1)
    return width, max(size[1] for size in sizes)


def _size(side: SideNode, pills: Mapping[str, Glyph]) -> tuple[float, float]:
    rect = pills[side.node.id].drawn.rect
    width, height = side_size(side.below, pills)
    return max(rect.width, width), _GAP + rect.height + height


def drawn_side_nodes(
    below: Mapping[str, tuple[SideNode, ...]],
    shared: Sequence[SharedSideNode],
    pills: Mapping[str, Glyph],
    drawn: Mapping[str, DrawnNode],
) -> tuple[list[DrawnNode], list[Line]]:
    """Return the side nodes of drawn nodes, and their lines."""
    nodes: list[DrawnNode] = []
    lines: list[Line] = []

    def draw_below(sides: Sequence[SideNode], above: DrawnNode) -> None:
        x = above.rect.middle[0] - side_size(sides, pills)[0] / 2
        if above.form == "input":
            x = above.rect.x
        for side in sides:
            width, _ = _size(side, pills)
            pill = pills[side.node.id].drawn
            left = x + (width - pill.rect.width) / 2
            pill = replace(pill.moved(left, above.rect.bottom + _GAP), is_again=side.is_again)
            nodes.append(pill)
            lines.extend(_line(edge, above, pill) for edge in side.edges)
            draw_below(side.below, pill)
            x += width + _APART

    for key, sides in below.items():
        if key in drawn:
            draw_below(sides, drawn[key])
    for each in shared:
        upper, lower = drawn[each.upper], drawn[each.lower]
        pill = pills[each.side.node.id].drawn
        x = upper.rect.x + (upper.rect.width - pill.rect.width) / 2
        y = (upper.rect.bottom + lower.rect.y - pill.rect.height) / 2
        middle = x + pill.rect.width / 2
        pill = pill.moved(x, y)
        nodes.append(pill)
        lines += [_line(edge, upper, pill) for edge in each.side.edges]
        lines += [
            Line(edge, ((middle, pill.rect.bottom), (middle, lower.rect.y)), "side")
            for edge in each.lower_edges
        ]
    return nodes, lines


def _line(edge: Edge, above: DrawnNode, below: DrawnNode) -> Line:
    """Return the short line between a node and its side node."""
    middle = below.rect.middle[0]
    x = middle
    if not above.rect.x <= middle <= above.rect.right:
        x = min(max(middle, above.rect.x + 6), above.rect.right - 6)
    y, low = above.rect.bottom, below.rect.y
    half = (y + low) / 2
    points: tuple[Point, ...] = ((x, y), (x, half), (middle, half), (middle, low))
    if edge.target == above.node.id:
        points = tuple(reversed(points))
    weight: LineWeight = "side" if below.form == "dashed pill" else "data"
    return Line(edge, simplified(points), weight, edge.target == below.node.id)
