"""What-if figures: equal to those of a model that is really built with the values."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
import transformers
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bertviewer.core.architecture import Architecture, SourceInfo
from bertviewer.core.building import build_config, build_on_meta
from bertviewer.core.costs.compute import Compute, ModuleCompute
from bertviewer.core.counting.counting import derive
from bertviewer.core.folding import fold
from bertviewer.core.inspection import inspect_module
from bertviewer.core.loading import open_model
from bertviewer.core.source import parse_source
from bertviewer.core.symbols import LABELS_KEY, Symbol
from bertviewer.core.tasks import find_task
from bertviewer.core.what_if.presets import preset_sizes
from bertviewer.core.what_if.rules import ScenarioError, next_value
from bertviewer.core.what_if.scenario import Figure, Outcome, Scenario, evaluate_scenario
from bertviewer.core.what_if.sheet import Sheet

torch.set_num_threads(1)

FAMILIES = {
    "bert": "base",
    "gpt2": "base",
    "albert": "base",
    "electra": "base",
    "distilbert": "masked-lm",
    "t5": "base",
    "bart": "base",
    "transformer-base": "base",
}
DEPTHS = {
    "num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers",
    "encoder_layers", "decoder_layers", "num_encoder_layers",
}  # fmt: skip
LAYERS = ("N", "N_e", "N_d", "G")


@cache
def sheet_of(preset: str) -> Sheet:
    return Sheet.of(open_model(parse_source(preset)).with_formulas())


@cache
def family_sheet(model_type: str, **values: int) -> Sheet:
    """Derive the counts, and not the costs, of a family's default configuration, made shallow."""
    config = transformers.AutoConfig.for_model(model_type, **values).to_dict()
    for key in DEPTHS & config.keys():
        config[key] = 3
    task = find_task(FAMILIES[model_type])

    def build(values: Mapping[str, Any]) -> torch.nn.Module:
        return build_on_meta(build_config(values, model_type), task, model_type)

    source = SourceInfo("config", model_type, task.name, "none")
    plain = inspect_module(build(config), source, config)
    found = derive(config, build)
    return Sheet.of(
        replace(
            with_counts(plain, found.counts),
            symbols=found.symbols,
            parameters=tuple(
                replace(tensor, symbolic_shape=found.shapes[tensor.name])
                for tensor in plain.parameters
            ),
        )
    )


def built(sheet: Sheet, values: Mapping[str, int]) -> torch.nn.Module:
    """Build the model that a scenario asks about."""
    config: dict[str, Any] = dict(sheet.architecture.config)
    for symbol in sheet.architecture.symbols:
        if symbol.key == LABELS_KEY:
            config.pop("id2label", None)
            config.pop("label2id", None)
        config[symbol.key] = values[symbol.letter]
    task = find_task(sheet.architecture.source.task)
    return build_on_meta(build_config(config, "what-if"), task, "what-if")


def with_value(sheet: Sheet, **changed: int) -> Outcome:
    return evaluate_scenario(Scenario(sheet, changed))


def problems_of(sheet: Sheet, **changed: int) -> list[tuple[str, tuple[str, ...]]]:
    with pytest.raises(ScenarioError) as caught:
        with_value(sheet, **changed)
    return [(problem.rule, problem.letters) for problem in caught.value.problems]


def chosen_values(data: st.DataObject, sheet: Sheet) -> dict[str, int]:
    """Draw values for all letters that may change, such that heads divide their width."""
    heads = {"A", "A_e", "A_d", "A_kv"}
    count = data.draw(st.sampled_from((1, 2, 3, 4)), "heads")
    changed = {}
    for symbol in sheet.architecture.symbols:
        if not sheet.is_free(symbol):
            continue
        if symbol.letter in heads:
            value = count
        elif symbol.letter == "D":
            value = count * 2 * data.draw(st.integers(1, 20), "D")
        elif symbol.letter in LAYERS:
            value = data.draw(st.integers(1, 5), symbol.letter)
        else:
            # Above the ids of the padding and of the other special tokens.
            value = data.draw(st.integers(4, 60), symbol.letter)
        changed[symbol.letter] = value
    assume(changed.get("E") != changed["D"])
    return changed


@pytest.mark.parametrize("model_type", FAMILIES)
@given(data=st.data())
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
def test_it_is_the_model_that_would_be_built(model_type: str, data: st.DataObject) -> None:
    sheet = family_sheet(model_type)
    outcome = evaluate_scenario(Scenario(sheet, chosen_values(data, sheet)))
    model = built(sheet, outcome.scenario.values)
    assert outcome.parameters("").value == sum(p.numel() for p in model.parameters())
    sizes: dict[str, int] = {}
    for name, tensor in model.named_parameters():
        path = name
        while path:
            path = path.rpartition(".")[0]
            sizes[path] = sizes.get(path, 0) + tensor.numel()
    modules = dict(model.named_modules())
    for node in sheet.architecture.modules:
        assert outcome.exists(node.path) == (node.path in modules), node.path
        if node.path in modules:
            assert outcome.parameters(node.path).value == sizes.get(node.path, 0), node.path
    shapes = {n: tuple(p.shape) for n, p in model.named_parameters(remove_duplicate=False)}
    for info in sheet.architecture.parameters:
        assert outcome.exists(info.owner) == (info.name in shapes)
        if info.name in shapes:
            assert outcome.shape(info) == shapes[info.name], info.name


def test_bert_base_becomes_bert_large() -> None:
    sheet = sheet_of("bert-base-uncased")
    sizes = preset_sizes(sheet)["bert-large-uncased"]
    outcome = evaluate_scenario(Scenario(sheet, sizes))
    assert outcome.parameters("") == Figure(109_482_240, 335_141_888)
    assert outcome.parameters("").difference == 225_659_648
    assert outcome.parameters("").ratio == pytest.approx(335_141_888 / 109_482_240)
    assert outcome.parameters("encoder.layer.0").value == 12_596_224
    assert "gpt2" not in preset_sizes(sheet)
    assert "bert-base-uncased" not in preset_sizes(sheet)


def test_nothing_changed_is_the_real_model() -> None:
    sheet = family_sheet("distilbert")
    outcome = with_value(sheet)
    for node in sheet.architecture.modules:
        figure = outcome.parameters(node.path)
        assert figure.real == figure.value == node.parameters
        assert not figure.is_fixed
    for tensor in sheet.architecture.parameters:
        assert outcome.shape(tensor) == tensor.shape


def test_rules() -> None:
    sheet = sheet_of("bert-base-uncased")
    assert problems_of(sheet, A=7) == [("divides", ("A", "D"))]
    assert problems_of(sheet, D=100) == [("divides", ("A", "D"))]
    assert problems_of(sheet, V=0, N=-1) == [("positive", ("V",)), ("positive", ("N",))]
    assert with_value(sheet, A=16, D=1024).parameters("").value > 0
    with pytest.raises(ValueError, match="no formula follows Q"):
        Scenario(sheet, {"Q": 1})


def test_the_heads_need_not_divide_where_they_have_a_size_of_their_own() -> None:
    sheet = family_sheet("t5")
    assert sheet.divisions == ()
    outcome = with_value(sheet, A=7)
    query = next(
        t for t in sheet.architecture.parameters if t.name.endswith("SelfAttention.q.weight")
    )
    assert outcome.shape(query) == (7 * sheet.values["K"], sheet.values["D"])


def test_two_numbers_that_a_model_wants_equal_are_one() -> None:
    sheet = family_sheet("electra", embedding_size=256)
    outcome = with_value(sheet, D=1536)
    assert outcome.scenario.values["E"] == 1536
    with pytest.raises(ValueError, match="no formula follows E"):
        Scenario(sheet, {"E": 128})


def test_numbers_in_proportion_stay_so() -> None:
    architecture = sheet_of("bert-base-uncased").architecture
    symbols = tuple(
        replace(s, variable="D") if s.letter == "I" else s for s in architecture.symbols
    )
    sheet = Sheet.of(replace(architecture, symbols=symbols))
    assert with_value(sheet, D=1536).scenario.values["I"] == 6144
    symbols = tuple(
        replace(s, variable="D") if s.letter == "T" else s for s in architecture.symbols
    )
    sheet = Sheet.of(replace(architecture, symbols=symbols))
    assert with_value(sheet, D=1536).scenario.values["T"] == 4
    assert problems_of(sheet, D=780) == [("proportion", ("T", "D"))]


def test_two_widths_that_were_never_equal_must_not_become_so() -> None:
    # ELECTRA leaves a projection out then, which no formula says.
    sheet = family_sheet("electra")
    assert sheet.values["E"] != sheet.values["D"]
    assert problems_of(sheet, E=sheet.values["D"]) == [("equal", ("E", "D"))]


def test_huge_values_are_exact() -> None:
    sheet = sheet_of("bert-base-uncased")
    figure = with_value(sheet, V=10**9).parameters("")
    assert figure.difference == (10**9 - 30522) * 768


def test_more_layers_and_fewer() -> None:
    sheet = sheet_of("bert-base-uncased")
    row = fold(sheet.architecture).children[1].children[0].children[0]
    assert row.key == "encoder.layer[0–11]"
    fewer, more = with_value(sheet, N=5), with_value(sheet, N=48)
    assert fewer.members(row) == (12, 5)
    assert fewer.exists("encoder.layer.4.output.dense")
    assert not fewer.exists("encoder.layer.5.output.dense")
    assert more.members(row) == (12, 48)
    assert more.row_parameters(row).value == more.parameters("encoder").value
    assert more.layers("encoder.layer") == 48
    gone = row.members[7]
    assert fewer.members(gone) == (1, 0)
    assert fewer.row_parameters(gone).value == 0


def test_layers_after_a_first_one_of_its_own() -> None:
    # T5's first layer alone holds the table of distances.
    sheet = family_sheet("t5")
    outcome = with_value(sheet, N_e=9)
    first, rest = fold(sheet.architecture).children[1].children[1].children
    assert outcome.members(first) == (1, 1)
    assert outcome.members(rest) == (2, 8)
    total = outcome.row_parameters(first).value + outcome.row_parameters(rest).value
    assert total == outcome.parameters("encoder.block").value


def test_what_has_no_formula_is_kept_and_marked() -> None:
    architecture = sheet_of("bert-base-uncased").architecture
    pooler = next(node for node in architecture.modules if node.path == "pooler")
    plain = with_counts(architecture, {"pooler": str(pooler.parameters)})
    outcome = with_value(Sheet.of(plain), D=1536)
    assert outcome.parameters("pooler") == Figure(pooler.parameters, pooler.parameters, True)
    assert not outcome.parameters("encoder").is_fixed


def test_a_division_that_leaves_a_remainder_is_an_error() -> None:
    architecture = sheet_of("bert-base-uncased").architecture
    odd = with_counts(architecture, {"pooler": "D**2//2 + 295680 - L//512*0"})
    assert problems_of(Sheet.of(odd), L=511) == [("even", ("D", "L"))]


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
    assert (multiple.letter, multiple.factor, multiple.of) == ("I", 4, "D")
    scenario = Scenario(sheet, {"D": 1536}, (multiple,))
    assert scenario.values["I"] == 6144
    assert (
        evaluate_scenario(scenario).parameters("encoder.layer.0").value == 12 * 1536**2 + 13 * 1536
    )


def test_costs_follow_the_sentence_too() -> None:
    sheet = sheet_of("bert-base-uncased")
    outcome = with_value(sheet, S=128, B=1)
    macs = outcome.macs("")
    assert macs is not None
    assert 2 * macs.value == 22_348_431_360
    assert outcome.output_shape("encoder.layer.0") == (1, 128, 768)
    assert with_value(sheet, S=64, B=3, D=1536).input_shape("pooler") == (3, 64, 1536)
    peak = with_value(sheet, B=2, S=128).peak()
    assert peak is not None
    assert peak.value == 2 * peak.real
    assert [p.rule for p in with_value(sheet, S=513).warnings] == ["positions"]
    assert with_value(sheet, S=513, L=1024).warnings == ()


def test_costs_are_not_given_beyond_what_they_were_proven_for() -> None:
    architecture = replace(
        sheet_of("bert-base-uncased").architecture,
        compute=Compute(
            (Symbol("S", "", 128, "tokens"),),
            {"": ModuleCompute("S*D", ("S",), ("S", "D"))},
            ("S*D",),
            peak_fixed={"I": 3072},
            variables={letter: letter for letter in "VTDSNI"} | {"A": "N"},
        ),
    )
    sheet = Sheet.of(architecture)
    assert with_value(sheet, D=1536).macs("") == Figure(128 * 768, 128 * 1536)
    assert with_value(sheet, D=1536).peak() == Figure(128 * 768, 128 * 1536)
    assert with_value(sheet, I=3000).macs("") is not None
    assert with_value(sheet, I=3000).peak() is None
    assert with_value(sheet, L=600).macs("") is None
    assert with_value(sheet, L=600).output_shape("") is None
    # There are as many heads as layers, and the model was only run so.
    assert with_value(sheet, A=8).macs("") is None
    assert with_value(sheet, A=8, N=8).macs("") is not None
    without = Sheet.of(replace(architecture, compute=None))
    assert with_value(without, D=1536).macs("") is None
    assert with_value(without, D=1536).peak() is None


def with_counts(architecture: Architecture, counts: Mapping[str, str]) -> Architecture:
    return replace(
        architecture,
        modules=tuple(
            replace(node, count_formula=counts.get(node.path, node.count_formula))
            for node in architecture.modules
        ),
    )
