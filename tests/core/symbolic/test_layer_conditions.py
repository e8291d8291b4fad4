"""Domains of formulas where layers differ by their place, or are told in lists."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch

from bertviewer.core.symbolic.counts import derive
from tests.core.symbolic.small_builds import (
    LAYERS,
    layers_of,
    root,
    size_of,
)
from tests.tools.fresh import try_formulas


@pytest.mark.parametrize(
    ("config", "size"),
    [
        # A place in a list; how many layers are of another kind; how often one is.
        ({"global_attn_indexes": [2]}, lambda c, i: 7 + 2 * (i in c["global_attn_indexes"])),
        ({"num_dense_layers": 1}, lambda c, i: 7 if i < c["num_dense_layers"] else 5),
        ({"cross_frequency": 2}, lambda c, i: 5 if i % c["cross_frequency"] else 7),
        # A table of numbers; what is called a rate and is none.
        ({"compress_rates": {"heavy": 128}}, lambda c, i: c["compress_rates"]["heavy"]),
        ({"downsampling_rate": 4}, lambda c, i: 3 * c["downsampling_rate"]),
        # Halved by one layer after another; halved where the model says nothing of it.
        ({"mel_bins": 128, "stride": 2}, lambda c, i: c["mel_bins"] // c["stride"] // c["stride"]),
        ({}, lambda c, i: c["d_model"] // 2 + c["d_model"] // 2),
    ],
)
def test_numbers_that_steer_are_in_the_domain(
    config: Mapping[str, Any], size: Callable[[Mapping[str, Any], int], int]
) -> None:
    whole, build = {**LAYERS, **config}, layers_of(size)
    tried = try_formulas(whole, derive(whole, build), build, "tests", 60)
    assert tried.evaluations > 20
    assert [str(mistake) for mistake in tried.mistakes] == []


def test_a_list_may_be_as_long_as_there_are_layers_by_chance() -> None:
    config = {**LAYERS, "kernel_size": [3, 4, 5]}

    def rows(config: Mapping[str, Any], place: int) -> int:
        first, second, third = map(int, config["kernel_size"])  # as many at any depth
        return 2 * first + second + third

    build = layers_of(rows)
    found = derive(config, build)
    assert root(found, N=7) == size_of(build, {**config, "num_hidden_layers": 7})
    assert root(found, N=2, kernel_size_1=9) == 2 * (48 + 1) * (6 + 9 + 5)


def test_parts_of_a_width_that_are_rounded() -> None:
    config = {"hidden_sizes": [128, 192], "groups_width": 16, "num_channels": 3}

    def build(config: Mapping[str, Any]) -> torch.nn.Module:
        width = config["groups_width"]
        stages = [
            torch.nn.Conv1d(size, size, 3, groups=max(1, size // width), device="meta")
            for size in config["hidden_sizes"]
        ]
        return torch.nn.Sequential(*stages)

    found = derive(config, build)
    assert found.counts["0"] == "3*groups_width*hidden_sizes_0 + hidden_sizes_0"
    assert found.domains["0"] == "hidden_sizes_0 % groups_width == 0"
    assert root(found, hidden_sizes_1=320) == size_of(build, {**config, "hidden_sizes": [128, 320]})
    assert root(found, hidden_sizes_0=136) is None
    tried = try_formulas(config, found, build, "tests", 60)
    assert [str(mistake) for mistake in tried.mistakes] == []


@pytest.mark.parametrize(
    ("first", "second", "count", "domain"),
    [(3, 3, "2*N_e*(5*D + 5)", "N_d == N_e"), (3, 6, "9*(5*D + 5)", "N_e == 3 and N_d == 6")],
)
def test_depths_that_no_model_takes_another_value_of_alone(
    first: int, second: int, count: str, domain: str
) -> None:
    config = {"d_model": 48, "encoder_layers": first, "decoder_layers": second}

    def build(config: Mapping[str, Any]) -> torch.nn.Module:
        if config["encoder_layers"] * second != config["decoder_layers"] * first:
            raise ValueError
        depth = config["encoder_layers"] + config["decoder_layers"]
        layers = (torch.nn.Linear(config["d_model"], 5, device="meta") for _ in range(depth))
        return torch.nn.Sequential(*layers)

    found = derive(config, build)
    assert (found.counts[""], found.domains[""]) == (count, domain)
    assert root(found) == size_of(build, config)
