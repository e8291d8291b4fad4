"""Figures of scenarios, compared with a model that is built with the values."""

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
from bertviewer.core.schema.costs import CachedLayers, Costs, KVCache, ModuleCosts
from bertviewer.core.schema.module_tree import fold
from bertviewer.core.sources.model_source import find_task
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from bertviewer.core.what_if.rebuilding import rebuild
from bertviewer.core.what_if.scenario import Figure, Scenario, evaluate_scenario, preset_sizes
from bertviewer.core.what_if.sheet import Sheet
from tests.core.what_if.sheets import FAMILIES, bert_base, family_sheet, outcome_of, with_counts
from tests.tools.fresh import parameter_counts


def built(sheet: Sheet, values: Mapping[str, int]) -> torch.nn.Module:
    """Build the model of a scenario."""
    config: dict[str, Any] = dict(sheet.architecture.config)
    for symbol in sheet.architecture.symbols:
        if symbol.key == LABELS_KEY:
            config.pop("id2label", None)
            config.pop("label2id", None)
        config[symbol.key] = values[symbol.name]
    task = find_task(sheet.architecture.source.task)
    return build_on_meta(build_config(config, "what-if"), task, "what-if")


def draw_values(data: st.DataObject, sheet: Sheet) -> dict[str, int]:
    """Draw values for all symbols that can change, such that heads divide their width."""
    count = data.draw(st.sampled_from((1, 2, 3, 4)), "heads")
    changed = {}
    for symbol in sheet.architecture.symbols:
        name = symbol.name
        if name not in sheet.free:
            continue
        if name in ("A", "A_e", "A_d", "A_kv"):
            changed[name] = count
        elif name == "D":
            changed[name] = count * 2 * data.draw(st.integers(1, 20), name)
        elif name in ("N", "N_e", "N_d", "G"):
            changed[name] = data.draw(st.integers(1, 5), name)
        else:  # larger than the ids of special tokens
            changed[name] = data.draw(st.integers(4, 60), name)
    assume(changed.get("E") != changed["D"])
    return changed


@pytest.mark.parametrize("model_type", FAMILIES)
@given(data=st.data())
@settings(max_examples=4, suppress_health_check=list(HealthCheck))
def test_figures_are_those_of_the_built_model(model_type: str, data: st.DataObject) -> None:
    sheet = family_sheet(model_type)
    outcome = evaluate_scenario(Scenario(sheet, draw_values(data, sheet)))
    model = built(sheet, outcome.scenario.values)
    counts = parameter_counts(model)
    for node in sheet.architecture.modules:
        assert outcome.exists(node.path) == (node.path in counts), node.path
        if node.path in counts:
            assert outcome.parameters(node.path).value == counts[node.path], node.path
    shapes = {n: tuple(p.shape) for n, p in model.named_parameters(remove_duplicate=False)}
    for info in sheet.architecture.parameters:
        assert outcome.exists(info.owner) == (info.name in shapes)
        if info.name in shapes:
            assert outcome.shape(info) == shapes[info.name], info.name


def test_unchanged_values_are_the_real_model() -> None:
    sheet = family_sheet("distilbert")
    outcome = outcome_of(sheet)
    for node in sheet.architecture.modules:
        assert outcome.parameters(node.path) == Figure(node.parameters, node.parameters)
    for tensor in sheet.architecture.parameters:
        assert outcome.shape(tensor) == tensor.shape


def test_bert_base_becomes_bert_large() -> None:
    sheet = bert_base()
    sizes = preset_sizes(sheet)
    outcome = evaluate_scenario(Scenario(sheet, sizes["bert-large-uncased"]))
    figure = outcome.parameters("")
    assert figure == Figure(109_482_240, 335_141_888)
    assert figure.difference == 225_659_648
    assert figure.ratio == pytest.approx(335_141_888 / 109_482_240)
    assert outcome.parameters("encoder.layer.0").value == 12_596_224
    assert not {"gpt2", "bert-base-uncased"} & sizes.keys()
    assert outcome_of(sheet, V=10**9).parameters("").difference == (10**9 - 30522) * 768


def test_more_and_fewer_layers() -> None:
    sheet = bert_base()
    row = fold(sheet.architecture).children[1].children[0].children[0]
    assert row.key == "encoder.layer[0–11]"
    fewer, more = outcome_of(sheet, N=5), outcome_of(sheet, N=48)
    assert (fewer.members(row), more.members(row)) == ((12, 5), (12, 48))
    assert fewer.exists("encoder.layer.4.output.dense")
    assert not fewer.exists("encoder.layer.5.output.dense")
    assert more.row_parameters(row).value == more.parameters("encoder").value
    assert more.layers("encoder.layer") == 48
    macs = more.row_macs(row)
    assert macs is not None
    assert macs.value == 4 * macs.real
    removed = row.members[7]
    assert fewer.members(removed) == (1, 0)
    assert fewer.row_parameters(removed).value == 0


def test_layers_after_a_different_first_one() -> None:
    # Only T5's first layer has the table of distances.
    sheet = family_sheet("t5")
    outcome = outcome_of(sheet, N_e=9)
    first, rest = fold(sheet.architecture).children[1].children[1].children
    assert (outcome.members(first), outcome.members(rest)) == ((1, 1), (2, 8))
    total = outcome.row_parameters(first).value + outcome.row_parameters(rest).value
    assert total == outcome.parameters("encoder.block").value


def test_a_module_without_a_formula_keeps_its_number() -> None:
    architecture = bert_base().architecture
    pooler = architecture.module("pooler")
    assert pooler is not None
    plain = with_counts(architecture, {"pooler": str(pooler.parameters)})
    outcome = outcome_of(Sheet.of(plain), D=1536)
    assert outcome.parameters("pooler") == Figure(pooler.parameters, pooler.parameters, True)
    assert not outcome.parameters("encoder").is_fixed


def test_costs_depend_on_sentences_and_tokens() -> None:
    sheet = bert_base()
    outcome = outcome_of(sheet, S=128, B=1)
    macs = outcome.macs("")
    assert macs is not None
    assert 2 * macs.value == 22_348_431_360
    assert outcome.output_shape("encoder.layer.0") == (1, 128, 768)
    assert outcome_of(sheet, S=64, B=3, D=1536).input_shape("pooler") == (3, 64, 1536)
    peak = outcome_of(sheet, B=2, S=128).peak()
    assert peak is not None
    assert peak.value == 2 * peak.real
    assert [p.rule for p in outcome_of(sheet, S=513).warnings] == ["positions"]
    assert outcome_of(sheet, S=513, L=1024).warnings == ()


COSTS = Costs(
    (Symbol("S", "", 128, "tokens"),),
    {"": ModuleCosts("S*D", ("S",), ("S", "D"))},
    ("S*D",),
    peak_fixed={"I": 3072},
    # As many heads as layers.
    variables={letter: letter for letter in "VTDSNI"} | {"A": "N"},
)


@pytest.mark.parametrize(
    ("costs", "changed", "macs", "peak"),
    [
        (COSTS, {"D": 1536}, 1536, 1536),
        # The peak is verified for one inner width only.
        (COSTS, {"I": 3000}, 768, None),
        (COSTS, {"L": 600}, None, None),
        (COSTS, {"A": 8}, None, None),
        (COSTS, {"A": 8, "N": 8}, 768, 768),
        (replace(COSTS, domain="D != 1536"), {"D": 1548}, 1548, 1548),
        (replace(COSTS, domain="D != 1536"), {"D": 1536}, None, None),
        # A peak that is no integer.
        (replace(COSTS, peak=("S*(D + 2)//10",)), {}, 768, 77),
        (replace(COSTS, peak=("S*(D + 2)//10",)), {"D": 780}, 780, None),
        (None, {"D": 1536}, None, None),
    ],
)
def test_costs_outside_of_their_verified_range_are_unknown(
    costs: Costs | None, changed: dict[str, int], macs: int | None, peak: int | None
) -> None:
    sheet = Sheet.of(replace(bert_base().architecture, costs=costs))
    outcome = outcome_of(sheet, **changed)
    found = outcome.macs(""), outcome.peak()
    assert [each and each.value for each in found] == [size and 128 * size for size in (macs, peak)]
    assert outcome.output_shape("") == (None if macs is None else (128, macs))


def test_the_memory_of_the_key_value_cache() -> None:
    layers = CachedLayers(tuple(range(12)), "N", "S", "2*D")
    cache = KVCache((layers,), "2*N*B*S*D", domain="D % 64 == 0")
    sheet = Sheet.of(replace(bert_base().architecture, kv_cache=cache))
    tokens = sheet.values["S"]
    figure = outcome_of(sheet, D=1536, S=2 * tokens).kv_cache("float16")
    assert figure == Figure(2 * 2 * 12 * tokens * 768, 2 * 2 * 12 * 2 * tokens * 1536)
    assert outcome_of(sheet, D=780).kv_cache("float16") is None
    assert outcome_of(bert_base()).kv_cache("float16") is None


def test_values_outside_of_the_conditions_build_the_model() -> None:
    # With different widths ELECTRA has a projection, which is in no formula of this model.
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
