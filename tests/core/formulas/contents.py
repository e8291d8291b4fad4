"""What a formula and a flow multiply, add and normalise, to compare the two.

Weights and biases are numbers of elements, as a formula may show three matrices where the model
stores one. What a formula leaves to a submodule that it only names is omitted from both.
"""

import re
from collections import Counter
from collections.abc import Iterator
from math import prod

from msgspec import Struct, field
from msgspec.structs import replace

from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import LAYER_NORM, RMS_NORM, Formula
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Edge, Flow, Node
from bertviewer.core.schema.modules import ModuleNode

NORMS = {LAYER_NORM: "layer norm", RMS_NORM: "rms norm"}
_MULTIPLIED = ("linear", "embedding", "convolution")
_FEED_FORWARDS = ("feed-forward", "gated feed-forward")
_BEFORE_SCORES = ("rotary", "rms norm", "layer norm", "mul", "div", "add", "position bias")
_SHAPE = re.compile(r"\[([\d, ]+)\]")


class Omitted(Struct, frozen=True):
    """What the formulas of a role leave to submodules."""

    projections: bool = False
    output: bool = False
    networks: bool = False
    head_norms: bool = False


OMITTED = {
    **dict.fromkeys(
        (
            *("linear", "embedding", "self-attention", "add & norm", "add", "feed-forward"),
            *("feed-forward, first half", "feed-forward, second half", "pooler", "head transform"),
        ),
        Omitted(),
    ),
    "attention block": Omitted(projections=True),
    "feed-forward sub-layer": Omitted(networks=True),
    "layer": Omitted(projections=True, output=True, head_norms=True),
}
"""The roles whose formulas show their products."""


class Contents(Struct, frozen=True):
    """Elements of weights and biases, and norms: their kind, and whether they are of a sum."""

    weights: int
    biases: int
    norms: Counter[tuple[str, bool]] = field(default_factory=Counter)


class Pair(Struct, frozen=True):
    """A module with a role, its formula and its flow."""

    node: ModuleNode
    formula: Formula
    flow: Flow
    omitted: Omitted

    @property
    def is_comparable(self) -> bool:
        """Whether the flow has no closed modules, and the formula shows matrices."""
        nodes = self.flow.nodes
        is_open = all(node.operation is not None for node in nodes if node.kind == "module")
        return is_open and "Conv" not in " ".join(self.formula.maths)


def pairs_in(architecture: Architecture) -> list[Pair]:
    """Return the modules with a flow and a role whose formulas show their products."""
    assert architecture.flows is not None
    found = []
    for node in architecture.modules:
        flow, omitted = architecture.flows.flow(node.path), OMITTED.get(node.role)
        formula = formula_of(node, architecture)
        if node.formula_from == "role" and formula and flow and omitted:
            # Formulas of T5's blocks name the network and the output.
            symbols = {term.symbol for term in formula.terms}
            is_block = node.role in ("attention block", "feed-forward sub-layer")
            output = omitted.output or (is_block and not symbols & {"W_O", "W_1", "W_U"})
            networks = omitted.networks and output
            omitted = replace(omitted, output=output, networks=networks)
            found.append(Pair(node, formula, flow, omitted))
    return found


def contents_of_formula(formula: Formula) -> Contents:
    sizes = {"W": 0, "b": 0}
    for term in formula.terms:
        letter = "W" if term.symbol.startswith("w_(") else term.symbol[:1]
        found = _SHAPE.fullmatch(term.value or "")
        is_learnt = not term.symbol.startswith('W_"rel') and "fixed" not in term.meaning
        if letter in sizes and found and is_learnt and "(" not in term.symbol[:2]:
            sizes[letter] += prod(int(size) for size in found[1].split(", "))
    return Contents(sizes["W"], sizes["b"], Counter(_norms_in(" ".join(formula.maths))))


def _norms_in(maths: str) -> Iterator[tuple[str, bool]]:
    for symbol, name in NORMS.items():
        for found in re.finditer(re.escape(f"{symbol}("), maths):
            depth, is_sum, place = 1, False, found.end()
            while depth:
                letter = maths[place]
                depth += (letter == "(") - (letter == ")")
                is_sum |= depth == 1 and letter == "+"
                place += 1
            yield name, is_sum


def contents_of_flow(flow: Flow, architecture: Architecture, omitted: Omitted) -> Contents:
    left_out = _omitted_nodes(flow, omitted)
    names = {name for node in _included(flow.nodes, left_out) for name in _parameters(node)}
    sizes = {"weights": 0, "biases": 0}
    for tensor in architecture.parameters:
        is_table = tensor.name.endswith("relative_attention_bias.weight")
        is_included = not is_table or flow.path == tensor.owner
        if tensor.name in names and tensor.trainable and is_included:
            sizes["biases" if tensor.name.endswith("bias") else "weights"] += tensor.numel
    norms = Counter(
        (str(node.operation), _is_of_sum(flow, node))
        for node in flow.nodes
        if node.operation in NORMS.values() and node.id not in left_out
    )
    return Contents(**sizes, norms=norms)


def _is_of_sum(flow: Flow, norm: Node) -> bool:
    """Return whether a norm is of a sum that nothing else reads: post-norm."""
    sums = {node.id for node in flow.nodes if node.operation in ("residual", "add")}
    read = Counter(edge.source for edge in flow.edges)
    return any(edge.source in sums and read[edge.source] == 1 for edge in _into(flow, norm.id))


def _included(nodes: tuple[Node, ...], left_out: set[str]) -> Iterator[Node]:
    for node in nodes:
        if node.id not in left_out:
            yield node
            yield from _included(node.nodes or (), left_out)


def _parameters(node: Node) -> Iterator[str]:
    if node.kind == "parameter":
        yield node.path or ""
    if node.kind == "module" and node.operation in _MULTIPLIED:
        yield from (f"{node.path}.weight", f"{node.path}.bias")
    elif node.operation in _MULTIPLIED or node.details.get("projections"):
        # The first operand of torch's linear may be a table of positions.
        is_linear = node.details.get("function", node.operation) == "linear"
        yield from (each.parameter for each in node.operands[1 if is_linear else 0 :])


def _omitted_nodes(flow: Flow, omitted: Omitted) -> set[str]:
    by_id = {node.id: node for node in flow.nodes}
    found: set[str] = set()
    for node in flow.nodes:
        if node.operation in _FEED_FORWARDS and omitted.networks:
            found.add(node.id)
        if node.operation != "attention":
            continue
        if omitted.projections and node.details.get("projections"):
            found.add(node.id)
        for edge in _into(flow, node.id):
            if edge.role in ("query", "key", "value", "bias"):
                found |= set(_before_scores(flow, by_id, edge.source, omitted))
        if omitted.output:
            after = [edge.target for edge in flow.edges if edge.source == node.id]
            found |= {each for each in after if by_id[each].operation == "linear"}
    return found


def _before_scores(
    flow: Flow, by_id: dict[str, Node], start: str, omitted: Omitted
) -> Iterator[str]:
    """Yield the omitted nodes that compute queries, keys or values."""
    node = by_id[start]
    if node.operation == "linear" or node.kind == "parameter":
        if omitted.projections:
            yield start
        return
    if node.operation in NORMS.values() and omitted.head_norms:
        yield start
    if node.operation in _BEFORE_SCORES:
        for edge in _into(flow, node.id):
            if edge.role != "position":
                yield from _before_scores(flow, by_id, edge.source, omitted)


def _into(flow: Flow, node: str) -> list[Edge]:
    return [edge for edge in flow.edges if edge.target == node]
