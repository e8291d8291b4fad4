"""Arrow keys along a flow."""

from bertviewer.charts.flow.drawing import Drawing
from bertviewer.charts.flow.layout import draw
from bertviewer.charts.map.neighbours import first_node, neighbour
from tests.charts.flow import flows


def drawing() -> Drawing:
    return draw(flows.bert_layer(), lambda text, _style, size: 0.55 * size * len(text))


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
