"""The layers of models of every build, and the parts of a layer."""

import pytest
from msgspec.structs import replace

from bertviewer.core.analysis.layers import layer_series, part_names, part_of
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
