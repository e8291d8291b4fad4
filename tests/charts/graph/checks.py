"""What has to be true of every drawing, whatever it shows."""

from itertools import combinations, pairwise

from bertviewer.charts.graph.drawing import Drawing, DrawnNode, Label, Line, Rect, TextStyle
from bertviewer.core.schema.flow import Flow

SLACK = 0.02


def measure(text: str, style: TextStyle, size: float) -> float:
    """Return about how wide a text is, the same on every machine."""
    return len(text) * size * {"strong": 0.62, "mono": 0.6}.get(style, 0.55)


def overlap(a: Rect, b: Rect) -> bool:
    return (
        a.x < b.right - SLACK
        and b.x < a.right - SLACK
        and a.y < b.bottom - SLACK
        and b.y < a.bottom - SLACK
    )


def touches(point: tuple[float, float], rect: Rect) -> bool:
    """Tell whether a point is on a rectangle's border."""
    x, y = point
    inside = (
        rect.x - SLACK <= x <= rect.right + SLACK and rect.y - SLACK <= y <= rect.bottom + SLACK
    )
    on_side = min(abs(x - rect.x), abs(x - rect.right)) <= SLACK
    on_end = min(abs(y - rect.y), abs(y - rect.bottom)) <= SLACK
    return inside and (on_side or on_end)


def room_of(label: Label) -> Rect:
    """Return the room that the letters of an input's or an output's text take."""
    width = measure(label.text, label.style, label.size)
    x = label.x - (width if label.anchor == "end" else 0.0)
    return Rect(x, label.y - label.size / 2, width, label.size)


def passes(line: Line, rect: Rect) -> bool:
    """Tell whether a line goes through a rectangle."""
    for (x, y), (a, b) in pairwise(line.points):
        way = Rect(min(x, a), min(y, b), abs(a - x), abs(b - y))
        if (
            way.x < rect.right - SLACK
            and rect.x < way.right - SLACK
            and way.y < rect.bottom - SLACK
            and rect.y < way.bottom - SLACK
        ) or ((way.width < SLACK or way.height < SLACK) and _crosses(way, rect)):
            return True
    return False


def _crosses(way: Rect, rect: Rect) -> bool:
    """Tell whether an upright or level way goes through the inside of a rectangle."""
    inside = Rect(rect.x + SLACK, rect.y + SLACK, rect.width - 2 * SLACK, rect.height - 2 * SLACK)
    return (
        way.x <= inside.right
        and inside.x <= way.right
        and way.y <= inside.bottom
        and inside.y <= way.bottom
    )


def check(drawing: Drawing, flow: Flow) -> None:
    """Assert what has to be true of a flow's drawing."""
    shown = {each.node.id for each in drawing.nodes}
    assert shown == {node.id for node in flow.nodes}
    is_list = all(each.form == "list" for each in drawing.nodes)
    if not is_list:
        assert {id(line.edge) for line in drawing.lines} == {id(edge) for edge in flow.edges}
    for one, other in combinations(drawing.nodes, 2):
        assert not overlap(one.rect, other.rect), (one.node.id, other.node.id)
    places: dict[str, list[DrawnNode]] = {}
    for each in drawing.nodes:
        places.setdefault(each.node.id, []).append(each)
        rect = each.rect
        assert rect.x >= 0
        assert rect.y >= 0
        assert rect.right <= drawing.width
        assert rect.bottom <= drawing.height
        for label in each.labels:
            assert 0 <= label.x <= drawing.width
            assert 0 <= label.y <= drawing.height
    for line in drawing.lines:
        first, last = line.points[0], line.points[-1]
        assert any(touches(first, each.rect) for each in places[line.edge.source]), line
        assert any(touches(last, each.rect) for each in places[line.edge.target]), line
        for (x, y), (a, b) in pairwise(line.points):
            assert abs(x - a) < SLACK or abs(y - b) < SLACK, line
            assert min(x, a) >= 0
            assert max(x, a) <= drawing.width
            assert min(y, b) >= 0
            assert max(y, b) <= drawing.height
        for each in drawing.nodes:
            ends = (line.edge.source, line.edge.target)
            if each.node.id not in ends or each.is_again:
                assert not passes(line, each.rect), (line, each)
    named = [each for each in drawing.nodes if each.form in ("input", "output")]
    texts = [(each, room_of(label)) for each in named for label in each.labels]
    for each, room in texts:
        for other in drawing.nodes:
            assert not overlap(room, other.rect), (each.node.id, other.node.id)
        for line in drawing.lines:
            assert not passes(line, room), (each.node.id, line)
    for (_, one_room), (_, other_room) in combinations(texts, 2):
        assert not overlap(one_room, other_room)
