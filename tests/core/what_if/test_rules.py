"""Rules between the values of a scenario, and values that meet them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bertviewer.core.what_if.scenario import Scenario, evaluate_scenario, next_value, remedies
from bertviewer.core.what_if.sheet import Problem, ScenarioError, Sheet
from tests.core.what_if.sheets import (
    bert_base,
    family_sheet,
    outcome_of,
    problems_of,
    with_counts,
)


def test_values_are_positive_and_heads_divide_the_width() -> None:
    sheet = bert_base()
    assert problems_of(sheet, A=7) == [("divides", ("A", "D"))]
    assert problems_of(sheet, D=100) == [("divides", ("A", "D"))]
    assert problems_of(sheet, V=0, N=-1) == [("positive", ("V",)), ("positive", ("N",))]
    assert outcome_of(sheet, A=16, D=1024).parameters("").value > 0
    with pytest.raises(ValueError, match="no formula depends on Q"):
        Scenario(sheet, {"Q": 1})


def test_heads_of_an_independent_size_need_not_divide_the_width() -> None:
    sheet = family_sheet("t5")
    assert sheet.divisions == ()
    tensors = sheet.architecture.parameters
    query = next(t for t in tensors if t.name.endswith("SelfAttention.q.weight"))
    shape = outcome_of(sheet, A=7).shape(query)
    assert shape == (7 * sheet.values["K"], sheet.values["D"])


def test_equal_widths_change_together_unless_both_are_set() -> None:
    sheet = family_sheet("electra", embedding_size=256)
    assert outcome_of(sheet, D=1536).scenario.values["E"] == 1536
    # With different widths there is a projection, which is in no formula of this model.
    assert problems_of(sheet, E=128) == [("domain", ("D", "E"))]
    assert problems_of(sheet, E=128, D=512) == [("domain", ("D", "E"))]
    assert outcome_of(sheet, E=512, D=512).numbers == outcome_of(sheet, D=512).numbers
    assert offered(sheet, E=128) == [("D", 128), ("E", 256)]


def test_different_widths_must_not_become_equal() -> None:
    # Then ELECTRA has no projection.
    sheet = family_sheet("electra")
    assert sheet.values["E"] != sheet.values["D"]
    assert problems_of(sheet, E=sheet.values["D"]) == [("domain", ("D", "E"))]


def test_proportional_numbers_change_together() -> None:
    architecture = bert_base().architecture
    symbols = tuple(replace(s, variable="D") if s.name == "I" else s for s in architecture.symbols)
    root = replace(architecture.root, domain="I == 4*D")
    modules = (root, *architecture.modules[1:])
    sheet = Sheet.of(replace(architecture, symbols=symbols, modules=modules))
    assert outcome_of(sheet, D=1536).scenario.values["I"] == 6144
    assert problems_of(sheet, D=1536, I=6145) == [("domain", ("D", "I"))]


def test_a_kept_relation_changes_the_inner_width_with_the_width() -> None:
    sheet = bert_base()
    (multiple,) = sheet.multiples
    assert (multiple.name, multiple.text) == ("I", "I = 4*D")
    scenario = Scenario(sheet, {"D": 1536}, (multiple,))
    assert scenario.values["I"] == 6144
    outcome = evaluate_scenario(scenario)
    assert outcome.parameters("encoder.layer.0").value == 12 * 1536**2 + 13 * 1536


def test_a_number_of_zero_stays_zero() -> None:
    sheet = family_sheet("deberta-v2", hidden_size=48, num_attention_heads=4, vocab_size=97)
    assert sheet.values["type_vocab_size"] == 0
    assert problems_of(sheet, type_vocab_size=2) == [("domain", ("type_vocab_size",))]
    assert sheet.architecture.root.domain == "type_vocab_size == 0"
    assert outcome_of(sheet, D=96).parameters("").difference > 0


def test_sizes_below_one_and_remainders_are_errors() -> None:
    architecture = bert_base().architecture
    first, *rest = architecture.parameters
    shorter = (replace(first, symbolic_shape=("V", "D - 9")), *rest)
    sheet = Sheet.of(replace(architecture, parameters=shorter))
    assert problems_of(sheet, D=6, A=1) == [("size", ("D",))]
    odd = with_counts(architecture, {"pooler": "D**2//2 + 295680 - L//512*0"})
    assert problems_of(Sheet.of(odd), L=511) == [("even", ("D", "L"))]


@pytest.mark.parametrize(
    ("changed", "name", "step", "value"),
    [
        ({}, "A", 1, 16),
        ({}, "A", -1, 8),
        ({}, "D", 1, 780),
        ({}, "D", -1, 756),
        ({}, "N", -1, 11),
        ({"N": 1}, "N", -1, 1),
        # A prime: no other divisor is near.
        ({"D": 10**9 + 7, "A": 1}, "A", 1, 2),
    ],
)
def test_the_next_value_breaks_no_rule(
    changed: dict[str, int], name: str, step: int, value: int
) -> None:
    sheet = bert_base()
    assert next_value(sheet, {**sheet.values, **changed}, name, step) == value


def problems_in(scenario: Scenario) -> tuple[Problem, ...]:
    try:
        return evaluate_scenario(scenario).warnings
    except ScenarioError as error:
        return error.problems


def offered(sheet: Sheet, **changed: int) -> list[tuple[str, int]]:
    scenario = Scenario(sheet, changed)
    return list(remedies(scenario, problems_in(scenario)).items())


def test_remedies_change_unchanged_symbols_first() -> None:
    sheet = bert_base()
    assert offered(sheet, D=1024) == [("A", 16), ("D", 1020)]
    assert offered(sheet, A=7) == [("D", 770), ("A", 8)]
    assert offered(sheet, S=600) == [("L", 600), ("S", 512)]
    assert offered(sheet, S=100_000) == [("L", 100_000), ("S", 512)]
    kept = Scenario(sheet, {"D": 1024}, sheet.multiples)
    assert remedies(kept, problems_in(kept)) == {"A": 16, "D": 1020}


@settings(max_examples=30)
@given(st.integers(1, 3000), st.integers(1, 40), st.integers(1, 2000))
def test_remedies_solve_all_problems(width: int, heads: int, tokens: int) -> None:
    sheet = bert_base()
    scenario = Scenario(sheet, {"D": width, "A": heads, "S": tokens})
    for name, value in remedies(scenario, problems_in(scenario)).items():
        assert problems_in(Scenario(sheet, {**scenario.changed, name: value})) == ()
