"""Polynomials and counts: brackets, relations and like terms."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.expressions.polynomials import Count, Relation, relations, substituted
from bertviewer.core.expressions.symbols import symbols_of

BERT = {
    **{"vocab_size": 21128, "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12},
    **{"num_attention_heads": 12, "max_position_embeddings": 512, "type_vocab_size": 2},
}
COUNT = "V*D + L*D + T*D + 2*D + N*(4*D**2 + 2*D*I + 9*D + I) + D**2 + D"


def texts(config: Mapping[str, object]) -> list[str]:
    return [relation.text for relation in relations(symbols_of(config))]


def test_bert_as_a_teacher_writes_it() -> None:
    declared = relations(symbols_of(BERT))
    assert [relation.text for relation in declared] == ["I = 4*D"]
    grouped = "V*D + L*D + T*D + 2*D + N*(12*D**2 + 13*D) + D**2 + D"
    assert substituted(COUNT, declared) == grouped


def test_nothing_declared_changes_nothing() -> None:
    assert substituted(COUNT, ()) == COUNT
    assert substituted("D + D + 1*D", [Relation("I", "4*D", "I = 4*D")]) == "D + D + 1*D"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"intermediate_size": 3000}, []),
        ({"intermediate_size": 768 * 9}, []),
        ({"embedding_size": 768}, ["E = D", "I = 4*D"]),
        ({"embedding_size": 128}, ["I = 4*D"]),
        ({"head_dim": 64}, ["A*K = D", "I = 4*D"]),
        ({"head_dim": 128}, ["I = 4*D"]),
        ({"num_key_value_heads": 12}, ["A_kv = A", "I = 4*D"]),
        ({"num_key_value_heads": 4}, ["I = 4*D"]),
    ],
)
def test_relations_that_hold(changes: dict[str, object], expected: list[str]) -> None:
    assert texts({**BERT, **changes}) == expected


def test_each_part_has_its_own_relations() -> None:
    text = {"hidden_size": 8, "intermediate_size": 32, "num_attention_heads": 2}
    vision = {"hidden_size": 10, "intermediate_size": 20}
    config = {"text_config": text, "vision_config": vision}
    assert texts(config) == ["I_text = 4*D_text", "I_vision = 2*D_vision"]


def test_two_stacks() -> None:
    config = {"d_model": 8, "encoder_ffn_dim": 32, "decoder_ffn_dim": 16}
    declared = relations(symbols_of(config))
    assert [relation.text for relation in declared] == ["I_e = 4*D", "I_d = 2*D"]
    count = "8*D + N_e*(4*D**2 + 2*D*I_e + I_e) + (N_d - 1)*(8*D**2 + 2*D*I_d) - 2*D*I_d"
    grouped = "8*D + N_e*(12*D**2 + 4*D) + 12*N_d*D**2 - 16*D**2"
    values = {"D": 8, "I_e": 32, "I_d": 16, "N_e": 3, "N_d": 4}
    assert evaluate(grouped, values) == evaluate(count, values)
    assert substituted(count, declared) == grouped


def test_heads_share_a_width_out() -> None:
    declared = relations(symbols_of({**BERT, "head_dim": 64}))
    assert substituted("N*(4*A*K*D + 2*K)", declared) == "N*(4*D**2 + 2*D//A)"


def test_only_formulas() -> None:
    with pytest.raises(FormulaError):
        substituted("D.real", [Relation("I", "4*D", "")])


coefficients = st.integers(1, 9)
factors = st.sampled_from(["D", "I", "D*I", "D**2", "V*D", "K", "A*K*D", "I**2", "I//4"])
terms = st.builds(lambda number, letters: f"{number}*{letters}", coefficients, factors)
sums = st.lists(terms, min_size=1, max_size=5).map(" + ".join)
blocks = st.builds(lambda inside: f"N*({inside})", sums)
formulas = st.lists(st.one_of(sums, blocks), min_size=1, max_size=5).map(" - ".join)


@given(formulas, st.integers(1, 5), st.integers(1, 5), st.integers(1, 4))
def test_the_number_stays(formula: str, heads: int, per_head: int, times: int) -> None:
    width = 4 * heads * per_head
    values = {"V": 11, "D": width, "I": times * width, "K": 4 * per_head, "A": heads, "N": 3}
    keys = {"D": "hidden_size", "I": "intermediate_size", "K": "head_dim"}
    config = {key: values[letter] for letter, key in keys.items()} | {"num_attention_heads": heads}
    declared = relations(symbols_of(config))
    assert {relation.name for relation in declared} == {"I", "K"}
    assert evaluate(substituted(formula, declared), values) == evaluate(formula, values)
    assert evaluate(str(Count.read(formula)), values) == evaluate(formula, values)
