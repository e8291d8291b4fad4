"""What cannot be proven stays a plain number; what stops the work comes through."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch

from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.symbolic.counts import derive
from bertviewer.core.symbolic.models import Build
from bertviewer.core.util.budget import OverBudget
from bertviewer.core.util.errors import Cancelled
from tests.core.symbolic.test_counting import assert_true_of, builder, config_of


def linear(rows: Callable[[int], int]) -> Build:
    """Build a list of two layers whose rows follow from ``d_model`` in some way."""

    def build(config: Mapping[str, Any]) -> torch.nn.Module:
        size = rows(config["d_model"])
        return torch.nn.Sequential(
            torch.nn.Linear(3, size, device="meta"), torch.nn.LayerNorm(7, device="meta")
        )

    return build


@pytest.mark.parametrize(
    "rows",
    [
        lambda d: d**4,
        lambda d: 64 if d < 200 else 65,
    ],
)
def test_what_cannot_be_proven_stays_a_plain_number(rows: Callable[[int], int]) -> None:
    found = derive({"d_model": 16}, linear(rows))
    size = rows(16)
    assert found.counts == {"": str(4 * size + 14), "0": str(4 * size), "1": "14"}
    assert found.shapes["0.weight"] == (str(size), "3")


@pytest.mark.parametrize(("step", "domain"), [(4, "D % 4 == 0"), (2, "D % 2 == 0")])
def test_what_is_rounded_holds_for_multiples(step: int, domain: str) -> None:
    # Doubling and tripling look linear; only values that are no multiples show the rounding.
    found = derive({"d_model": 32}, linear(lambda d: (d + step - 1) // step * step + 1))
    assert found.counts == {"": "4*D + 18", "0": "4*D + 4", "1": "14"}
    assert found.domains == {"": domain, "0": domain}


def test_a_model_that_accepts_no_other_numbers_gets_plain_ones() -> None:
    def build(config: Mapping[str, Any]) -> torch.nn.Module:
        if config["d_model"] != 16:
            raise ValueError("16 or nothing")
        return torch.nn.Linear(16, 16, device="meta")

    found = derive({"d_model": 16}, build)
    assert found.counts == {"": "272"}
    assert found.shapes == {"weight": ("16", "16"), "bias": ("16",)}


def test_layers_that_differ_in_turn_are_never_multiplied() -> None:
    def build(config: Mapping[str, Any]) -> torch.nn.Module:
        sizes = [3 + number % 2 for number in range(config["n_layers"])]
        return torch.nn.Sequential(*(torch.nn.Linear(2, n, device="meta") for n in sizes))

    found = derive({"n_layers": 6}, build)
    assert_true_of(found, build({"n_layers": 6}))
    assert found.counts[""].isdigit()


def test_progress_is_told_and_can_stop_the_work() -> None:
    seen: list[tuple[int, int, str]] = []

    def progress(done: int, total: int, label: str) -> None:
        seen.append((done, total, label))
        if len(seen) == 5:
            raise Cancelled

    with pytest.raises(Cancelled):
        derive(config_of("bert"), builder(), progress)
    assert [done for done, _, _ in seen] == [0, 1, 2, 3, 4]
    assert {label for _, _, label in seen} == {"Deriving formulas"}
    assert all(done <= total for done, total, _ in seen)


def test_what_the_real_model_raises_comes_through() -> None:
    with pytest.raises(ValueError, match="multiple"):
        derive(config_of("bert", hidden_size=10, num_attention_heads=4), builder())


@pytest.mark.parametrize("builds", range(26, 40))
def test_what_there_was_no_time_to_limit_is_a_plain_number(builds: int) -> None:
    done = 0

    def progress(*_: object, **_more: object) -> None:
        nonlocal done
        done += 1
        if done >= builds:
            raise OverBudget

    config = {"d_model": 32, "ffn_dim": 56}
    size = 32 + 56

    def build(config: Mapping[str, Any]) -> torch.nn.Module:
        rows = (config["d_model"] + 3) // 4 * 4 + (config["ffn_dim"] + 6) // 7 * 7
        return linear(lambda _: rows)(config)

    try:
        found = derive(config, build, progress)
    except OverBudget:
        return  # nothing was found by then
    values = {symbol.name: symbol.value for symbol in found.symbols}
    assert evaluate(found.counts[""], values) == 4 * size + 14
