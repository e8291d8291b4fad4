"""Colours, SVG and Graphviz source of drawings."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.charts.graph.dot import dot_of
from bertviewer.charts.graph.draw_items import MAX_STRENGTH, DrawItem, NodeColor, draw_items
from bertviewer.charts.graph.drawing import Label
from bertviewer.charts.graph.layout import draw
from bertviewer.charts.graph.svg import svg_of
from bertviewer.charts.theme import DARK, GREY, LIGHT, PAPER, Theme, mixed
from bertviewer.core.schema.flow import Edge, Flow, Node
from tests.charts.colors import contrast
from tests.charts.graph import made_flows as made
from tests.charts.graph.checks import measure
from tests.charts.graph.real_flows import REAL, real_flow

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '</text><script>alert("1")</script>&amp;\x00\x1b[31m\ud800\u202e]]>'
NAMES = pytest.mark.parametrize("name", REAL)


def behind(label: Label, mark: DrawItem, theme: Theme) -> str:
    """Return the colour of the last shape of a mark that a text's point is in the bounds of."""
    found = theme.surface
    for shape in mark.shapes:
        xs, ys = ([point[axis] for point in shape.points] for axis in (0, 1))
        if shape.fill and min(xs) <= label.x <= max(xs) and min(ys) <= label.y <= max(ys):
            found = shape.fill
    return found


@NAMES
def test_texts_are_legible_in_all_themes(name: str) -> None:
    drawing = draw(real_flow(*REAL[name]), measure)
    for theme in (LIGHT, DARK, PAPER, GREY):
        for mark in draw_items(drawing, theme):
            for text in mark.texts:
                ground = behind(text.label, mark, theme)
                assert contrast(text.color, ground) >= 4.5, (text.label.text, text.color, ground)


def hue_of(fill: str, theme: Theme) -> float:
    """Return how far a colour is from the surface, 0 for the surface itself."""
    pairs = zip(bytes.fromhex(fill[1:]), bytes.fromhex(theme.surface[1:]), strict=True)
    return max(abs(a - b) for a, b in pairs)


@NAMES
def test_a_coloured_node_has_the_colour_of_its_value_only(name: str) -> None:
    drawing = draw(real_flow(*REAL[name]), measure)
    for theme in (LIGHT, DARK):
        tints = {placed.node.id: NodeColor(theme.accent, MAX_STRENGTH) for placed in drawing.nodes}
        tone = mixed(theme.accent, theme.surface, MAX_STRENGTH)
        for mark in draw_items(drawing, theme, tints):
            fills = {shape.fill for shape in mark.shapes if mark.kind == "node" and shape.fill}
            # GELU between two layers and the pattern of the heads are not coloured.
            assert fills - {tone, theme.flow, theme.surface, theme.line} == set()
            others = fills - {theme.flow}
            assert all(hue_of(fill, theme) <= hue_of(tone, theme) for fill in others)


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


@NAMES
def test_an_svg_has_all_nodes_edges_and_texts(name: str) -> None:
    drawing = draw(real_flow(*REAL[name]), measure)
    root = parsed(svg_of(drawing))
    assert float(root.get("width", 0)) == drawing.width
    labels = {label.text for placed in drawing.nodes for label in placed.labels}
    assert labels <= set(written(root))
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
def test_any_name_is_valid_xml(name: str) -> None:
    parsed(svg_of(draw(named(name), measure)))


def test_tooltips_have_shapes_and_views() -> None:
    edge = Edge("a", "b", (1, 8, 768), ("1", "S", "D"), "query", ("view", "transpose"))
    both = (made.linear("a"), made.attention("b"))
    root = parsed(svg_of(draw(Flow("", "X", both, (edge,)), measure)))
    tips = [each.text or "" for each in root.iter(f"{SVG}title")]
    assert "query\n[1, 8, 768] = [1, S, D]\nview, transpose" in tips
    assert "a\nLinear\nlinear\n[1, 8, 768]\n4,718,592 multiply-adds" in tips


def test_masks_are_dashed_and_the_residual_is_thick() -> None:
    root = parsed(svg_of(draw(made.bert_layer(), measure)))
    ways = {
        each.get("data-id"): next(each.iter(f"{SVG}path"))
        for each in root.iter(f"{SVG}g")
        if each.get("class") == "edge"
    }
    assert ways["mask attention"].get("stroke-dasharray")
    thick, thin = ways["in +1"], ways["attention attention.output.dense"]
    assert float(thick.get("stroke-width", 0)) > float(thin.get("stroke-width", 0))


def test_themes_differ_in_colours_only() -> None:
    drawing = draw(made.bert_layer(), measure)
    light, dark = (parsed(svg_of(drawing, theme)) for theme in (LIGHT, DARK))
    for one, other in zip(light.iter(), dark.iter(), strict=True):
        assert one.tag == other.tag
        assert one.get("d") == other.get("d")
    assert light[1].get("fill") == LIGHT.surface
    assert dark[1].get("fill") == DARK.surface


def test_groups_are_clusters_in_graphviz() -> None:
    flow = made.bert_layer()
    text = dot_of(flow)
    assert text.startswith('digraph "encoder.layer.0 BertLayer" {')
    assert 'subgraph "cluster ffn" {' in text
    assert text.count("{") == text.count("}")
    inside = sum(len(node.edges) for node in flow.nodes)
    assert text.count("->") == len(flow.edges) + inside
    # Edges into a group end at its first operation, edges out of it begin at its last.
    norm, label = '"attention.output.LayerNorm"', 'label="[1, 8, 768]"'
    assert f'{norm} -> "intermediate.dense" [{label}, lhead="cluster ffn"];' in text
    assert f'"output.dense" -> "+2" [{label}, ltail="cluster ffn"];' in text
    assert '"ffn bend" -> "output.dense"' in text
    assert '"mask" -> "attention" [label="mask [1, 8, 768]", style=dashed];' in text
    assert "penwidth=3" in text


def test_names_are_escaped_in_graphviz() -> None:
    hostile = 'a"]; evil [label="\\\n\x00'
    nodes = (Node(hostile, "module", hostile), Node("b", "output", "b"))
    text = dot_of(Flow(hostile, "X", nodes, (Edge(hostile, "b"),)))
    name = '"a\\"]; evil [label=\\"\\\\\\n\\\\x00"'
    assert f"  {name} [label={name}, shape=box];" in text
    assert f'  {name} -> "b" [label=""];' in text


def test_repeated_layers_have_their_number_in_graphviz() -> None:
    assert 'label="layer 0 ×2\\nBertLayer\\n[1, 16, 24]"' in dot_of(real_flow("bert"))
