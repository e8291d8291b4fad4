"""Layers, units and parts of models of all families."""

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.core.analysis.layers import (
    layer_series,
    normed_layers,
    part_names,
    part_of,
    unit_of,
    unit_paths,
)
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.parsing import parse_source
from tests.core.checks.small_models import FAMILIES, small_model
from tests.core.formulas.formula_models import architecture_of
from tests.core.replay.model_runs import Opened, known, opened


def series_of(it: Opened, part: str = "") -> list[tuple[str, tuple[str, ...]]]:
    return [(one.stack, one.paths) for one in layer_series(it.model.architecture, it.run, part)]


def test_the_layers_and_a_part_of_each() -> None:
    it = known("bert")
    layers = ("encoder.layer.0", "encoder.layer.1")
    assert series_of(it) == [("encoder.layer", layers)]
    (series,) = layer_series(it.model.architecture, it.run, "attention.self")
    assert series.paths == tuple(f"{layer}.attention.self" for layer in layers)
    assert list(series.points()) == [(path, -1) for path in series.paths]
    assert series.label == "encoder.layer: attention.self"
    assert series_of(it, "no.such.part") == []


def test_two_stacks() -> None:
    it = known("bart")
    assert [stack for stack, _ in series_of(it)] == ["encoder.layers", "decoder.layers"]
    assert [stack for stack, _ in series_of(it, "encoder_attn")] == ["decoder.layers"]
    assert len(series_of(it, "self_attn")) == 2


def test_layers_that_differ_are_layers_all_the_same() -> None:
    # T5's first layer has a table that the others lack.
    it = known("t5")
    (_, encoder), (_, decoder) = series_of(it)
    assert encoder == ("encoder.block.0", "encoder.block.1")
    assert decoder == ("decoder.block.0", "decoder.block.1")
    assert all(
        node.repeat is None for node in it.model.architecture.modules if "block" in node.path
    )


@pytest.mark.parametrize(("encoder", "decoder"), [(3, 2), (4, 1), (1, 1)])
def test_a_decoder_that_has_no_equal_layers_beside_an_encoder_that_has(
    encoder: int, decoder: int
) -> None:
    it = opened("t5", num_layers=encoder, num_decoder_layers=decoder)
    assert [len(paths) for _, paths in series_of(it)] == [encoder, decoder]
    it = opened("bart", encoder_layers=encoder, decoder_layers=decoder)
    assert [len(paths) for _, paths in series_of(it)] == [encoder, decoder]


def test_one_of_four_layers_differs() -> None:
    it = opened("t5", num_layers=4)
    assert [len(paths) for _, paths in series_of(it)] == [4, 4]


def test_a_single_layer() -> None:
    for it, stack in (
        (opened("bert", num_hidden_layers=1), "encoder.layer"),
        (opened("gpt2", n_layer=1), "h"),
    ):
        (series,) = layer_series(it.model.architecture, it.run)
        assert (series.stack, series.paths, series.is_shared) == (stack, (f"{stack}.0",), False)


def test_a_shared_layer_has_a_point_for_each_call() -> None:
    it = known("albert")
    path = "encoder.albert_layer_groups.0"
    (series,) = layer_series(it.model.architecture, it.run)
    assert list(series.points()) == [(path, 0), (path, 1)]
    (part,) = layer_series(it.model.architecture, it.run, "albert_layers.0.ffn")
    assert list(part.points()) == [(f"{path}.albert_layers.0.ffn", n) for n in (0, 1)]
    assert part.label == f"{path}.albert_layers.0.ffn: output"


def test_what_was_not_called_has_no_series() -> None:
    it = known("bert")
    silent = replace(it.run, modules=())
    assert layer_series(it.model.architecture, silent) == ()
    assert part_names(it.model.architecture, silent) == ()


def test_the_parts_in_the_order_of_the_modules() -> None:
    it = known("bert")
    assert part_names(it.model.architecture, it.run) == (
        "attention",
        "attention.self",
        "attention.self.query",
        "attention.self.key",
        "attention.self.value",
        "attention.output",
        "attention.output.dense",
        "attention.output.LayerNorm",
        "intermediate",
        "intermediate.dense",
        "intermediate.intermediate_act_fn",
        "output",
        "output.dense",
        "output.LayerNorm",
    )


@pytest.mark.parametrize("family", ["bart", "t5", "albert", "gpt2", "modernbert"])
def test_every_part_has_a_series(family: str) -> None:
    it = known(family)
    names = part_names(it.model.architecture, it.run)
    assert len(set(names)) == len(names) > 5
    called = {module.path for module in it.run.modules}
    for name in names:
        assert any(path in called for _, paths in series_of(it, name) for path in paths)


def test_the_part_that_a_module_is() -> None:
    it = known("bart")

    def part(path: str) -> tuple[str, str] | None:
        return part_of(it.model.architecture, it.run, path)

    assert part("decoder.layers.1.encoder_attn.k_proj") == ("decoder.layers", "encoder_attn.k_proj")
    assert part("encoder.layers.0") == ("encoder.layers", "")
    assert part("encoder") is part("") is part("encoder.layers") is None


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


SENTENCE = Sentence("the cat sat on the mat")


def ran(name: str, random: bool) -> tuple[Architecture, ActivationRun]:
    model = open_model(parse_source(name))
    return model.architecture, run_sentence(model, SENTENCE, random_weights=random)


def test_a_post_norm_model_with_random_weights() -> None:
    architecture, run = ran("bert-base-uncased", random=True)
    found = normed_layers(architecture, run)
    assert found is not None
    assert found.class_name == "LayerNorm"
    assert found.features == 768
    norms = np.array(run.token_norms[1:], dtype=float)
    assert norms == pytest.approx(np.full_like(norms, found.norm), rel=1e-4)
    # One layer that gives something else makes the sentence untrue.
    layer = next(m for m in run.modules if m.path == "encoder.layer.5")
    other = replace(layer.calls[0], total=layer.calls[0].count)
    modules = tuple(replace(m, calls=(other,)) if m is layer else m for m in run.modules)
    assert normed_layers(architecture, replace(run, modules=modules)) is None


@pytest.mark.parametrize(("name", "random"), [("demo", False), ("gpt2", True)])
def test_layers_that_tell_something(name: str, random: bool) -> None:
    """Of trained norms, or where a layer ends in a sum, figures are the layer's own."""
    assert normed_layers(*ran(name, random)) is None
