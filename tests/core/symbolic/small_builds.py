"""Models of one layer or a few whose sizes follow from their configuration in some way."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from bertviewer.core.expressions.evaluation import all_met, evaluate
from bertviewer.core.symbolic.counts import Derivation
from bertviewer.core.symbolic.models import Build
from tests.tools.fresh import try_formulas


def rows_of(rows: Callable[..., int], *keys: str) -> Build:
    """Build one layer whose number of rows follows from the configuration in some way."""

    def build(config: Mapping[str, Any]) -> torch.nn.Module:
        return torch.nn.Linear(3, rows(*(config[key] for key in keys)), device="meta")

    return build


def values_of(found: Derivation, **changed: int) -> dict[str, int]:
    return {**{symbol.name: symbol.value for symbol in found.symbols}, **changed}


def root(found: Derivation, **changed: int) -> int | None:
    """Return what the whole model's formula gives; ``None`` outside of its domain."""
    values = values_of(found, **changed)
    if not all_met(found.domains.get(""), values):
        return None
    return evaluate(found.counts[""], values)


def assert_never_wrong(config: Mapping[str, Any], found: Derivation, build: Build) -> None:
    tried = try_formulas(config, found, build, "tests", 10)
    assert tried.configurations == 10
    assert tried.evaluations > 100
    assert [str(mistake) for mistake in tried.mistakes] == []


def size_of(build: Build, config: Mapping[str, Any]) -> int:
    return sum(tensor.numel() for tensor in build(config).parameters())


def layers_of(size: Callable[[Mapping[str, Any], int], int]) -> Build:
    """Build layers whose rows follow from the configuration and their place."""

    def build(config: Mapping[str, Any]) -> torch.nn.Module:
        return torch.nn.Sequential(
            *(
                torch.nn.Linear(config["d_model"], size(config, place), device="meta")
                for place in range(config["num_hidden_layers"])
            )
        )

    return build


LAYERS = {"d_model": 48, "num_hidden_layers": 3}
