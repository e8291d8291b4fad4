"""SVG: valid for any name, whole by itself, with tips."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.charts.graph.layout import draw
from bertviewer.charts.graph.svg import svg_of
from bertviewer.charts.theme import DARK, LIGHT
from bertviewer.core.schema.flow import Edge, Flow, Node
from tests.charts.graph import blocks, flows, nodes
from tests.charts.graph.checks import measure

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '</text><script>alert("1")</script>&amp;\x00\x1b[31m\ud800\u202e]]>'


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg.encode())


def named(name: str) -> Flow:
    nodes = (
        Node(f"{name}1", "input", name),
        Node(f"{name}2", "module", name, path=name, class_name=name, shape=(1, 2)),
        Node(f"{name}3", "constant", name),
        Node(f"{name}4", "output", name),
    )
    edges = (
        Edge(f"{name}1", f"{name}2", (1, 2), (name,), views=(name,)),
        Edge(f"{name}3", f"{name}2", role="mask"),
        Edge(f"{name}2", f"{name}4"),
    )
    return Flow(name, name, nodes, edges)


def written(root: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize("name", flows.ALL)
def test_it_is_whole(name: str, theme: object) -> None:
    del theme
    flow = flows.ALL[name]
    drawing = draw(flow, measure)
    root = parsed(svg_of(drawing))
    assert float(root.get("width", 0)) == drawing.width
    texts = written(root)
    for placed in drawing.nodes:
        for label in placed.labels:
            assert label.text in texts
    groups = [each.get("class") for each in root.iter(f"{SVG}g")]
    assert groups.count("node") == len(drawing.nodes)
    assert groups.count("edge") == len(drawing.lines)


def test_hostile_names_are_text() -> None:
    root = parsed(svg_of(draw(named(HOSTILE), measure)))
    assert not list(root.iter(f"{SVG}script"))
    assert {each.tag for each in root.iter()} == {
        f"{SVG}{tag}" for tag in ("svg", "g", "title", "rect", "path", "text")
    }
    assert any("<script>" in text for text in written(root))


@given(st.text())
def test_any_name_is_valid(name: str) -> None:
    parsed(svg_of(draw(named(name), measure)))


def test_tips_tell_shapes_and_movement() -> None:
    edge = Edge("a", "b", (1, 8, 768), ("1", "S", "D"), "query", ("view", "transpose"))
    both = (nodes.linear("a"), nodes.attention("b"))
    root = parsed(svg_of(draw(Flow("", "X", both, (edge,)), measure)))
    tips = [each.text or "" for each in root.iter(f"{SVG}title")]
    assert "query\n[1, 8, 768] = [1, S, D]\nview, transpose" in tips
    assert "a\nLinear\nlinear\n[1, 8, 768]\n4,718,592 multiply-adds" in tips


def test_masks_are_dashed_and_the_residual_is_thick() -> None:
    root = parsed(svg_of(draw(blocks.bert_layer(), measure)))
    ways = {
        each.get("data-id"): next(each.iter(f"{SVG}path"))
        for each in root.iter(f"{SVG}g")
        if each.get("class") == "edge"
    }
    assert ways["mask attention"].get("stroke-dasharray")
    thick, thin = ways["in +1"], ways["attention attention.output.dense"]
    assert float(thick.get("stroke-width", 0)) > float(thin.get("stroke-width", 0))


def test_themes_differ_in_colours_alone() -> None:
    drawing = draw(blocks.llama_layer(), measure)
    light, dark = (parsed(svg_of(drawing, theme)) for theme in (LIGHT, DARK))
    for one, other in zip(light.iter(), dark.iter(), strict=True):
        assert one.tag == other.tag
        assert one.get("d") == other.get("d")
    assert light[1].get("fill") == LIGHT.surface
    assert dark[1].get("fill") == DARK.surface
