"""Arrow keys along a flow."""

import pytest

from bertviewer.charts.graph.drawing import Drawing
from bertviewer.charts.graph.layout import draw
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
