"""Keyboard navigation between nodes, and the camera."""

import pytest

from bertviewer.charts.graph.drawing import Drawing, Rect
from bertviewer.charts.graph.layout import draw
from bertviewer.charts.map.camera import Camera, fitted, placed_in
from bertviewer.charts.map.neighbours import Direction, first_node, last_node, neighbour
from tests.charts.graph import blocks
from tests.charts.graph.checks import measure
from tests.core.walkthrough.small_walkthroughs import small

WAYS: tuple[Direction, ...] = ("left", "right", "up", "down")


def drawing() -> Drawing:
    return draw(blocks.bert_layer(), measure)


def test_to_the_right_and_back_again_along_edges() -> None:
    drawn = drawing()
    first = first_node(drawn)
    assert first is not None
    assert first.form == "input"
    keys = {(line.edge.source, line.edge.target) for line in drawn.lines}
    here = first
    for _ in range(20):
        there = neighbour(drawn, here.node.id, "right")
        if there is None:
            break
        assert (here.node.id, there.node.id) in keys
        assert there.rect.x > here.rect.x
        here = there
    assert here.form == "output"
    back = neighbour(drawn, here.node.id, "left")
    assert back is not None
    assert (back.node.id, here.node.id) in keys


def test_upwards_and_downwards_between_branches() -> None:
    drawn = drawing()
    query = next(placed for placed in drawn.nodes if placed.node.id.endswith("query"))
    below = neighbour(drawn, query.node.id, "down")
    assert below is not None
    assert below.node.id.endswith("key")
    again = neighbour(drawn, below.node.id, "up")
    assert again is query


def test_an_unknown_node_leads_nowhere() -> None:
    assert neighbour(drawing(), "no such", "right") is None


def test_it_begins_at_an_input_and_ends_at_the_first_output() -> None:
    drawn = drawing()
    ends = first_node(drawn), last_node(drawn)
    assert [end.form for end in ends if end is not None] == ["input", "output"]


@pytest.mark.parametrize("family", ["bert", "t5", "llama", "mixtral", "clip", "swin", "mamba"])
def test_every_node_is_reached(family: str) -> None:
    flows_of = small(family).flows
    assert flows_of is not None
    for flow in flows_of.distinct.values():
        drawn = draw(flow, measure)
        first = first_node(drawn)
        if first is None:
            continue
        reached = [first.node.id]
        for key in reached:
            near = (neighbour(drawn, key, way) for way in WAYS)
            reached += [n.node.id for n in near if n is not None and n.node.id not in reached]
        assert set(reached) == {placed.node.id for placed in drawn.nodes}, flow.path


NEAR = pytest.approx


def test_what_is_fitted_is_all_in_the_window_and_in_its_middle() -> None:
    rect = Rect(-50, 20, 1000, 400)
    seen = fitted(rect, 500, 400).seen(rect)
    assert (seen.x, seen.right) == NEAR((0, 500))
    assert seen.y + seen.height / 2 == NEAR(200)
    small = fitted(Rect(0, 0, 10, 10), 500, 400, most=1.5)
    assert small.scale == 1.5


def test_zooming_keeps_what_is_below_the_pointer() -> None:
    camera = Camera(0.7, 13, -8)
    before = camera.drawn(120, 80)
    assert camera.zoomed(1.6, 120, 80).drawn(120, 80) == NEAR(before)
    assert camera.zoomed(1.6, 120, 80).zoomed(1 / 1.6, 120, 80).scale == NEAR(0.7)


def test_a_drawing_in_a_box_is_seen_in_the_same_place_from_within() -> None:
    inner, box = Rect(10, 10, 800, 200), Rect(300, 40, 90, 60)
    inset, camera = placed_in(inner, box), Camera(2.5, -40, 12)
    within = camera.of_inner(inset)
    assert within.seen(inner).width == NEAR(camera.seen(inset.seen(inner)).width)
    a, b = inset.x + 10 * inset.scale, inset.y + 10 * inset.scale
    seen = camera.seen(Rect(a, b, 1, 1))
    assert (within.seen(inner).x, within.seen(inner).y) == NEAR((seen.x, seen.y))
    back = within.of_outer(inset)
    assert (back.scale, back.x, back.y) == NEAR((camera.scale, camera.x, camera.y))


def test_the_way_from_one_sight_to_another_begins_and_ends_there() -> None:
    one, other = Camera(0.5, 10, 20), Camera(4.0, -900, -300)
    for share, wanted in ((0.0, one), (1.0, other)):
        found = one.towards(other, share, 640, 400)
        assert (found.scale, found.x, found.y) == NEAR((wanted.scale, wanted.x, wanted.y))
    half = one.towards(other, 0.5, 640, 400)
    assert 0.5 < half.scale < 4.0
    same = one.towards(Camera(0.5, 30, 60), 0.5, 640, 400)
    assert (same.x, same.y) == NEAR((20, 40))
