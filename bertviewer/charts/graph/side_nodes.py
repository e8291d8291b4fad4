"""What hangs beside a node on a short line: masks, tables, angles, and further outputs.

They follow from positions and masks alone, so the picture has them small, and again wherever they
are read, in place of long lines across it.


Where that stands which hangs below a node or between two.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from bertviewer.charts.graph.drawing import DrawnNode, Line, LineWeight, Point, simplified
from bertviewer.charts.graph.node_labels import POSITION_BIAS
from bertviewer.charts.graph.node_shapes import Glyph
from bertviewer.charts.graph.paths import SIDE_ROLES, reached
from bertviewer.core.schema.flow import Edge, Flow, Node


class SideNode(Struct, frozen=True):
    """A node below another, and what hangs on it in turn.

    Attributes:
        node: what hangs.
        edges: those between it and what it hangs on.
        hangers: what hangs on it.
        is_again: it hangs elsewhere too.
    """

    node: Node
    edges: tuple[Edge, ...]
    hangers: tuple["SideNode", ...] = ()
    is_again: bool = False


class SharedSideNode(Struct, frozen=True):
    """A node that hangs between two others, one above and one below it."""

    hanger: SideNode
    upper: str
    lower: str
    lower_edges: tuple[Edge, ...]


class SplitGraph(Struct, frozen=True):
    """A flow's nodes, told apart.

    ``pairs`` hang on exactly two nodes, given in the flow's order: between them if they stand one
    above the other.
    """

    main: tuple[Node, ...]
    edges: tuple[Edge, ...]
    below: Mapping[str, tuple[SideNode, ...]] = field(default_factory=dict)
    pairs: tuple[SharedSideNode, ...] = ()


def split_graph(flow: Flow) -> SplitGraph:
    """Return a flow's nodes: those that data go through, and those that hang on them."""
    nodes = {node.id: node for node in flow.nodes}
    edges = tuple(edge for edge in flow.edges if {edge.source, edge.target} <= nodes.keys())
    into: dict[str, list[Edge]] = {key: [] for key in nodes}
    out: dict[str, list[Edge]] = {key: [] for key in nodes}
    for edge in edges:
        into[edge.target].append(edge)
        out[edge.source].append(edge)
    side = _side_nodes(flow, into, out)
    further = _further_outputs(flow, into, out)
    apart = side | further
    main = tuple(node for node in flow.nodes if node.id not in apart)
    seen: set[str] = set()

    def hanging(key: str) -> tuple[SideNode, ...]:
        """Return what hangs on a node: what goes into it from the side, and its outputs."""
        found: dict[str, list[Edge]] = {}
        for edge in into[key]:
            if edge.source in side:
                found.setdefault(edge.source, []).append(edge)
        for edge in out[key]:
            if edge.target in further:
                found.setdefault(edge.target, []).append(edge)
        return tuple(hung(each, between) for each, between in found.items())

    def hung(key: str, between: Sequence[Edge]) -> SideNode:
        is_again = key in seen
        seen.add(key)
        # Where a node stands again, what it follows from is seen at the first of them.
        deeper = () if is_again or key in further else hanging(key)
        return SideNode(nodes[key], tuple(between), deeper, is_again)

    below: dict[str, tuple[SideNode, ...]] = {}
    pairs: list[SharedSideNode] = []
    paired = {key: found for key in side if (found := _pair(out[key], nodes, side))}
    for node in main:
        hung_there: list[SideNode] = []
        for hanger in hanging(node.id):
            ends = paired.get(hanger.node.id)
            if ends is None:
                hung_there.append(hanger)
            elif ends[0] == node.id:
                lower = tuple(e for e in out[hanger.node.id] if e.target == ends[1])
                pairs.append(SharedSideNode(hanger, *ends, lower))
        below[node.id] = tuple(hung_there)
    kept = tuple(edge for edge in edges if edge.source not in apart and edge.target not in apart)
    return SplitGraph(main, kept, below, tuple(pairs))


def _pair(
    edges: Iterable[Edge], nodes: Mapping[str, Node], side: frozenset[str]
) -> tuple[str, str] | None:
    """Return the two rotations that share their angles, ``None`` for all else."""
    targets = list(dict.fromkeys(edge.target for edge in edges))
    if len(targets) != 2 or any(
        each in side or nodes[each].operation != "rotary" for each in targets
    ):
        return None
    order = list(nodes)
    first, second = sorted(targets, key=order.index)
    return first, second


def _side_nodes(
    flow: Flow, into: Mapping[str, Sequence[Edge]], out: Mapping[str, Sequence[Edge]]
) -> frozenset[str]:
    """Return the nodes that no data reach, and that only help others which data do reach."""
    nodes = {node.id: node for node in flow.nodes}
    sources = (
        node.id
        for node in flow.nodes
        if node.kind == "input"
        and any(
            e.role not in SIDE_ROLES and not _is_constant(nodes[e.target]) for e in out[node.id]
        )
    )
    data = reached(sources, flow.edges)
    side: set[str] = set()

    def helps(edge: Edge) -> bool:
        """Tell whether an edge is no more than help to what data reach."""
        source, target = nodes[edge.source], nodes[edge.target]
        if target.id in side or target.kind == "output":
            return True
        if target.id not in data:
            return False
        # What a module brings is data too, if nothing says otherwise.
        is_bias = edge.role in SIDE_ROLES or target.operation == POSITION_BIAS
        return is_bias or _is_constant(source) or source.kind == "parameter"

    was = -1
    while was != len(side):
        was = len(side)
        for key, edges in out.items():
            if (
                key not in data
                and all(map(helps, edges))
                and any(nodes[edge.target].kind != "output" for edge in edges)
            ):
                side.add(key)
    return frozenset(side)


def _is_constant(node: Node) -> bool:
    return node.kind == "constant" or node.operation in ("mask", "positions")


def _further_outputs(
    flow: Flow, into: Mapping[str, Sequence[Edge]], out: Mapping[str, Sequence[Edge]]
) -> frozenset[str]:
    """Return the outputs behind the first that a node gives beside what goes on."""
    outputs = [node.id for node in flow.nodes if node.kind == "output"]
    return frozenset(
        key
        for key in outputs[1:]
        if len(into[key]) == 1
        and any(edge.target not in outputs[1:] for edge in out[into[key][0].source])
    )


HANGER_GAP, HANGERS_APART = 12.0, 10.0


def hanging_size(hangers: Sequence[SideNode], pills: Mapping[str, Glyph]) -> tuple[float, float]:
    """Return how wide and how deep that is which hangs below a node."""
    if not hangers:
        return 0.0, 0.0
    sizes = [_hanger_size(hanger, pills) for hanger in hangers]
    width = sum(size[0] for size in sizes) + HANGERS_APART * (len(sizes) - 1)
    return width, max(size[1] for size in sizes)


def _hanger_size(hanger: SideNode, pills: Mapping[str, Glyph]) -> tuple[float, float]:
    rect = pills[hanger.node.id].placed.rect
    width, depth = hanging_size(hanger.hangers, pills)
    return max(rect.width, width), HANGER_GAP + rect.height + depth


def placed_side_nodes(
    below: Mapping[str, tuple[SideNode, ...]],
    pairs: Sequence[SharedSideNode],
    pills: Mapping[str, Glyph],
    placed: Mapping[str, DrawnNode],
) -> tuple[list[DrawnNode], list[Line]]:
    """Return what hangs below nodes and between them, with its lines."""
    nodes: list[DrawnNode] = []
    lines: list[Line] = []

    def hang(hangers: Sequence[SideNode], above: DrawnNode) -> None:
        width, _ = hanging_size(hangers, pills)
        x = above.rect.x + above.rect.width / 2 - width / 2
        if above.form == "input":
            x = above.rect.x
        for hanger in hangers:
            room, _ = _hanger_size(hanger, pills)
            glyph = pills[hanger.node.id]
            left = x + (room - glyph.placed.rect.width) / 2
            pill = glyph.placed.moved(left, above.rect.bottom + HANGER_GAP)
            pill = replace(pill, is_again=hanger.is_again)
            nodes.append(pill)
            lines.extend(_thread(edge, above, pill) for edge in hanger.edges)
            hang(hanger.hangers, pill)
            x += room + HANGERS_APART

    for key, hangers in below.items():
        if key in placed:
            hang(hangers, placed[key])
    for pair in pairs:
        upper, lower = placed[pair.upper], placed[pair.lower]
        glyph = pills[pair.hanger.node.id].placed
        x = upper.rect.x + (upper.rect.width - glyph.rect.width) / 2
        y = (upper.rect.bottom + lower.rect.y - glyph.rect.height) / 2
        pill = glyph.moved(x, y)
        middle = x + glyph.rect.width / 2
        nodes.append(pill)
        lines += [_thread(edge, upper, pill) for edge in pair.hanger.edges]
        lines += [
            Line(edge, ((middle, pill.rect.bottom), (middle, lower.rect.y)), "side")
            for edge in pair.lower_edges
        ]
    return nodes, lines


def _thread(edge: Edge, above: DrawnNode, below: DrawnNode) -> Line:
    """Return the short line between a node and what hangs on it."""
    middle = below.rect.x + below.rect.width / 2
    x = min(max(middle, above.rect.x + 6), above.rect.right - 6)
    x = middle if above.rect.x <= middle <= above.rect.right else x
    y, low = above.rect.bottom, below.rect.y
    half = (y + low) / 2
    points: tuple[Point, ...] = ((x, y), (x, half), (middle, half), (middle, low))
    if edge.target == above.node.id:
        points = tuple(reversed(points))
    weight: LineWeight = "side" if below.form == "dashed pill" else "data"
    return Line(edge, simplified(points), weight, edge.target == below.node.id)
