"""Layout of graphs: invariants of every drawing, and the look of well-known layers."""

import random
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QColor, QImage, QPainter

from bertviewer.charts.graph.drawing import Drawing, DrawnNode
from bertviewer.charts.graph.layout import draw
from bertviewer.charts.theme import DARK, LIGHT, Theme
from bertviewer.core.schema.flow import Edge, Flow, Node
from bertviewer.plots.graph_painting import paint, text_width
from tests.charts.graph import made_flows as made
from tests.charts.graph.checks import check, measure
from tests.charts.graph.real_flows import REAL, real_flow
from tests.plots.looking import sheet

NAMES = pytest.mark.parametrize("name", REAL)


def at(drawing: Drawing, key: str) -> DrawnNode:
    return next(each for each in drawing.nodes if each.node.id == key)


def texts_of(drawing: Drawing) -> list[str]:
    return [label.text for placed in drawing.nodes for label in placed.labels]


class Builder:
    """Builds random flows of parts in series, in parallel, and with residual connections."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []

    def flow(self, depth: int) -> Flow:
        first = self.add(made.node("in", "input"))
        last = self.part([first], depth)
        out = self.add(made.node("out", "output"))
        self.join(last, out)
        if self.random.random() < 0.5:
            self.add_side_node("mask", "constant")
        if self.random.random() < 0.3:
            self.add_side_node("table", "parameter")
        if self.random.random() < 0.3:
            inner = [each.id for each in self.nodes[1:] if each.id not in (out, "mask", "table")]
            second = self.add(made.node("second", "input", name="encoder hidden states"))
            self.join([second], self.random.choice([*inner, out]))
        return Flow("some.path", "Some", tuple(self.nodes), tuple(self.edges))

    def add(self, node: Node) -> str:
        self.nodes.append(node)
        return node.id

    def join(self, ends: list[str], target: str, role: str | None = None) -> None:
        for end in ends:
            if end != target:
                self.edges.append(Edge(end, target, role=role))

    def add_side_node(self, name: str, kind: str) -> None:
        inner = [each for each in self.nodes if each.kind in ("module", "group", "operation")]
        if inner:
            side = self.add(made.node(name, "constant" if kind == "constant" else "parameter"))
            for target in self.random.sample(inner, min(len(inner), self.random.randint(1, 3))):
                self.join([side], target.id, "mask")

    def one(self, ends: list[str]) -> list[str]:
        number = len(self.nodes)
        kind = self.random.choice(("linear", "norm", "attention", "module", "pill", "ffn"))
        key = f"{kind}{number}"
        makers: dict[str, Callable[[], Node]] = {
            "linear": lambda: made.linear(key),
            "norm": lambda: made.norm(key),
            "attention": lambda: made.attention(key, self.random.choice((1, 4, 12, 40, 300))),
            "module": lambda: made.node(key, path=f"a.{key}", class_name="Any"),
            "pill": lambda: made.node(key, "operation", "softmax"),
            "ffn": lambda: made.feed_forward(key, f"{key}.up", f"{key}.down", "GELU"),
        }
        self.join(ends, self.add(makers[kind]()))
        return [key]

    def part(self, ends: list[str], depth: int) -> list[str]:
        shape = self.random.choice(("one", "series", "parallel", "residual", "crossed"))
        if depth <= 0 or shape == "one":
            return self.one(ends)
        if shape == "series":
            for _ in range(self.random.randint(2, 4)):
                ends = self.part(ends, depth - 1)
            return ends
        lanes = [
            end for _ in range(self.random.randint(2, 3)) for end in self.part(ends, depth - 1)
        ]
        if shape == "crossed":
            lanes = [end for _ in range(2) for end in self.one(lanes)]
        key = f"+{len(self.nodes)}"
        self.add(made.plus(key))
        self.join(lanes, key)
        if shape == "residual":
            self.join(ends, key, "residual")
        return [key]


@given(st.integers(0, 2**32), st.integers(0, 4))
def test_drawings_of_random_flows_are_clear(seed: int, depth: int) -> None:
    flow = Builder(seed).flow(depth)
    check(draw(flow, measure), flow)


@NAMES
def test_drawings_of_real_flows_are_clear_on_any_canvas(name: str) -> None:
    flow = real_flow(*REAL[name])
    assert draw(flow, measure) == draw(flow, measure)
    for canvas in (300.0, 700.0, 1480.0, 5000.0):
        check(draw(flow, measure, canvas=canvas), flow)
    full, brief = (draw(flow, measure, None, 4000, is_brief=each) for each in (False, True))
    check(brief, flow)
    # A brief drawing has larger texts in the same room, and no sizes.
    small, large = (min(b.size for n in d.nodes for b in n.labels) for d in (full, brief))
    assert large / brief.width > small / full.width
    assert large / brief.height > small / full.height
    sizes = [text for text in texts_of(brief) if re.search(r"\d×|→", text)]
    assert not sizes


@pytest.mark.usefixtures("qapp")
def test_drawings_of_real_flows(image: Callable[[str, Any], None]) -> None:
    def painted(name: str, *, theme: Theme = LIGHT, **options: Any) -> QImage:
        drawing, scale = draw(real_flow(*REAL[name]), text_width, **options), 0.58
        width, height = round(drawing.width * scale), round(drawing.height * scale)
        picture = QImage(width, height, QImage.Format.Format_RGB32)
        picture.fill(QColor(theme.surface))
        painter = QPainter(picture)
        painter.scale(scale, scale)
        paint(drawing, painter, theme)
        painter.end()
        return picture

    one_column = partial(sheet, columns=1)
    image("layers", one_column(*map(painted, ("bert layer", "gpt2 block", "llama layer"))))
    image("other layers", one_column(*map(painted, ("mixtral layer", "t5 decoder block"))))
    image("relative positions", painted("deberta attention"))
    brief = painted("bert layer", is_brief=True, theme=DARK)
    image("models", one_column(*map(painted, ("bert", "t5")), brief))


@pytest.mark.parametrize("name", ["bert layer", "gpt2 block", "llama layer", "t5 decoder block"])
def test_the_residual_is_one_level_line(name: str) -> None:
    flow = real_flow(*REAL[name])
    drawing = draw(flow, measure, canvas=5000)
    thick = [line for line in drawing.lines if line.weight == "residual"]
    assert {point[1] for line in thick for point in line.points} == {thick[0].points[0][1]}
    # From the input to the output without a gap.
    ends = [each for each in drawing.nodes if each.form in ("input", "output")]
    assert min(x for line in thick for x, _ in line.points) == ends[0].rect.right
    assert max(x for line in thick for x, _ in line.points) == ends[-1].rect.right
    for edge in flow.edges:
        if edge.role == "residual":
            assert any(line.edge is edge for line in thick)


def test_queries_keys_and_values_have_three_ends_in_this_order() -> None:
    for path in ("bert layer", "gpt2 block"):  # three layers, and a fused one
        drawing = draw(real_flow(*REAL[path]), measure)
        heights = {
            line.edge.role: line.points[-1][1]
            for line in drawing.lines
            if line.edge.role in ("query", "key", "value")
        }
        ordered = [heights[role] for role in ("query", "key", "value")]
        assert ordered == sorted(set(ordered))


@pytest.mark.parametrize("heads", [1, 2, 7, 12, 40, 128, 1000])
def test_tiles_of_heads_stay_small_and_inside(heads: int) -> None:
    placed = at(draw(made.bert_layer(heads), measure), "attention")
    assert len(placed.tiles) == min(heads, 160)
    assert placed.rect.width < 220
    assert placed.rect.height < 160
    for tile in placed.tiles:
        assert placed.rect.x < tile.x
        assert tile.right < placed.rect.right
        assert placed.rect.y < tile.y
        assert tile.bottom < placed.rect.bottom
        assert tile.width > 4


def test_a_hundred_different_layers_take_rows() -> None:
    first, last = made.ends()
    names = [f"layers.{number}" for number in range(100)]
    layers = [made.node(name, path=name, class_name="DifferentLayer") for name in names]
    path = " > ".join(["in", *names, "out"])
    flow = Flow("", "DeepModel", (first, *layers, last), made.edges(path))
    drawing = draw(flow, measure)
    check(drawing, flow)
    assert drawing.width <= 1480
    assert len({each.rect.y for each in drawing.nodes if each.form == "box"}) > 5


def test_too_many_operations_and_cycles_are_listed() -> None:
    names = [f"step{number}" for number in range(40)]
    steps = [made.node(name, "operation", "exp") for name in names]
    flow = made.flow("mixer", "Mixer", steps, made.edges(" > ".join(names)))
    drawing = draw(flow, measure)
    check(drawing, flow)
    texts = texts_of(drawing)
    assert texts[0].split() == ["0", "step0", "[1×8×768]"]
    assert texts[39].split() == ["39", "step39(38)", "[1×8×768]"]
    both = [made.node("a", path="a"), made.node("b", path="b")]
    circle = made.flow("odd", "Odd", both, made.edges("a > b > a"))
    check(draw(circle, measure), circle)


def test_titles() -> None:
    def title(flow: Flow, parameters: int) -> list[str]:
        return [label.text for label in draw(flow, measure, parameters=parameters).title]

    assert title(Flow("x", "Nothing", (), ()), 1) == ["x", "Nothing · 1 parameter"]
    layer = made.bert_layer()
    facts = "BertLayer · 7,087,872 parameters · [1×8×768] → [1×8×768]"
    assert title(layer, 7_087_872) == ["encoder.layer.0", facts]
    path = "first." + "middle." * 60 + "last"
    drawing = draw(Flow(path, layer.class_name, layer.nodes, layer.edges), measure)
    name, end = drawing.title
    assert name.text.startswith("first.")
    assert name.text.endswith("last")
    assert "…" in name.text
    assert end.x + measure(end.text, end.style, end.size) <= drawing.width


def test_further_outputs_are_below_the_main_path() -> None:
    flow = made.bert_layer()
    cache = made.node("present", "output", name="present key")
    edges = (*flow.edges, Edge("attention.self.key", "present"))
    flow = Flow(flow.path, flow.class_name, (*flow.nodes, cache), edges)
    drawing = draw(flow, measure)
    check(drawing, flow)
    assert at(drawing, "present").form == "exit"
    assert at(drawing, "present").rect.y > at(drawing, "attention.self.key").rect.bottom
