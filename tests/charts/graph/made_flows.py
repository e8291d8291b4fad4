"""Nodes, edges and flows written by hand, without torch."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from bertviewer.core.schema.flow import Edge, Flow, Node, NodeKind

D, INNER, HEADS, LENGTH = 768, 3072, 12, 8
HIDDEN = (1, LENGTH, D)


def node(key: str, kind: NodeKind = "module", operation: str | None = None, **more: Any) -> Node:
    """Return a node; a module is named by the end of its path."""
    more.setdefault("name", (more.get("path") or key).rpartition(".")[2].replace("_", " "))
    if kind == "module":
        more["name"] = (more.get("path") or key).rpartition(".")[2]
    more.setdefault("shape", HIDDEN)
    return Node(key, kind, operation=operation, **more)


def linear(key: str, inputs: int = D, outputs: int = D) -> Node:
    return node(
        key,
        operation="linear",
        path=key,
        class_name="Linear",
        macs=LENGTH * inputs * outputs,
        details={"in_features": inputs, "out_features": outputs},
    )


def norm(key: str, operation: str = "layer norm") -> Node:
    return node(key, operation=operation, path=key, class_name="LayerNorm")


def attention(key: str = "attention", heads: int = HEADS, **details: Any) -> Node:
    return node(
        key,
        "group",
        "attention",
        details={"heads": heads, "head_size": D // HEADS, **details},
        macs=2 * LENGTH * LENGTH * D,
    )


def feed_forward(key: str, up: str, down: str, activation: str, inner: int = INNER) -> Node:
    nodes = (
        linear(up, D, inner),
        node(f"{key} bend", "operation", "activation", name=activation),
        linear(down, inner, D),
    )
    edges = (Edge(up, f"{key} bend"), Edge(f"{key} bend", down))
    return Node(
        key, "group", "feed-forward", operation="feed-forward", shape=HIDDEN, nodes=nodes,
        edges=edges, details={"activation": activation},
    )  # fmt: skip


def plus(key: str) -> Node:
    return node(key, "operation", "residual", name="add")


def ends(name: str = "hidden states") -> tuple[Node, Node]:
    return node("in", "input", name=name), node("out", "output", name="hidden states")


def edges(*paths: str | tuple[str, str]) -> tuple[Edge, ...]:
    """Return the edges of paths ``a > b > c``, or of paths and their role."""
    found = []
    for path in paths:
        text, role = (path, None) if isinstance(path, str) else path
        names = [name.strip() for name in text.split(">")]
        found += [Edge(one, other, HIDDEN, ("1", "S", "D"), role) for one, other in pairwise(names)]
    return tuple(found)


def flow(path: str, name: str, nodes: Iterable[Node], edges: Sequence[Edge]) -> Flow:
    return Flow(path, name, tuple(nodes), tuple(edges))


def bert_layer(heads: int = HEADS) -> Flow:
    first, last = ends()
    nodes = (
        first,
        *(linear(f"attention.self.{name}") for name in ("query", "key", "value")),
        node("mask", "constant", "mask"),
        attention(heads=heads),
        linear("attention.output.dense"),
        plus("+1"),
        norm("attention.output.LayerNorm"),
        feed_forward("ffn", "intermediate.dense", "output.dense", "GELU"),
        plus("+2"),
        norm("output.LayerNorm"),
        last,
    )
    return flow(
        "encoder.layer.0",
        "BertLayer",
        nodes,
        edges(
            "in > attention.self.query",
            "in > attention.self.key",
            "in > attention.self.value",
            ("attention.self.query > attention", "query"),
            ("attention.self.key > attention", "key"),
            ("attention.self.value > attention", "value"),
            ("mask > attention", "mask"),
            "attention > attention.output.dense > +1",
            ("in > +1", "residual"),
            "+1 > attention.output.LayerNorm > ffn > +2",
            ("attention.output.LayerNorm > +2", "residual"),
            "+2 > output.LayerNorm > out",
        ),
    )
