"""Nodes and edges of flows that are made up."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from bertviewer.core.schema.flow import Edge, Flow, Node, NodeKind

D, INNER, HEADS, LENGTH = 768, 3072, 12, 8
HIDDEN = (1, LENGTH, D)


def node(key: str, kind: NodeKind = "module", operation: str | None = None, **more: Any) -> Node:
    """Return a node; one of torch's layers is called by the end of its path."""
    more.setdefault("name", (more.get("path") or key).rpartition(".")[2].replace("_", " "))
    if kind == "module":
        more["name"] = (more.get("path") or key).rpartition(".")[2]
    more.setdefault("shape", HIDDEN)
    return Node(key, kind, operation=operation, **more)


def linear(key: str, taken: int = D, given: int = D) -> Node:
    return node(
        key,
        operation="linear",
        path=key,
        class_name="Linear",
        macs=LENGTH * taken * given,
        details={"in_features": taken, "out_features": given},
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


def gated(key: str, inner: int = INNER) -> Node:
    nodes = (
        linear("mlp.up_proj", D, inner),
        linear("mlp.gate_proj", D, inner),
        node("bend", "operation", "activation", name="SiLU"),
        node("times", "operation", "mul", name="mul"),
        linear("mlp.down_proj", inner, D),
    )
    edges = (
        Edge("mlp.gate_proj", "bend"),
        Edge("bend", "times"),
        Edge("mlp.up_proj", "times"),
        Edge("times", "mlp.down_proj"),
    )
    return Node(
        key, "group", "gated feed-forward", operation="gated feed-forward", shape=HIDDEN,
        nodes=nodes, edges=edges, details={"activation": "SiLU"},
    )  # fmt: skip


def plus(key: str) -> Node:
    return node(key, "operation", "residual", name="add")


def ends(name: str = "hidden states") -> tuple[Node, Node]:
    return node("in", "input", name=name), node("out", "output", name="hidden states")


def edges(*ways: str | tuple[str, str]) -> tuple[Edge, ...]:
    """Return edges of ways as ``a > b > c``; a role stands beside the way."""
    found = []
    for way in ways:
        text, role = (way, None) if isinstance(way, str) else way
        names = [name.strip() for name in text.split(">")]
        found += [Edge(one, other, HIDDEN, ("1", "S", "D"), role) for one, other in pairwise(names)]
    return tuple(found)


def flow(path: str, name: str, nodes: Iterable[Node], ways: Sequence[Edge]) -> Flow:
    return Flow(path, name, tuple(nodes), tuple(ways))
