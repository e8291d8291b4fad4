"""Keyboard navigation between nodes, and the camera."""

import pytest

from bertviewer.charts.graph.drawing import Drawing, Rect
from bertviewer.charts.graph.layout import draw
from bertviewer.charts.map.camera import Camera, fitted, placed_in
from bertviewer.charts.map.neighbours import Direction, first_node, last_node, neighbour
from tests.charts.graph import made_flows as made
from tests.charts.graph.checks import measure
from tests.core.walkthrough.small_walkthroughs import small

DIRECTIONS: tuple[Direction, ...] = ("left", "right", "up", "down")
NEAR = pytest.approx


@pytest.fixture
def drawing() -> Drawing:
    return draw(made.bert_layer(), measure)


def test_right_and_left_follow_the_edges_from_input_to_output(drawing: Drawing) -> None:
    edges = {(line.edge.source, line.edge.target) for line in drawing.lines}
    here = first_node(drawing)
    assert here is not None
    assert here.form == "input"
    while (there := neighbour(drawing, here.node.id, "right")) is not None:
        assert (here.node.id, there.node.id) in edges
        assert there.rect.x > here.rect.x
        here = there
    assert here is last_node(drawing)
    assert here.form == "output"
    back = neighbour(drawing, here.node.id, "left")
    assert back is not None
    assert (back.node.id, here.node.id) in edges
    assert neighbour(drawing, "no such node", "right") is None


def test_down_and_up_go_between_branches(drawing: Drawing) -> None:
    query, key = "attention.self.query", "attention.self.key"
    for start, direction, end in ((query, "down", key), (key, "up", query)):
        found = neighbour(drawing, start, direction)  # type: ignore[arg-type]
        assert found is not None
        assert found.node.id == end


@pytest.mark.parametrize("family", ["bert", "t5", "llama", "mixtral", "clip", "swin", "mamba"])
def test_every_node_can_be_reached(family: str) -> None:
    flows = small(family).flows
    assert flows is not None
    for flow in flows.distinct.values():
        drawn = draw(flow, measure)
        first = first_node(drawn)
        if first is None:
            continue
        reached = [first.node.id]
        for key in reached:
            near = (neighbour(drawn, key, direction) for direction in DIRECTIONS)
            reached += [n.node.id for n in near if n is not None and n.node.id not in reached]
        assert set(reached) == {placed.node.id for placed in drawn.nodes}, flow.path


def test_a_fitted_drawing_is_in_the_middle_of_the_window() -> None:
    rect = Rect(-50, 20, 1000, 400)
    seen = fitted(rect, 500, 400).seen(rect)
    assert (seen.x, seen.right) == NEAR((0, 500))
    assert seen.y + seen.height / 2 == NEAR(200)
    assert fitted(Rect(0, 0, 10, 10), 500, 400, most=1.5).scale == 1.5


def test_zooming_keeps_the_point_under_the_pointer() -> None:
    camera = Camera(0.7, 13, -8)
    zoomed = camera.zoomed(1.6, 120, 80)
    assert zoomed.drawn(120, 80) == NEAR(camera.drawn(120, 80))
    assert zoomed.zoomed(1 / 1.6, 120, 80).scale == NEAR(0.7)


def test_a_nested_drawing_is_at_the_same_position_from_within() -> None:
    inner, box = Rect(10, 10, 800, 200), Rect(300, 40, 90, 60)
    inset, camera = placed_in(inner, box), Camera(2.5, -40, 12)
    within = camera.of_inner(inset)
    assert within.seen(inner).width == NEAR(camera.seen(inset.seen(inner)).width)
    a, b = inset.x + 10 * inset.scale, inset.y + 10 * inset.scale
    seen = camera.seen(Rect(a, b, 1, 1))
    assert (within.seen(inner).x, within.seen(inner).y) == NEAR((seen.x, seen.y))
    back = within.of_outer(inset)
    assert (back.scale, back.x, back.y) == NEAR((camera.scale, camera.x, camera.y))


def test_an_animation_begins_and_ends_at_its_cameras() -> None:
    one, other = Camera(0.5, 10, 20), Camera(4.0, -900, -300)
    for share, expected in ((0.0, one), (1.0, other)):
        found = one.towards(other, share, 640, 400)
        assert (found.scale, found.x, found.y) == NEAR((expected.scale, expected.x, expected.y))
    assert 0.5 < one.towards(other, 0.5, 640, 400).scale < 4.0
    same = one.towards(Camera(0.5, 30, 60), 0.5, 640, 400)
    assert (same.x, same.y) == NEAR((20, 40))
