"""What a role's formula says is multiplied and normalised, and what the same module's flow does.

Numbers of weights and of biases are sums, as a formula may show three matrices where the model
stores one. What a formula leaves to a closed part of it is left out of both.
"""

import re
from collections import Counter
from collections.abc import Iterator
from math import prod

from msgspec import Struct, field

from bertviewer.core.formulas.formula import LAYER_NORM, RMS_NORM, Formula
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Edge, Flow, Node

NORMS = {LAYER_NORM: "layer norm", RMS_NORM: "rms norm"}
_MULTIPLIED = ("linear", "embedding", "convolution")
_FEED_FORWARDS = ("feed-forward", "gated feed-forward")
_PASSED = ("rotary", "rms norm", "layer norm", "mul", "div", "add", "position bias")
_SHAPE = re.compile(r"\[([\d, ]+)\]")


class Closed(Struct, frozen=True):
    """What a role's formulas leave to parts that they only name."""

    projections: bool = False
    output: bool = False
    networks: bool = False
    head_norms: bool = False


CLOSED = {
    "linear": Closed(),
    "embedding": Closed(),
    "self-attention": Closed(),
    "attention block": Closed(projections=True),
    "add & norm": Closed(),
    "add": Closed(),
    "feed-forward sub-layer": Closed(networks=True),
    "feed-forward": Closed(),
    "feed-forward, first half": Closed(),
    "feed-forward, second half": Closed(),
    "layer": Closed(projections=True, output=True, head_norms=True),
    "pooler": Closed(),
    "head transform": Closed(),
}
"""Roles whose formulas tell their products, with what each leaves closed."""


class CallRecord(Struct, frozen=True):
    """How many numbers multiply and are added, and which norms there are, after a sum or not."""

    weights: int
    biases: int
    norms: Counter[tuple[str, bool]] = field(default_factory=Counter)


def said(formula: Formula) -> CallRecord:
    """Return what a formula says."""
    sizes = {"W": 0, "b": 0}
    for term in formula.terms:
        letter = term.symbol[:1]
        found = _SHAPE.fullmatch(term.value or "")
        if letter in sizes and found and "rel" not in term.symbol and "(" not in term.symbol[:2]:
            sizes[letter] += prod(int(size) for size in found[1].split(", "))
    lines = " ".join(formula.maths)
    return CallRecord(sizes["W"], sizes["b"], Counter(_norms_in(lines)))


def _norms_in(maths: str) -> Iterator[tuple[str, bool]]:
    """Yield each norm that is applied, and whether it is to a sum."""
    for symbol, name in NORMS.items():
        for found in re.finditer(re.escape(f"{symbol}("), maths):
            depth, is_sum, place = 1, False, found.end()
            while depth:
                letter = maths[place]
                depth += (letter == "(") - (letter == ")")
                is_sum |= depth == 1 and letter == "+"
                place += 1
            yield name, is_sum


def done(flow: Flow, architecture: Architecture, closed: Closed) -> CallRecord:
    """Return what a flow does, without what is closed."""
    apart = _apart(flow, closed)
    names = {name for node in _open(flow.nodes, apart) for name in _parameters(node)}
    sizes = {"weights": 0, "biases": 0}
    for tensor in architecture.parameters:
        is_table = tensor.name.endswith("relative_attention_bias.weight")
        if (
            tensor.name in names
            and tensor.trainable
            and not (is_table and flow.path != tensor.owner)
        ):
            sizes["biases" if tensor.name.endswith("bias") else "weights"] += tensor.numel
    norms = Counter(
        (str(node.operation), _is_after_sum(flow, node))
        for node in flow.nodes
        if node.operation in NORMS.values() and node.id not in apart
    )
    return CallRecord(**sizes, norms=norms)


def tells_all(flow: Flow, formula: Formula) -> bool:
    """Tell whether a flow is open down to its products, and a formula shows its matrices."""
    is_open = all(node.operation is not None for node in flow.nodes if node.kind == "module")
    return is_open and "Conv" not in " ".join(formula.maths)


def _is_after_sum(flow: Flow, norm: Node) -> bool:
    """Tell whether a norm is of a sum that nothing else reads: post-norm."""
    sums = {node.id for node in flow.nodes if node.operation in ("residual", "add")}
    sources = {edge.source for edge in _into(flow, norm)} & sums
    return any(
        edge.target == norm.id
        for source in sources
        for edge in flow.edges
        if sum(each.source == source for each in flow.edges) == 1 and edge.source == source
    )


def _open(nodes: tuple[Node, ...], apart: set[str]) -> Iterator[Node]:
    for node in nodes:
        if node.id not in apart:
            yield node
            yield from _open(node.nodes or (), apart)


def _parameters(node: Node) -> Iterator[str]:
    if node.kind == "parameter":
        yield node.path or ""
    if node.kind == "module" and node.operation in _MULTIPLIED:
        yield from (f"{node.path}.weight", f"{node.path}.bias")
    elif node.operation in _MULTIPLIED or node.details.get("projections"):
        operands = node.operands
        # What is multiplied may be a table of positions: the first operand of torch's linear.
        is_torchs = node.details.get("function", node.operation) == "linear"
        start = 1 if is_torchs else 0
        yield from (each.parameter for each in operands[start:])


def _apart(flow: Flow, closed: Closed) -> set[str]:
    """Return the nodes that are left to closed parts."""
    by_id = {node.id: node for node in flow.nodes}
    apart: set[str] = set()
    for node in flow.nodes:
        if node.operation in _FEED_FORWARDS and closed.networks:
            apart.add(node.id)
        if node.operation != "attention":
            continue
        if closed.projections and node.details.get("projections"):
            apart.add(node.id)
        for edge in _into(flow, node):
            if edge.role in ("query", "key", "value", "bias"):
                apart |= set(_before(flow, by_id, edge.source, closed))
        after = [edge.target for edge in flow.edges if edge.source == node.id]
        if closed.output:
            apart |= {each for each in after if by_id[each].operation == "linear"}
    return apart


def _before(flow: Flow, by_id: dict[str, Node], start: str, closed: Closed) -> Iterator[str]:
    """Yield what makes queries, keys or values, as far as it is closed."""
    node = by_id[start]
    if node.operation == "linear" or node.kind == "parameter":
        if closed.projections:
            yield start
        return
    if node.operation in NORMS.values() and closed.head_norms:
        yield start
    if node.operation in _PASSED:
        for edge in _into(flow, node):
            if edge.role != "position":
                yield from _before(flow, by_id, edge.source, closed)


def _into(flow: Flow, node: Node) -> list[Edge]:
    return [edge for edge in flow.edges if edge.target == node.id]
