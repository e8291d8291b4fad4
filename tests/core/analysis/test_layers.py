"""Layers, their parts, and the units that can be replayed, in models of all families."""

from collections.abc import Callable
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
from tests.core.checks.small_models import FAMILIES, small_model
from tests.core.formulas.formula_models import architecture_of
from tests.core.replay.model_runs import Opened, known, opened, ran


def series_of(one: Opened, part: str = "") -> list[tuple[str, int]]:
    """Return the stacks that have a part, with the number of their layers."""
    found = layer_series(one.model.architecture, one.run, part)
    return [(series.stack, len(series.paths)) for series in found]


def test_a_series_has_a_part_of_each_layer() -> None:
    bert = known("bert")
    (series,) = layer_series(bert.model.architecture, bert.run, "attention.self")
    assert series.paths == tuple(f"encoder.layer.{n}.attention.self" for n in (0, 1))
    assert list(series.points()) == [(path, -1) for path in series.paths]
    assert series.label == "encoder.layer: attention.self"
    assert series_of(bert, "no.such.part") == []
    bart = known("bart")
    assert series_of(bart) == [("encoder.layers", 2), ("decoder.layers", 2)]
    assert series_of(bart, "encoder_attn") == [("decoder.layers", 2)]
    not_called = replace(bert.run, modules=())
    assert layer_series(bert.model.architecture, not_called) == ()
    assert part_names(bert.model.architecture, not_called) == ()


@pytest.mark.parametrize(
    ("family", "changes", "expected"),
    [
        ("bert", {"num_hidden_layers": 1}, [("encoder.layer", 1)]),
        ("gpt2", {"n_layer": 1}, [("h", 1)]),
        # T5's first layer has a table that the others lack.
        ("t5", {"num_layers": 4}, [("encoder.block", 4), ("decoder.block", 4)]),
        # A decoder without equal layers next to an encoder with some.
        (
            "t5",
            {"num_layers": 3, "num_decoder_layers": 2},
            [("encoder.block", 3), ("decoder.block", 2)],
        ),
        (
            "bart",
            {"encoder_layers": 3, "decoder_layers": 1},
            [("encoder.layers", 3), ("decoder.layers", 1)],
        ),
        (
            "bart",
            {"encoder_layers": 1, "decoder_layers": 1},
            [("encoder.layers", 1), ("decoder.layers", 1)],
        ),
    ],
)
def test_single_and_differing_layers_are_layers(
    family: str, changes: dict[str, Any], expected: list[tuple[str, int]]
) -> None:
    assert series_of(opened(family, **changes)) == expected


def test_a_shared_layer_has_a_point_for_each_call() -> None:
    albert = known("albert")
    path = "encoder.albert_layer_groups.0"
    (series,) = layer_series(albert.model.architecture, albert.run)
    assert list(series.points()) == [(path, 0), (path, 1)]
    (part,) = layer_series(albert.model.architecture, albert.run, "albert_layers.0.ffn")
    assert list(part.points()) == [(f"{path}.albert_layers.0.ffn", n) for n in (0, 1)]
    assert part.label == f"{path}.albert_layers.0.ffn: output"


@pytest.mark.parametrize("family", ["bert", "bart", "t5", "albert", "gpt2", "modernbert"])
def test_every_part_has_a_series(family: str) -> None:
    one = known(family)
    names = part_names(one.model.architecture, one.run)
    assert len(set(names)) == len(names) > 5
    called = {module.path for module in one.run.modules}
    for name in names:
        series = layer_series(one.model.architecture, one.run, name)
        assert any(path in called for each in series for path in each.paths)
    if family == "bert":
        assert names[:6] == (
            *("attention", "attention.self", "attention.self.query", "attention.self.key"),
            *("attention.self.value", "attention.output"),
        )
        assert not any("dropout" in name for name in names)


def test_the_part_that_a_module_is() -> None:
    one = known("bart")

    def part(path: str) -> tuple[str, str] | None:
        return part_of(one.model.architecture, one.run, path)

    assert part("decoder.layers.1.encoder_attn.k_proj") == ("decoder.layers", "encoder_attn.k_proj")
    assert part("encoder.layers.0") == ("encoder.layers", "")
    assert part("encoder") is part("") is part("encoder.layers") is None


ALBERT_GROUPS = "encoder.albert_layer_groups"


@pytest.mark.parametrize(
    ("family", "task", "changes", "expected"),
    [
        ("bert", "base", {}, "embeddings encoder.layer.0 encoder.layer.1 pooler"),
        (
            "bert",
            "masked-lm",
            {},
            "bert.embeddings bert.encoder.layer.0 bert.encoder.layer.1 cls",
        ),
        ("gpt2", "base", {}, "wte wpe drop h.0 h.1 ln_f"),
        # One layer is stored and called again and again.
        (
            "albert",
            "base",
            {},
            f"embeddings encoder.embedding_hidden_mapping_in {ALBERT_GROUPS}.0 pooler "
            "pooler_activation",
        ),
        (
            "transformer-base",
            "base",
            {},
            "embedding dropout transformer.encoder.layers.0 transformer.encoder.layers.1 "
            "transformer.encoder.norm transformer.decoder.layers.0 transformer.decoder.layers.1 "
            "transformer.decoder.norm",
        ),
        # Layers without an equal one.
        ("bert", "base", {"num_hidden_layers": 1}, "embeddings encoder.layer.0 pooler"),
        ("gpt2", "base", {"n_layer": 1}, "wte wpe drop h.0 ln_f"),
        (
            "albert",
            "base",
            {"num_hidden_groups": 2, "num_hidden_layers": 4},
            f"embeddings encoder.embedding_hidden_mapping_in {ALBERT_GROUPS}.0 {ALBERT_GROUPS}.1 "
            "pooler pooler_activation",
        ),
        (
            "albert",
            "base",
            {"inner_group_num": 2},
            f"embeddings encoder.embedding_hidden_mapping_in {ALBERT_GROUPS}.0.albert_layers.0 "
            f"{ALBERT_GROUPS}.0.albert_layers.1 pooler pooler_activation",
        ),
    ],
)
def test_units_are_the_layers_and_the_modules_outside(
    family: str, task: str, changes: dict[str, Any], expected: str
) -> None:
    architecture = (
        small_model(family, task, **changes).architecture
        if changes
        else architecture_of(family, task)
    )
    assert unit_paths(architecture) == tuple(expected.split())


def test_units_of_a_decoder_whose_first_layer_differs() -> None:
    # T5's first block holds the position bias.
    units = unit_paths(small_model("t5", num_layers=4).architecture)
    assert [unit for unit in units if unit.startswith("decoder.")] == [
        "decoder.embed_tokens",
        *(f"decoder.block.{number}" for number in range(4)),
        "decoder.final_layer_norm",
        "decoder.dropout",
    ]


@pytest.mark.parametrize("family", FAMILIES)
def test_units_cover_the_model_and_do_not_overlap(family: str) -> None:
    architecture = architecture_of(family)
    units = unit_paths(architecture)
    for unit in units:
        assert [other for other in units if f"{unit}.".startswith(f"{other}.")] == [unit]
    for tensor in architecture.parameters:
        assert unit_of(tensor.owner, units) is not None, tensor.name
    # A module above units has some of them below.
    for node in architecture.modules:
        if unit_of(node.path, units) is None and architecture.children(node.path):
            prefix = f"{node.path}." if node.path else ""
            assert any(unit.startswith(prefix) for unit in units), node.path


def test_a_name_that_starts_like_a_unit_is_not_in_it() -> None:
    units = ("layer.1", "pooler")
    for path in ("layer.1", "layer.1.output.dense"):
        assert unit_of(path, units) == "layer.1"
    for path in ("layer.11", "pooler_activation", "layer", ""):
        assert unit_of(path, units) is None


def untrained(family: str) -> Opened:
    return ran(small_model(family))


def test_untrained_norms_determine_the_layers_of_a_post_norm_model() -> None:
    bert = untrained("bert")
    architecture, run = bert.model.architecture, bert.run
    found = normed_layers(architecture, run)
    assert found is not None
    assert (found.class_name, found.features) == ("LayerNorm", 24)
    norms = np.array(run.token_norms[1:], dtype=float)
    assert norms == pytest.approx(np.full_like(norms, found.norm), rel=1e-3)
    # Unless one layer has another output.
    layer = next(m for m in run.modules if m.path == "encoder.layer.1")
    other = replace(layer.calls[0], total=layer.calls[0].count)
    modules = tuple(replace(m, calls=(other,)) if m is layer else m for m in run.modules)
    assert normed_layers(architecture, replace(run, modules=modules)) is None


@pytest.mark.parametrize("one", [lambda: known("bert"), lambda: untrained("gpt2")])
def test_trained_norms_and_sums_determine_nothing(one: Callable[[], Opened]) -> None:
    assert normed_layers(one().model.architecture, one().run) is None
