"""Flows of any make, drawn from a seed."""

import random
from collections.abc import Callable

from bertviewer.core.schema.flow import Edge, Flow, Node
from tests.charts.graph import nodes


class Builder:
    """Makes random flows of parts one after another, side by side, and passed by."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []

    def flow(self, depth: int) -> Flow:
        first = self.add(nodes.node("in", "input"))
        last = self.part([first], depth)
        out = self.add(nodes.node("out", "output"))
        self.join(last, out)
        if self.random.random() < 0.5:
            self.hang("mask", "constant")
        if self.random.random() < 0.3:
            self.hang("table", "parameter")
        if self.random.random() < 0.3:
            inner = [each.id for each in self.nodes[1:] if each.id not in (out, "mask", "table")]
            second = self.add(nodes.node("second", "input", name="encoder hidden states"))
            self.join([second], self.random.choice([*inner, out]))
        return Flow("some.path", "Some", tuple(self.nodes), tuple(self.edges))

    def add(self, node: Node) -> str:
        self.nodes.append(node)
        return node.id

    def join(self, ends: list[str], target: str, role: str | None = None) -> None:
        for end in ends:
            if end != target:
                self.edges.append(Edge(end, target, role=role))

    def hang(self, name: str, kind: str) -> None:
        inner = [each for each in self.nodes if each.kind in ("module", "group", "operation")]
        if inner:
            made = self.add(nodes.node(name, "constant" if kind == "constant" else "parameter"))
            for target in self.random.sample(inner, min(len(inner), self.random.randint(1, 3))):
                self.join([made], target.id, "mask")

    def one(self, ends: list[str]) -> list[str]:
        number = len(self.nodes)
        kind = self.random.choice(("linear", "norm", "attention", "module", "pill", "ffn"))
        key = f"{kind}{number}"
        makers: dict[str, Callable[[], Node]] = {
            "linear": lambda: nodes.linear(key),
            "norm": lambda: nodes.norm(key),
            "attention": lambda: nodes.attention(key, self.random.choice((1, 4, 12, 40, 300))),
            "module": lambda: nodes.node(key, path=f"a.{key}", class_name="Any"),
            "pill": lambda: nodes.node(key, "operation", "softmax"),
            "ffn": lambda: nodes.feed_forward(key, f"{key}.up", f"{key}.down", "GELU"),
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
        self.add(nodes.plus(key))
        self.join(lanes, key)
        if shape == "residual":
            self.join(ends, key, "residual")
        return [key]
