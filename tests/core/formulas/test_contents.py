"""A formula that does not say what its module computes is found by ``contents.py``."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from bertviewer.core.formulas.formula import LAYER_NORM, RMS_NORM, Formula
from tests.core.formulas.contents import contents_of_flow, contents_of_formula, pairs_in
from tests.core.formulas.formula_models import architecture_of

Change = Callable[[Formula], Formula]
INPUT = "limits(X)_(S times 24)"
SUM = f'({INPUT} + "Attention"(X))'


def without(*symbols: str) -> Change:
    return lambda formula: replace(
        formula, terms=tuple(term for term in formula.terms if term.symbol not in symbols)
    )


def with_maths(old: str, new: str) -> Change:
    def change(formula: Formula) -> Formula:
        assert old in " ".join(formula.maths)
        return replace(formula, maths=tuple(line.replace(old, new) for line in formula.maths))

    return change


def pre_to_post_norm(norm: str) -> Change:
    return with_maths(f'{INPUT} + "Attention"({norm}(X))', norm + SUM)


@pytest.mark.parametrize(
    ("family", "path", "change"),
    [
        ("bert", "encoder.layer.0.attention.self", without("b_K")),
        ("bert", "encoder.layer.0.attention.self", without("W_V", "b_V")),
        ("bert", "encoder.layer.0", without("W_2", "b_2")),
        ("bert", "encoder.layer.0", with_maths(LAYER_NORM + SUM, SUM)),
        (
            *("bert", "encoder.layer.0"),
            with_maths(LAYER_NORM + SUM, f'{INPUT} + "Attention"({LAYER_NORM}(X))'),
        ),
        ("bert", "encoder.layer.0", with_maths(LAYER_NORM, RMS_NORM)),
        ("gpt2", "h.0", pre_to_post_norm(LAYER_NORM)),
        ("llama", "layers.0", pre_to_post_norm(RMS_NORM)),
        ("mbart", "encoder.layers.0", pre_to_post_norm(LAYER_NORM)),
    ],
)
def test_a_wrong_formula_differs_from_the_flow(family: str, path: str, change: Change) -> None:
    architecture = architecture_of(family)
    (pair,) = (each for each in pairs_in(architecture) if each.node.path == path)
    expected = contents_of_flow(pair.flow, architecture, pair.omitted)
    assert contents_of_formula(pair.formula) == expected
    assert contents_of_formula(change(pair.formula)) != expected
