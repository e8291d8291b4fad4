"""Derived formulas evaluated on other numbers, and compared with models."""

from collections.abc import Mapping
from typing import Any

from torch import nn

from bertviewer.core.expressions.evaluation import all_met, evaluate
from bertviewer.core.symbolic.counts import Derivation
from bertviewer.core.symbolic.models import Build
from tests.tools.fresh import try_formulas


def values_of(found: Derivation, **changed: int) -> dict[str, int]:
    return {**{symbol.name: symbol.value for symbol in found.symbols}, **changed}


def root(found: Derivation, **changed: int) -> int | None:
    """Return the value of the whole model's formula, ``None`` outside of its domain."""
    values = values_of(found, **changed)
    if not all_met(found.domains.get(""), values):
        return None
    return evaluate(found.counts[""], values)


def size_of(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def assert_never_wrong(
    config: Mapping[str, Any], found: Derivation, build: Build, configurations: int = 10
) -> None:
    """Evaluate all formulas on new configurations, within their domains."""
    tried = try_formulas(config, found, build, "tests", configurations)
    assert tried.evaluations > 0
    assert [str(mistake) for mistake in tried.mistakes] == []
