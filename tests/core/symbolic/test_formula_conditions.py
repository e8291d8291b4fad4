"""Formulas are never wrong: inside of their domains they hold, and domains say where these end."""

from collections.abc import Mapping
from typing import Any

import pytest
import torch

from bertviewer.core.expressions.symbols import symbols_of
from bertviewer.core.symbolic import solver
from bertviewer.core.symbolic.counts import derive
from bertviewer.core.symbolic.models import changed_configs
from tests.core.symbolic.small_builds import LAYERS, root, rows_of
from tests.tools.fresh import try_formulas


def test_patches_that_do_not_divide_the_image() -> None:
    config = {"image_size": 224, "patch_size": 16}
    build = rows_of(lambda image, patch: (image // patch) ** 2, "image_size", "patch_size")
    found = derive(config, build)
    assert found.counts[""] == "4*image_size**2//patch_size**2"
    assert found.domains[""] == "image_size % patch_size == 0"
    assert root(found, image_size=384) == 4 * 24**2
    assert root(found, image_size=230) is None


def test_heads_that_need_not_divide_the_width() -> None:
    config = {"d_model": 48, "num_heads": 4}
    build = rows_of(lambda width, heads: width // heads * heads, "d_model", "num_heads")
    found = derive(config, build)
    assert (found.counts[""], found.domains[""]) == ("4*D", "D % A == 0")


def _picky(config: Mapping[str, Any]) -> torch.nn.Module:
    """Refuse nearly every other value of most numbers, as LW-DETR does."""
    if config["d_model"] % config["decoder_heads"]:
        raise ValueError("the heads do not divide the width")
    if any(config[f"size_{number}"] % 64 for number in range(12)):
        raise ValueError("not a multiple of 64")
    width, heads = config["d_model"], config["num_heads"]
    return torch.nn.Linear(3, width // heads * heads, device="meta")


PICKY = {
    **{"d_model": 48, "num_heads": 4, "decoder_heads": 4},
    **{f"size_{number}": 64 for number in range(12)},
}


def test_heads_next_to_numbers_that_models_refuse() -> None:
    found = derive(PICKY, _picky)
    assert found.counts[""] == "4*D"
    assert root(found, D=48, A=5) is None
    assert root(found, D=60, A=5, decoder_heads=4) == 240


def test_divisions_that_could_not_be_tried_have_to_be_exact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(solver, "_MAX_BUILDS", 4)
    monkeypatch.setattr(solver, "_MIN_BUILDS", 4)
    found = derive(PICKY, _picky)
    assert root(found, D=48, A=5) is None


def test_a_number_that_matters_only_below_what_it_is() -> None:
    config = {"d_model": 48, "sparse_step": 3}
    build = rows_of(lambda d, step: d if step >= 3 else 2 * d, "d_model", "sparse_step")
    found = derive(config, build)
    assert found.counts[""] == "4*D"
    assert found.domains[""] == "sparse_step >= 3"
    assert [symbol.name for symbol in found.symbols] == ["D", "sparse_step"]


def test_a_number_that_matters_only_where_it_is_another() -> None:
    config = {"d_model": 48, "embedding_size": 32}
    build = rows_of(lambda d, e: d + (0 if d == e else e), "d_model", "embedding_size")
    found = derive(config, build)
    assert (found.counts[""], found.domains[""]) == ("4*D + 4*E", "E != D")


def test_what_is_rounded_up_to_a_multiple() -> None:
    # As LFM2's feed-forward network.
    config = {"d_model": 48, "intermediate_size": 12_288}
    build = rows_of(lambda inner: -(-(2 * inner // 3) // 256) * 256, "intermediate_size")
    found = derive(config, build)
    assert (found.counts[""], found.domains[""]) == ("8*I//3", "I % 384 == 0")


def test_a_power_of_two_is_no_multiple() -> None:
    # As the strides of SAM 3's masks.
    config = {"d_model": 48, "total_stride": 16}
    build = rows_of(lambda stride: 4 ** (stride.bit_length() - 1), "total_stride")
    found = derive(config, build)
    assert found.counts[""] == "1024"
    assert "" in found.unproven


def test_small_numbers_are_rounded_too() -> None:
    # As the channels of SAM 2's prompts.
    config = {"d_model": 48, "mask_input_channels": 16}
    build = rows_of(lambda channels: channels // 4 * 4, "mask_input_channels")
    found = derive(config, build)
    assert (found.counts[""], found.domains[""]) == (
        "4*mask_input_channels",
        "mask_input_channels % 4 == 0",
    )


def test_a_number_that_was_only_tried_at_multiples_has_to_stay_one() -> None:
    # As the channels of a large EfficientNet, of which few are tried alone.
    config = {"d_model": 48, "channels": 80}

    def rows(channels: int) -> int:
        if channels % 16:
            raise ValueError("16 groups do not divide the channels")
        return channels

    found = derive(config, rows_of(rows, "channels"))
    assert (found.counts[""], found.domains[""]) == ("4*channels", "channels % 16 == 0")


def test_a_number_that_another_divides_is_told_from_the_one_that_has_to_be_divided() -> None:
    # As MobileBERT: its configuration demands that heads divide one width, its layers use another.
    config = {"hidden_size": 48, "true_hidden_size": 32, "num_heads": 4}

    def rows(width: int, inner: int, heads: int) -> int:
        if width % heads:
            raise ValueError("the heads do not divide the width")
        return inner // heads * heads

    build = rows_of(rows, "hidden_size", "true_hidden_size", "num_heads")
    found = derive(config, build)
    assert found.counts[""] == "4*true_hidden_size"
    assert found.domains[""] == "true_hidden_size % A == 0"
    assert root(found, D=50, A=5) is None


def test_what_no_model_takes_another_value_of_is_a_condition() -> None:
    # As Cosmos 3's heads, whose features are shared out in the table of the positions' settings.
    config = {"d_model": 48, "head_dim": 8, "rope_parameters": {"mrope_section": [2, 1, 1]}}

    def build(config: Mapping[str, Any]) -> torch.nn.Module:
        if 2 * sum(config["rope_parameters"]["mrope_section"]) != config["head_dim"]:
            raise ValueError("the parts do not add up")
        return torch.nn.Linear(3, config["d_model"] * config["head_dim"], device="meta")

    found = derive(config, build)
    assert (found.counts[""], found.domains[""]) == ("32*D", "K == 8")
    assert "K" in {symbol.name for symbol in found.symbols}


def test_what_says_which_layers_are_of_another_kind_is_pinned_for_all() -> None:
    # As Jamba's experts: no larger period was tried, and one may fall on any layer.
    def build(config: Mapping[str, Any]) -> torch.nn.Module:
        layers = torch.nn.ModuleList()
        for place in range(config["num_hidden_layers"]):
            size = config["d_model"]
            layers.append(torch.nn.Linear(size, 2, device="meta"))
            if place % config["expert_layer_period"] == 1:
                layers[-1].more = torch.nn.Linear(size, 7, device="meta")
        return layers

    config = {**LAYERS, "num_hidden_layers": 6, "expert_layer_period": 2}
    found = derive(config, build)
    assert found.unproven == {}
    assert {found.domains[str(place)] for place in range(6)} == {
        "expert_layer_period == 2 and N == 6"
    }
    assert try_formulas(config, found, build, "tests", 40).mistakes == ()


def test_an_id_that_makes_a_table_longer_is_a_condition() -> None:
    # As the sinusoids of FSMT, a table of its own that begins after the padding.
    config = {"d_model": 48, "pad_token_id": 1, "bos_token_id": 0}
    build = rows_of(lambda width, pad: width + pad, "d_model", "pad_token_id")
    found = derive(config, build)
    assert (found.counts[""], found.domains[""]) == ("4*D + 4", "pad_token_id == 1")
    assert [symbol.name for symbol in found.symbols] == ["D", "pad_token_id"]


def test_what_is_none_may_be_some_in_another_model() -> None:
    config = {"d_model": 48, "num_registers": 0}
    build = rows_of(lambda width, more: width + more, "d_model", "num_registers")
    found = derive(config, build)
    assert (found.counts[""], found.domains[""]) == ("4*D", "num_registers == 0")


def test_a_list_that_is_as_long_as_there_are_layers_by_chance() -> None:
    # As the kernels of SeamlessM4T's vocoder beside the layers of another part.
    config = {"n_layers": 3, "kernel_sizes": [3, 7, 11]}

    def build(config: Mapping[str, Any]) -> torch.nn.Module:
        layers = [torch.nn.Linear(2, 5, device="meta") for _ in range(config["n_layers"])]
        kernels = [torch.nn.Linear(2, size, device="meta") for size in config["kernel_sizes"]]
        return torch.nn.ModuleDict(
            {"layers": torch.nn.ModuleList(layers), "kernels": torch.nn.ModuleList(kernels)}
        )

    found = derive(config, build)
    assert found.counts["kernels"] == "3*kernel_sizes_0 + 3*kernel_sizes_1 + 3*kernel_sizes_2"
    assert found.counts["layers"] == "15*N"
    assert found.domains == {}


def test_a_list_of_indices_does_not_follow_a_depth() -> None:
    # As Cohere Compass: a merger for each index, and two parts that each have a depth.
    config = {
        **{"num_hidden_layers": 3, "layer_types": ["a", "b", "a"]},
        "vision_config": {"depth": 3, "deepstack_visual_indexes": [8, 16, 24]},
    }
    text, vision = symbols_of(config)
    assert (text.name, vision.name) == ("N", "N_vision")
    *_, last = changed_configs(config, {text: 4, vision: 5})
    assert last["layer_types"] == ["a", "b", "a", "a"]
    assert last["vision_config"] == {"depth": 5, "deepstack_visual_indexes": [8, 16, 24]}


def test_lists_follow_one_depth_before_they_follow_all() -> None:
    config = {
        **{"num_hidden_layers": 3, "layer_types": ["a", "b", "a"]},
        "vision_config": {"depth": 3, "mean": [0.4, 0.5, 0.6]},
    }
    text, vision = symbols_of(config)
    found = changed_configs(config, {text: 4, vision: 5})
    lengths = [(len(one["layer_types"]), len(one["vision_config"]["mean"])) for one in found]
    assert lengths == [(3, 3), (4, 3), (3, 5), (4, 5)]


def test_what_is_known_of_a_part_limits_the_whole() -> None:
    def build(config: Mapping[str, Any]) -> torch.nn.Module:
        image = torch.nn.Linear(2, config["image_size"] // config["patch_size"], device="meta")
        return torch.nn.Sequential(image, torch.nn.Linear(config["d_model"], 5, device="meta"))

    found = derive({"image_size": 32, "patch_size": 8, "d_model": 48}, build)
    assert found.domains == dict.fromkeys(("", "0"), "image_size % patch_size == 0")


def test_a_formula_is_the_sum_of_its_parts() -> None:
    # Of two lists one has blocks in turn, which no letter multiplies; the other's depth is one.
    def build(config: Mapping[str, Any]) -> torch.nn.Module:
        turns = (3 + number % 2 for number in range(config["conv_layers"]))
        model = torch.nn.Module()
        model.convs = torch.nn.Sequential(*(torch.nn.Linear(2, n, device="meta") for n in turns))
        model.layers = torch.nn.Sequential(
            *(
                torch.nn.Linear(config["d_model"], 5, device="meta")
                for _ in range(config["n_layers"])
            )
        )
        return model

    found = derive({"d_model": 48, "n_layers": 6, "conv_layers": 5}, build)
    assert found.unproven == {}
    assert found.counts["layers"] == "N*(5*D + 5)"
    assert found.counts[""] == "51 + N*(5*D + 5)"
    assert found.domains[""] == "conv_layers == 5"
    assert "layers" not in found.domains


def test_heads_of_one_feature() -> None:
    # As ConvBERT's convolutions: half a feature is none, however many heads there are.
    config = {"hidden_size": 48, "num_attention_heads": 4, "num_key_value_heads": 4}
    build = rows_of(lambda d, a: d // a // 2 * 2 * a, "hidden_size", "num_attention_heads")
    found = derive(config, build)
    assert found.counts[""] == "4*D"
    assert root(found, D=40) == 160
    assert root(found, D=48, A=48) is None
    assert root(found, D=48, A=16) is None
    tried = try_formulas(config, found, build, "tests", 40)
    assert [str(mistake) for mistake in tried.mistakes] == []
