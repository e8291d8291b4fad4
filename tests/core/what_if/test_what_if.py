"""What-if figures: equal to those of a model that is really built with the values."""

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta
from bertviewer.core.expressions.symbols import LABELS_KEY, Symbol
from bertviewer.core.schema.costs import Costs, ModuleCosts
from bertviewer.core.schema.module_tree import fold
from bertviewer.core.sources.model_source import find_task
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from bertviewer.core.what_if.rebuilding import rebuild
from bertviewer.core.what_if.scenario import Figure, Scenario, evaluate_scenario, preset_sizes
from bertviewer.core.what_if.sheet import Sheet
from tests.core.what_if.sheets import (
    FAMILIES,
    family_sheet,
    problems_of,
    sheet_of,
    with_counts,
    with_value,
)

LAYERS = ("N", "N_e", "N_d", "G")


def built(sheet: Sheet, values: Mapping[str, int]) -> torch.nn.Module:
    """Build the model that a scenario asks about."""
    config: dict[str, Any] = dict(sheet.architecture.config)
    for symbol in sheet.architecture.symbols:
        if symbol.key == LABELS_KEY:
            config.pop("id2label", None)
            config.pop("label2id", None)
        config[symbol.key] = values[symbol.name]
    task = find_task(sheet.architecture.source.task)
    return build_on_meta(build_config(config, "what-if"), task, "what-if")


def chosen_values(data: st.DataObject, sheet: Sheet) -> dict[str, int]:
    """Draw values for all letters that may change, such that heads divide their width."""
    heads = {"A", "A_e", "A_d", "A_kv"}
    count = data.draw(st.sampled_from((1, 2, 3, 4)), "heads")
    changed = {}
    for symbol in sheet.architecture.symbols:
        if symbol.name not in sheet.free:
            continue
        if symbol.name in heads:
            value = count
        elif symbol.name == "D":
            value = count * 2 * data.draw(st.integers(1, 20), "D")
        elif symbol.name in LAYERS:
            value = data.draw(st.integers(1, 5), symbol.name)
        else:
            # Above the ids of the padding and of the other special tokens.
            value = data.draw(st.integers(4, 60), symbol.name)
        changed[symbol.name] = value
    assume(changed.get("E") != changed["D"])
    return changed


@pytest.mark.parametrize("model_type", FAMILIES)
@given(data=st.data())
@settings(max_examples=4, suppress_health_check=list(HealthCheck))
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
        costs=Costs(
            (Symbol("S", "", 128, "tokens"),),
            {"": ModuleCosts("S*D", ("S",), ("S", "D"))},
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
    assert architecture.costs is not None
    costs = replace(architecture.costs, domain="D != 1536")
    limited = Sheet.of(replace(architecture, costs=costs))
    assert with_value(limited, D=1548).macs("") is not None
    assert with_value(limited, D=1536).macs("") is None
    # A peak that is no integer is not given; all else is.
    uneven = Sheet.of(replace(architecture, costs=replace(costs, peak=("S*(D + 2)//10",))))
    assert with_value(uneven, D=768).peak() == Figure(128 * 77, 128 * 77)
    assert with_value(uneven, D=780).macs("") == Figure(128 * 768, 128 * 780)
    assert with_value(uneven, D=780).peak() is None
    without = Sheet.of(replace(architecture, costs=None))
    assert with_value(without, D=1536).macs("") is None
    assert with_value(without, D=1536).peak() is None


def test_outside_the_range_of_the_formulas_the_model_is_built() -> None:
    # Without equal widths ELECTRA has a projection, which no formula of this model knows.
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "embedding_size": 32}
    sheet = family_sheet("electra", **sizes)
    scenario = Scenario(sheet, {"E": 16, "N": 5})
    source = parse_source("bert-base-uncased")  # only its task is used
    outcome = rebuild(scenario, source)
    model = built(sheet, scenario.values)
    assert outcome.built is not None
    assert outcome.parameters("").value == sum(p.numel() for p in model.parameters())
    word = next(t for t in sheet.architecture.parameters if "word_embeddings" in t.name)
    assert outcome.shape(word)[1] == 16
    layers = fold(sheet.architecture).children[1].children[0].children[0]
    assert outcome.members(layers) == (3, 5)
    assert outcome.exists("encoder.layer.2.output.dense")
    assert outcome.macs("") is None
    assert evaluate_scenario(Scenario(sheet, {"N": 5})).built is None
    with pytest.raises(UserError, match=r"no model has these values|cannot build|bad config"):
        rebuild(Scenario(family_sheet("bert"), {"A": 5}), source)
