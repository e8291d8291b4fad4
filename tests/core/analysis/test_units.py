"""The parts that a run can be called again in."""

from typing import Any

import pytest

from bertviewer.core.analysis.layers import unit_of, unit_paths
from tests.core.checks.small_models import FAMILIES, small_model
from tests.core.formulas.formula_models import architecture_of


@pytest.mark.parametrize(
    ("family", "task", "expected"),
    [
        ("bert", "base", ("embeddings", "encoder.layer.0", "encoder.layer.1", "pooler")),
        (
            "bert",
            "masked-lm",
            ("bert.embeddings", "bert.encoder.layer.0", "bert.encoder.layer.1", "cls"),
        ),
        ("gpt2", "base", ("wte", "wpe", "drop", "h.0", "h.1", "ln_f")),
        # One layer is stored, and called again and again: a call of it is one pass.
        (
            "albert",
            "base",
            (
                "embeddings",
                "encoder.embedding_hidden_mapping_in",
                "encoder.albert_layer_groups.0",
                "pooler",
                "pooler_activation",
            ),
        ),
        (
            "transformer-base",
            "base",
            (
                "embedding",
                "dropout",
                *(f"transformer.encoder.{name}" for name in ("layers.0", "layers.1", "norm")),
                *(f"transformer.decoder.{name}" for name in ("layers.0", "layers.1", "norm")),
            ),
        ),
    ],
)
def test_units_are_the_layers_and_what_stands_beside_them(
    family: str, task: str, expected: tuple[str, ...]
) -> None:
    assert unit_paths(architecture_of(family, task)) == expected


@pytest.mark.parametrize(
    ("family", "changes", "layers"),
    [
        ("bert", {"num_hidden_layers": 1}, ["encoder.layer.0"]),
        ("gpt2", {"n_layer": 1}, ["h.0"]),
        (
            "bart",
            {"decoder_layers": 1},
            ["decoder.layers.0", "encoder.layers.0", "encoder.layers.1"],
        ),
        (
            "albert",
            {"num_hidden_groups": 2, "num_hidden_layers": 4},
            ["encoder.albert_layer_groups.0", "encoder.albert_layer_groups.1"],
        ),
        (
            "albert",
            {"inner_group_num": 2},
            [f"encoder.albert_layer_groups.0.albert_layers.{n}" for n in (0, 1)],
        ),
    ],
)
def test_a_layer_that_has_no_equal_is_a_unit_too(
    family: str, changes: dict[str, Any], layers: list[str]
) -> None:
    units = unit_paths(small_model(family, **changes).architecture)
    assert sorted(unit for unit in units if unit[-1].isdecimal()) == layers


def test_a_first_layer_of_its_own_is_a_unit_beside_the_others() -> None:
    # T5's first block holds the position bias.
    units = unit_paths(small_model("t5", num_layers=4).architecture)
    assert [unit for unit in units if unit.startswith("decoder.")] == [
        "decoder.embed_tokens",
        *(f"decoder.block.{number}" for number in range(4)),
        "decoder.final_layer_norm",
        "decoder.dropout",
    ]


@pytest.mark.parametrize("family", FAMILIES)
def test_units_cover_the_model_and_none_lies_in_another(family: str) -> None:
    architecture = architecture_of(family)
    units = unit_paths(architecture)
    for unit in units:
        assert [other for other in units if f"{unit}.".startswith(f"{other}.")] == [unit]
    for tensor in architecture.parameters:
        assert unit_of(tensor.owner, units) is not None, tensor.name
    # What lies above units has some of them below.
    for node in architecture.modules:
        if unit_of(node.path, units) is None and architecture.children(node.path):
            prefix = f"{node.path}." if node.path else ""
            assert any(unit.startswith(prefix) for unit in units), node.path


def test_names_that_only_begin_alike_are_other_modules() -> None:
    units = ("layer.1", "pooler")
    assert unit_of("layer.1", units) == "layer.1"
    assert unit_of("layer.1.output.dense", units) == "layer.1"
    assert unit_of("layer.11", units) is None
    assert unit_of("pooler_activation", units) is None
    assert unit_of("layer", units) is None
    assert unit_of("", units) is None
