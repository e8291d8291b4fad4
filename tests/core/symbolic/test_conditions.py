"""Validity conditions: inside of them, formulas hold for models that no fit has seen.

The models are one or a few layers whose sizes depend on the configuration as in a real family.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from torch import nn

from bertviewer.core.expressions.polynomials import polynomial_of
from bertviewer.core.expressions.symbols import Symbol, symbols_of
from bertviewer.core.symbolic import solver
from bertviewer.core.symbolic.conditions import divisibility_conditions
from bertviewer.core.symbolic.counts import derive
from bertviewer.core.symbolic.models import Build, changed_configs
from tests.core.symbolic.derivations import assert_never_wrong, root, size_of

Config = Mapping[str, Any]


def linear(features: int, rows: int) -> nn.Module:
    return nn.Linear(features, rows, device="meta")


def one_layer(rows: Callable[[Config], int]) -> Build:
    """Build a linear layer of 3 features with bias, whose rows depend on the configuration."""
    return lambda config: linear(3, rows(config))


def several_layers(rows: Callable[[Config, int], int]) -> Build:
    """Build a list of layers whose rows depend on the configuration and the layer's index."""
    return lambda config: nn.Sequential(
        *(linear(config["d_model"], rows(config, i)) for i in range(config["num_hidden_layers"]))
    )


def refuse(condition: bool) -> None:
    """Raise the error of a model that refuses a configuration."""
    if condition:
        raise ValueError("refused")


def efficient_net(c: Config) -> int:
    refuse(bool(c["channels"] % 16))
    return int(c["channels"])


def mobile_bert(c: Config) -> int:
    refuse(bool(c["hidden_size"] % c["num_heads"]))
    return int(c["true_hidden_size"] // c["num_heads"] * c["num_heads"])


def blt(c: Config) -> int:
    refuse(c["hidden_size"] != 64)
    return int(c["hidden_size"] // c["num_attention_heads"] * c["num_attention_heads"])


def chameleon(c: Config) -> int:
    one, two, three = c["channel_multiplier"]
    refuse(two != three)
    return int(32 * (two + (one if one != two else 0)))


def cosmos(c: Config) -> int:
    refuse(2 * sum(c["rope_parameters"]["mrope_section"]) != c["head_dim"])
    return int(c["d_model"] * c["head_dim"])


@pytest.mark.parametrize(
    ("config", "rows", "count", "domain"),
    [
        # Patches that do not divide the image.
        (
            {"image_size": 224, "patch_size": 16},
            lambda c: (c["image_size"] // c["patch_size"]) ** 2,
            "4*image_size**2//patch_size**2",
            "image_size % patch_size == 0",
        ),
        # Heads that need not divide the width.
        (
            {"d_model": 48, "num_heads": 4},
            lambda c: c["d_model"] // c["num_heads"] * c["num_heads"],
            "4*D",
            "D % A == 0",
        ),
        # ConvBERT: heads of one feature have no half.
        (
            {"hidden_size": 48, "num_attention_heads": 4, "num_key_value_heads": 4},
            lambda c: (
                c["hidden_size"] // c["num_attention_heads"] // 2 * 2 * c["num_attention_heads"]
            ),
            "4*D",
            "D % (2*A) == 0",
        ),
        # A number that matters only below its value.
        (
            {"d_model": 48, "sparse_step": 3},
            lambda c: c["d_model"] * (1 if c["sparse_step"] >= 3 else 2),
            "4*D",
            "sparse_step >= 3",
        ),
        # A projection only between different widths.
        (
            {"d_model": 48, "embedding_size": 32},
            lambda c: (
                c["d_model"] + (c["embedding_size"] if c["embedding_size"] != c["d_model"] else 0)
            ),
            "4*D + 4*E",
            "E != D",
        ),
        # LFM2: a width rounded up to a multiple.
        (
            {"d_model": 48, "intermediate_size": 12_288},
            lambda c: -(-(2 * c["intermediate_size"] // 3) // 256) * 256,
            "8*I//3",
            "I % 384 == 0",
        ),
        # SAM 2: small numbers are rounded too.
        (
            {"d_model": 48, "mask_input_channels": 16},
            lambda c: c["mask_input_channels"] // 4 * 4,
            "4*mask_input_channels",
            "mask_input_channels % 4 == 0",
        ),
        # EfficientNet: only tried at multiples.
        ({"d_model": 48, "channels": 80}, efficient_net, "4*channels", "channels % 16 == 0"),
        # The configuration divides one width by the heads, the layers another one.
        (
            {"hidden_size": 48, "true_hidden_size": 32, "num_heads": 4},
            mobile_bert,
            "4*true_hidden_size",
            "true_hidden_size % A == 0",
        ),
        # No model accepts another head size.
        (
            {"d_model": 48, "head_dim": 8, "rope_parameters": {"mrope_section": [2, 1, 1]}},
            cosmos,
            "32*D",
            "K == 8",
        ),
        # FSMT: a table that begins after the padding.
        (
            {"d_model": 48, "pad_token_id": 1, "bos_token_id": 0},
            lambda c: c["d_model"] + c["pad_token_id"],
            "4*D + 4",
            "pad_token_id == 1",
        ),
        # BLT: heads divide a width that no model changes.
        (
            {"hidden_size": 64, "num_attention_heads": 16, "layer_count": 2},
            blt,
            "256",
            "D % A == 0 and D == 64",
        ),
        # Chameleon: a shortcut between blocks of different widths, which change together.
        (
            {"d_model": 48, "channel_multiplier": [1, 2, 2]},
            chameleon,
            "128*channel_multiplier_1 + 128",
            "channel_multiplier_2 == channel_multiplier_1 and channel_multiplier_0 == 1 and "
            "channel_multiplier_1 != channel_multiplier_0",
        ),
        # None here, but some in another model.
        (
            {"d_model": 48, "num_registers": 0},
            lambda c: c["d_model"] + c["num_registers"],
            "4*D",
            "num_registers == 0",
        ),
        # SAM 3: no formula, as a power of two is no multiple.
        (
            {"d_model": 48, "total_stride": 16},
            lambda c: 4 ** (c["total_stride"].bit_length() - 1),
            "1024",
            None,
        ),
    ],
)
def test_the_condition_of_one_layer(
    config: Config, rows: Callable[[Config], int], count: str, domain: str | None
) -> None:
    build = one_layer(rows)
    found = derive(config, build)
    assert (found.counts[""], found.domains.get("")) == (count, domain)
    assert ("" in found.unproven) == (domain is None)
    if domain is not None:
        assert_never_wrong(config, found, build, 40)


@pytest.mark.parametrize(
    ("config", "rows"),
    [
        # An index in a list; the number of layers of another kind; a period.
        ({"global_attn_indexes": [2]}, lambda c, i: 7 + 2 * (i in c["global_attn_indexes"])),
        ({"num_dense_layers": 1}, lambda c, i: 7 if i < c["num_dense_layers"] else 5),
        ({"cross_frequency": 2}, lambda c, i: 5 if i % c["cross_frequency"] else 7),
        # A table of numbers; a number that is only called a rate.
        ({"compress_rates": {"heavy": 128}}, lambda c, i: c["compress_rates"]["heavy"]),
        ({"downsampling_rate": 4}, lambda c, i: 3 * c["downsampling_rate"]),
        # Halved twice; halved without a number of the configuration.
        ({"mel_bins": 128, "stride": 2}, lambda c, i: c["mel_bins"] // c["stride"] // c["stride"]),
        ({}, lambda c, i: c["d_model"] // 2 + c["d_model"] // 2),
    ],
)
def test_formulas_of_several_layers_are_never_wrong(
    config: Config, rows: Callable[[Config, int], int]
) -> None:
    whole, build = {"d_model": 48, "num_hidden_layers": 3, **config}, several_layers(rows)
    assert_never_wrong(whole, derive(whole, build), build, 60)


def picky(config: Config) -> nn.Module:
    """Refuse nearly every other value of most numbers, as LW-DETR does."""
    refuse(bool(config["d_model"] % config["decoder_heads"]))
    refuse(any(config[f"size_{number}"] % 64 for number in range(12)))
    width, heads = config["d_model"], config["num_heads"]
    return linear(3, width // heads * heads)


@pytest.mark.parametrize("builds", [None, 4])
def test_heads_next_to_numbers_that_models_refuse(
    builds: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if builds is not None:  # divisions that cannot be tried have to be exact
        monkeypatch.setattr(solver, "_MAX_BUILDS", builds)
        monkeypatch.setattr(solver, "_MIN_BUILDS", builds)
    sizes = {f"size_{number}": 64 for number in range(12)}
    found = derive({"d_model": 48, "num_heads": 4, "decoder_heads": 4, **sizes}, picky)
    assert root(found, D=48, A=5) is None
    if builds is None:
        assert found.counts[""] == "4*D"
        assert root(found, D=60, A=5, decoder_heads=4) == 240


def test_a_period_of_layers_fixes_the_depth() -> None:
    # Jamba's experts: no larger period was tried, and one may be in any layer.
    def build(config: Config) -> nn.Module:
        layers = nn.ModuleList()
        for place in range(config["num_hidden_layers"]):
            layers.append(linear(config["d_model"], 2))
            if place % config["expert_layer_period"] == 1:
                layers[-1].more = linear(config["d_model"], 7)
        return layers

    config = {"d_model": 48, "num_hidden_layers": 6, "expert_layer_period": 2}
    found = derive(config, build)
    assert found.unproven == {}
    domain = "expert_layer_period == 2 and N == 6"
    assert {found.domains[str(place)] for place in range(6)} == {domain}
    assert_never_wrong(config, found, build, 40)


def test_a_list_as_long_as_the_layers_by_chance() -> None:
    # The kernels of SeamlessM4T's vocoder, next to the layers of another part.
    def build(config: Config) -> nn.Module:
        layers = nn.Sequential(*(linear(2, 5) for _ in range(config["n_layers"])))
        kernels = nn.Sequential(*(linear(2, size) for size in config["kernel_sizes"]))
        return nn.ModuleDict({"layers": layers, "kernels": kernels})

    found = derive({"n_layers": 3, "kernel_sizes": [3, 7, 11]}, build)
    assert found.counts["kernels"] == "3*kernel_sizes_0 + 3*kernel_sizes_1 + 3*kernel_sizes_2"
    assert found.counts["layers"] == "15*N"
    assert found.domains == {}

    def rows(config: Config, _place: int) -> int:
        first, second, third = map(int, config["kernel_size"])  # as many at any depth
        return 2 * first + second + third

    config = {"d_model": 48, "num_hidden_layers": 3, "kernel_size": [3, 4, 5]}
    found = derive(config, several_layers(rows))
    deeper = {**config, "num_hidden_layers": 7}
    assert root(found, N=7) == size_of(several_layers(rows)(deeper))
    assert root(found, N=2, kernel_size_1=9) == 2 * (48 + 1) * (6 + 9 + 5)


@pytest.mark.parametrize(
    ("vision", "expected"),
    [
        # Cohere Compass: a merger for each index does not follow a depth.
        (
            {"deepstack_visual_indexes": [8, 16, 24]},
            [(4, {"depth": 5, "deepstack_visual_indexes": [8, 16, 24]})],
        ),
        # Lists follow one depth before they follow all.
        (
            {"mean": [0.4, 0.5, 0.6]},
            [
                (3, {"depth": 5, "mean": [0.4, 0.5, 0.6]}),
                (4, {"depth": 5, "mean": [0.4, 0.5, 0.6]}),
                (3, {"depth": 5, "mean": [0.4, 0.5, 0.6, 0.4, 0.5]}),
                (4, {"depth": 5, "mean": [0.4, 0.5, 0.6, 0.4, 0.5]}),
            ],
        ),
    ],
)
def test_lists_that_follow_a_depth(
    vision: dict[str, Any], expected: list[tuple[int, dict[str, Any]]]
) -> None:
    config = {
        **{"num_hidden_layers": 3, "layer_types": ["a", "b", "a"]},
        "vision_config": {"depth": 3, **vision},
    }
    text, image = symbols_of(config)
    assert (text.name, image.name) == ("N", "N_vision")
    found = [
        (len(one["layer_types"]), one["vision_config"])
        for one in changed_configs(config, {text: 4, image: 5})
    ]
    assert found[-len(expected) :] == expected


def test_conditions_of_a_part_are_those_of_the_whole() -> None:
    def build(config: Config) -> nn.Module:
        image = linear(2, config["image_size"] // config["patch_size"])
        return nn.Sequential(image, linear(config["d_model"], 5))

    found = derive({"image_size": 32, "patch_size": 8, "d_model": 48}, build)
    assert found.domains == dict.fromkeys(("", "0"), "image_size % patch_size == 0")


def test_a_formula_is_the_sum_of_its_parts() -> None:
    # Of two lists, one has alternating blocks, which no symbol multiplies.
    def build(config: Config) -> nn.Module:
        model = nn.Module()
        model.convs = nn.Sequential(*(linear(2, 3 + i % 2) for i in range(config["conv_layers"])))
        layers = (linear(config["d_model"], 5) for _ in range(config["n_layers"]))
        model.layers = nn.Sequential(*layers)
        return model

    found = derive({"d_model": 48, "n_layers": 6, "conv_layers": 5}, build)
    assert found.unproven == {}
    assert found.counts["layers"] == "N*(5*D + 5)"
    assert found.counts[""] == "51 + N*(5*D + 5)"
    assert found.domains[""] == "conv_layers == 5"
    assert "layers" not in found.domains


def test_groups_of_a_rounded_width() -> None:
    def build(config: Config) -> nn.Module:
        width = config["groups_width"]
        return nn.Sequential(
            *(
                nn.Conv1d(size, size, 3, groups=max(1, size // width), device="meta")
                for size in config["hidden_sizes"]
            )
        )

    config = {"hidden_sizes": [128, 192], "groups_width": 16, "num_channels": 3}
    found = derive(config, build)
    assert found.counts["0"] == "3*groups_width*hidden_sizes_0 + hidden_sizes_0"
    assert found.domains["0"] == "hidden_sizes_0 % groups_width == 0"
    assert_never_wrong(config, found, build, 60)


@pytest.mark.parametrize(
    ("first", "second", "count", "domain"),
    [(3, 3, "2*N_e*(5*D + 5)", "N_d == N_e"), (3, 6, "9*(5*D + 5)", "N_e == 3 and N_d == 6")],
)
def test_depths_that_only_change_together(first: int, second: int, count: str, domain: str) -> None:
    def build(config: Config) -> nn.Module:
        refuse(config["encoder_layers"] * second != config["decoder_layers"] * first)
        depth = config["encoder_layers"] + config["decoder_layers"]
        return nn.Sequential(*(linear(config["d_model"], 5) for _ in range(depth)))

    config = {"d_model": 48, "encoder_layers": first, "decoder_layers": second}
    found = derive(config, build)
    assert (found.counts[""], found.domains[""]) == (count, domain)
    assert root(found) == size_of(build(config))


def test_a_division_is_conditional_on_numbers_of_the_configuration() -> None:
    values = {"B": 2, "A": 4, "head_ratio": 2}
    symbols = {x: Symbol(x, "" if x == "B" else x, value, "") for x, value in values.items()}
    found = divisibility_conditions([polynomial_of("B*A//head_ratio")], values, symbols)
    assert found == ["A % head_ratio == 0"]
