"""What a scenario may ask: rules between the values, and the next value that keeps them."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from bertviewer.core.what_if.scenario import Scenario, evaluate_scenario, next_value
from bertviewer.core.what_if.sheet import Sheet
from tests.core.what_if.sheets import family_sheet, problems_of, sheet_of, with_value


def test_rules() -> None:
    sheet = sheet_of("bert-base-uncased")
    assert problems_of(sheet, A=7) == [("divides", ("A", "D"))]
    assert problems_of(sheet, D=100) == [("divides", ("A", "D"))]
    assert problems_of(sheet, V=0, N=-1) == [("positive", ("V",)), ("positive", ("N",))]
    assert with_value(sheet, A=16, D=1024).parameters("").value > 0
    with pytest.raises(ValueError, match="no formula depends on Q"):
        Scenario(sheet, {"Q": 1})


def test_the_heads_need_not_divide_where_they_have_a_size_of_their_own() -> None:
    sheet = family_sheet("t5")
    assert sheet.divisions == ()
    outcome = with_value(sheet, A=7)
    query = next(
        t for t in sheet.architecture.parameters if t.name.endswith("SelfAttention.q.weight")
    )
    assert outcome.shape(query) == (7 * sheet.values["K"], sheet.values["D"])


def test_two_numbers_that_a_model_wants_equal_are_one_until_both_are_set() -> None:
    sheet = family_sheet("electra", embedding_size=256)
    outcome = with_value(sheet, D=1536)
    assert outcome.scenario.values["E"] == 1536
    # Without equal widths there is a projection, which no formula of this model knows of.
    assert problems_of(sheet, E=128) == [("domain", ("D", "E"))]
    assert problems_of(sheet, E=128, D=512) == [("domain", ("D", "E"))]
    assert (
        with_value(sheet, E=512, D=512).parameters("").value
        == with_value(sheet, D=512).parameters("").value
    )


def test_what_there_is_none_of_stays_so(tmp_path: Path) -> None:
    sizes = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 97}
    config = {"model_type": "deberta-v2", "intermediate_size": 96, "type_vocab_size": 0, **sizes}
    (tmp_path / "config.json").write_text(json.dumps(config))
    sheet = sheet_of(str(tmp_path))
    symbol = next(s for s in sheet.architecture.symbols if s.name == "type_vocab_size")
    assert symbol.value == 0
    assert problems_of(sheet, type_vocab_size=2) == [("domain", ("type_vocab_size",))]
    assert sheet.architecture.root.domain == "type_vocab_size == 0"
    assert with_value(sheet, D=96).parameters("").difference > 0


def test_numbers_in_proportion_stay_so() -> None:
    architecture = sheet_of("bert-base-uncased").architecture
    symbols = tuple(replace(s, variable="D") if s.name == "I" else s for s in architecture.symbols)
    root = replace(architecture.root, domain="I == 4*D")
    sheet = Sheet.of(
        replace(architecture, symbols=symbols, modules=(root, *architecture.modules[1:]))
    )
    assert with_value(sheet, D=1536).scenario.values["I"] == 6144
    assert problems_of(sheet, D=1536, I=6145) == [("domain", ("D", "I"))]


def test_two_widths_that_were_never_equal_must_not_become_so() -> None:
    # ELECTRA leaves a projection out then, which no formula says.
    sheet = family_sheet("electra")
    assert sheet.values["E"] != sheet.values["D"]
    assert problems_of(sheet, E=sheet.values["D"]) == [("domain", ("D", "E"))]


def test_a_size_below_one_is_an_error() -> None:
    architecture = sheet_of("bert-base-uncased").architecture
    first, *rest = architecture.parameters
    shorter = replace(
        architecture, parameters=(replace(first, symbolic_shape=("V", "D - 9")), *rest)
    )
    assert problems_of(Sheet.of(shorter), D=6, A=1) == [("size", ("D",))]


def test_the_next_value_breaks_no_rule() -> None:
    sheet = sheet_of("bert-base-uncased")
    assert next_value(sheet, sheet.values, "A", 1) == 16
    assert next_value(sheet, sheet.values, "A", -1) == 8
    assert next_value(sheet, sheet.values, "D", 1) == 780
    assert next_value(sheet, sheet.values, "D", -1) == 756
    assert next_value(sheet, sheet.values, "N", -1) == 11
    assert next_value(sheet, {**sheet.values, "N": 1}, "N", -1) == 1
    assert next_value(sheet, {**sheet.values, "D": 10**9 + 7, "A": 1}, "A", 1) == 2


def test_a_kept_multiple_moves_along() -> None:
    sheet = sheet_of("bert-base-uncased")
    (multiple,) = sheet.multiples
    assert (multiple.name, multiple.text) == ("I", "I = 4*D")
    scenario = Scenario(sheet, {"D": 1536}, (multiple,))
    assert scenario.values["I"] == 6144
    assert (
        evaluate_scenario(scenario).parameters("encoder.layer.0").value == 12 * 1536**2 + 13 * 1536
    )
