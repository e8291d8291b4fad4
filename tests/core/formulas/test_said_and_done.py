"""Every role's formula says what the flow of the same module does: the same products and norms."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import LAYER_NORM, Formula
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Flow
from bertviewer.core.schema.modules import ModuleNode
from tests.core.formulas.flow_models import traced
from tests.core.formulas.formula_models import DISTINCT
from tests.core.formulas.found_formulas import node_at
from tests.core.formulas.said_and_done import CLOSED, Closed, done, said, tells_all

# Their attention is in blocks, or their formulas show convolutions and no matrices.
NOT_TOLD = {"big_bird": 2, "squeezebert": 2}


def closed_of(node: ModuleNode, architecture: Architecture) -> Closed | None:
    """Return what the formula of a module's role leaves closed, ``None`` for one of no such."""
    closed = CLOSED.get(node.role)
    formula = formula_of(node, architecture)
    if closed is None or formula is None:
        return closed
    # T5's blocks and networks are named in the formula of the block around them.
    symbols = {term.symbol for term in formula.terms}
    is_block = node.role in ("attention block", "feed-forward sub-layer")
    output = closed.output or (is_block and not symbols & {"W_O", "W_1", "W_U"})
    return replace(closed, output=output, networks=closed.networks and output)


def pairs(architecture: Architecture) -> list[tuple[ModuleNode, Formula, Flow, Closed]]:
    """Return the modules with a role whose formula tells its products, and a flow."""
    found = []
    for node in architecture.modules:
        formula = formula_of(node, architecture) if node.formula_from == "role" else None
        flow = None if architecture.flows is None else architecture.flows.flow(node.path)
        closed = closed_of(node, architecture)
        if formula is not None and flow is not None and closed is not None:
            found.append((node, formula, flow, closed))
    return found


@pytest.mark.parametrize("family", DISTINCT)
def test_a_role_says_what_the_flow_does(family: str) -> None:
    architecture = traced(family)
    every = pairs(architecture)
    open_ones = [each for each in every if tells_all(each[2], each[1])]
    wrong = [
        (node.path, node.class_name, said(formula), found)
        for node, formula, flow, closed in open_ones
        if said(formula) != (found := done(flow, architecture, closed))
    ]
    assert wrong == []
    assert len(every) - len(open_ones) == NOT_TOLD.get(family, 0)
    assert len(open_ones) >= 5


def without(formula: Formula, *symbols: str) -> Formula:
    return replace(formula, terms=tuple(t for t in formula.terms if t.symbol not in symbols))


def with_maths(formula: Formula, old: str, new: str) -> Formula:
    assert old in " ".join(formula.maths)
    return replace(formula, maths=tuple(line.replace(old, new) for line in formula.maths))


INPUT = "limits(X)_(S times 24)"
POST_NORMED = f'({INPUT} + "Attention"(X))'
WRONG: dict[str, tuple[str, Callable[[Formula], Formula]]] = {
    "forgets a bias": ("encoder.layer.0.attention.self", lambda f: without(f, "b_K")),
    "leaves out a projection": (
        "encoder.layer.0.attention.self",
        lambda f: without(f, "W_V", "b_V"),
    ),
    "leaves out the network's second layer": (
        "encoder.layer.0",
        lambda f: without(f, "W_2", "b_2"),
    ),
    "leaves out a norm": (
        "encoder.layer.0",
        lambda f: with_maths(f, LAYER_NORM + POST_NORMED, POST_NORMED),
    ),
    "normalises before instead of after": (
        "encoder.layer.0",
        lambda f: with_maths(
            f, LAYER_NORM + POST_NORMED, f'{INPUT} + "Attention"({LAYER_NORM}(X))'
        ),
    ),
    "has another kind of norm": (
        "encoder.layer.0",
        lambda f: with_maths(f, LAYER_NORM, 'op("RMSNorm")'),
    ),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_formula_is_found(fault: str) -> None:
    path, change = WRONG[fault]
    architecture = traced("bert")
    node = node_at(architecture, path)
    formula, closed = formula_of(node, architecture), closed_of(node, architecture)
    assert formula is not None
    assert closed is not None
    assert architecture.flows is not None
    flow = architecture.flows.flow(path)
    assert flow is not None
    expected = done(flow, architecture, closed)
    assert said(formula) == expected
    assert said(change(formula)) != expected


@pytest.mark.parametrize(
    ("family", "path"), [("gpt2", "h.0"), ("llama", "layers.0"), ("mbart", "encoder.layers.0")]
)
def test_a_post_norm_formula_of_a_pre_norm_layer_is_found(family: str, path: str) -> None:
    architecture = traced(family)
    formula = formula_of(node_at(architecture, path), architecture)
    assert formula is not None
    assert architecture.flows is not None
    flow = architecture.flows.flow(path)
    assert flow is not None
    norm = next(part for part in (LAYER_NORM, 'op("RMSNorm")') if part in formula.maths[0])
    turned = with_maths(
        formula, f'{INPUT} + "Attention"({norm}(X))', f'{norm}({INPUT} + "Attention"(X))'
    )
    expected = done(flow, architecture, CLOSED["layer"])
    assert said(formula) == expected
    assert said(turned) != expected
