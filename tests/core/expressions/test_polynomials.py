"""Polynomials and counts: brackets, relations, like terms and common factors."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.expressions.polynomials import (
    Count,
    Polynomial,
    Relation,
    factored,
    polynomial_of,
    relations,
    substituted,
    total,
)
from bertviewer.core.expressions.symbols import symbols_of

BERT = {
    **{"vocab_size": 21128, "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12},
    **{"num_attention_heads": 12, "max_position_embeddings": 512, "type_vocab_size": 2},
}
STACKS = {"d_model": 8, "encoder_ffn_dim": 32, "decoder_ffn_dim": 16}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (BERT, ["I = 4*D"]),
        (BERT | {"intermediate_size": 3000}, []),
        (BERT | {"intermediate_size": 768 * 8}, ["I = 8*D"]),
        (BERT | {"intermediate_size": 768 * 9}, []),
        (BERT | {"embedding_size": 768}, ["E = D", "I = 4*D"]),
        (BERT | {"embedding_size": 128}, ["I = 4*D"]),
        (BERT | {"head_dim": 64}, ["A*K = D", "I = 4*D"]),
        (BERT | {"head_dim": 128}, ["I = 4*D"]),
        (BERT | {"num_key_value_heads": 12}, ["A_kv = A", "I = 4*D"]),
        (BERT | {"num_key_value_heads": 4}, ["I = 4*D"]),
        (STACKS, ["I_e = 4*D", "I_d = 2*D"]),
        (
            {
                "text_config": {"hidden_size": 8, "intermediate_size": 32},
                "vision_config": {"hidden_size": 10, "intermediate_size": 20},
            },
            ["I_text = 4*D_text", "I_vision = 2*D_vision"],
        ),
    ],
)
def test_relations_of_a_configuration(config: dict[str, object], expected: list[str]) -> None:
    assert [relation.text for relation in relations(symbols_of(config))] == expected


@pytest.mark.parametrize(
    ("config", "formula", "expected"),
    [
        (
            BERT,
            "V*D + L*D + T*D + 2*D + N*(4*D**2 + 2*D*I + 9*D + I) + D**2 + D",
            "V*D + L*D + T*D + 2*D + N*(12*D**2 + 13*D) + D**2 + D",
        ),
        (
            STACKS,
            "8*D + N_e*(4*D**2 + 2*D*I_e + I_e) + (N_d - 1)*(8*D**2 + 2*D*I_d) - 2*D*I_d",
            "8*D + N_e*(12*D**2 + 4*D) + 12*N_d*D**2 - 16*D**2",
        ),
        (BERT | {"head_dim": 64}, "N*(4*A*K*D + 2*K)", "N*(4*D**2 + 2*D//A)"),
        # Without a symbol to substitute, nothing changes.
        (BERT, "D + D + 1*D", "D + D + 1*D"),
        ({}, "N*(D + I + I)", "N*(D + I + I)"),
    ],
)
def test_substituted_relations(config: dict[str, object], formula: str, expected: str) -> None:
    assert substituted(formula, relations(symbols_of(config))) == expected


def test_only_formulas_are_substituted() -> None:
    with pytest.raises(FormulaError):
        substituted("D.real", [Relation("I", "4*D", "")])


def term(coefficient: Fraction | int, **powers: int) -> Polynomial:
    return Polynomial.term(Fraction(coefficient), powers)


@pytest.mark.parametrize(
    ("terms", "text"),
    [
        ([term(2, N=1, B=1, S=2, D=1), term(4, N=1, B=1, S=1, D=2)], "N*B*S*(4*D**2 + 2*S*D)"),
        ([term(1, B=1, S=1, D=2), term(1, B=1, D=2)], "B*S*D**2 + B*D**2"),
        ([term(2, N=1, B=1, S=1, S_d=1, D=1)], "2*N*B*S*S_d*D"),
        ([term(Fraction(1, 2), B=1, D=1), term(-3, B=1)], "B*(D//2 - 3)"),
        ([term(Fraction(3, 2), B=1, S=1)], "3*B*S//2"),
        ([term(2, B=1, S=1, D=1, A=-1)], "2*B*S*D//A"),
        ([term(1, B=1, S=1)], "B*S"),
        ([term(7)], "7"),
        ([], "0"),
    ],
)
def test_common_factors_are_in_front(terms: list[Polynomial], text: str) -> None:
    polynomial = total(terms)
    assert factored(polynomial, ("N",)) == text
    values = {"N": 3, "B": 2, "S": 5, "S_d": 7, "D": 8, "A": 4}
    assert evaluate(text, values) == evaluate(str(polynomial), values)


coefficients = st.integers(1, 9)
factors = st.sampled_from(["D", "I", "D*I", "D**2", "V*D", "K", "A*K*D", "I**2", "I//4"])
terms = st.builds(lambda number, symbols: f"{number}*{symbols}", coefficients, factors)
sums = st.lists(terms, min_size=1, max_size=5).map(" + ".join)
blocks = st.builds(lambda inside: f"N*({inside})", sums)
formulas = st.lists(st.one_of(sums, blocks), min_size=1, max_size=5).map(" - ".join)


@given(formulas, st.integers(1, 5), st.integers(1, 5), st.integers(1, 4))
def test_rewritten_formulas_have_the_same_value(
    formula: str, heads: int, per_head: int, times: int
) -> None:
    width = 4 * heads * per_head
    values = {"V": 11, "D": width, "I": times * width, "K": 4 * per_head, "A": heads, "N": 3}
    keys = {"D": "hidden_size", "I": "intermediate_size", "K": "head_dim"}
    config = {key: values[name] for name, key in keys.items()} | {"num_attention_heads": heads}
    declared = relations(symbols_of(config))
    assert {relation.name for relation in declared} == {"I", "K"}
    value = evaluate(formula, values)
    assert evaluate(substituted(formula, declared), values) == value
    assert evaluate(str(Count.read(formula)), values) == value
    assert evaluate(factored(polynomial_of(formula), ("N",)), values) == value
