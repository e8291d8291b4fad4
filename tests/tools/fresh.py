"""Formulas that are called proven, tried on configurations that core has never seen.

The generator is its own: it walks the raw configuration, draws from a seed, and changes numbers by
ones, by uneven ratios, to the value of another key, alone, a few together or many. Formulas and
domains are evaluated by plain Python, as another program would evaluate what ``summary`` prints.
"""

import random
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from bertviewer.core.building.backend import torch
from bertviewer.core.expressions.evaluation import names_in_conditions
from bertviewer.core.expressions.symbols import Symbol, other_symbols_of, symbols_of
from bertviewer.core.schema.costs import Costs
from bertviewer.core.symbolic.counts import Derivation
from bertviewer.core.symbolic.forward_pass import read_forward
from bertviewer.core.symbolic.models import Build
from bertviewer.core.util import budget
from bertviewer.core.util.progress import no_progress
from tests.tools.fresh_configurations import configurations

CONFIGURATIONS = 10
_LONGEST = 700


class Mistake(Struct, frozen=True):
    """A formula that gave another number than the model has."""

    path: str
    formula: str
    domain: str | None
    changed: Mapping[str, tuple[int, int]]
    given: int
    true: int

    def __str__(self) -> str:
        """Write it in one line."""
        changed = ", ".join(f"{key} {old} -> {new}" for key, (old, new) in self.changed.items())
        where = f" if {self.domain}" if self.domain else ""
        return (
            f"{self.path or '(the model)'}: {self.formula[:160]}{where} gives {self.given}, "
            f"the model has {self.true} with {changed}"
        )


class Trials(Struct, frozen=True):
    """What became of one type's formulas.

    Attributes:
        configurations: how many fresh ones were built.
        evaluations: how many proven formulas were evaluated on them, inside of their domains.
        outside: how many were not, as the configuration is outside of their domain.
        mistakes: those that were wrong.
    """

    configurations: int
    evaluations: int
    outside: int
    mistakes: tuple[Mistake, ...]


def try_formulas(
    config: Mapping[str, Any], found: Derivation, build: Build, seed: str, wanted: int
) -> Trials:
    """Evaluate all proven formulas on so many fresh configurations."""
    evaluations = outside = built = 0
    mistakes: list[Mistake] = []
    proven = {path: text for path, text in found.counts.items() if path not in found.unproven}
    domains: Mapping[str, str] = found.domains
    codes: dict[str, Any] = {
        text: compile(text, "formula", "eval") for text in {*proven.values(), *domains.values()}
    }
    for variants, changed in configurations(config, random.Random(seed)):
        if built == wanted:
            break
        if (made := _built(variants, build)) is None:
            continue
        fresh, model = made
        values = _values(fresh, found.symbols)
        built += 1
        wrong = 0
        known: dict[str, int] = {}

        def value(
            text: str, values: Mapping[str, int] = values, known: dict[str, int] = known
        ) -> int:
            if text not in known:
                known[text] = eval(codes[text], {"__builtins__": {}}, dict(values))
            return known[text]

        for path, true in parameter_counts(model).items():
            if path not in proven:
                continue
            domain = domains.get(path)
            try:
                if domain is not None and not value(domain):
                    outside += 1
                    continue
                given = value(proven[path])
            except NameError:
                # A list that was of equal numbers and is not any more has no single value.
                outside += 1
                continue
            evaluations += 1
            if given != true:
                wrong += 1
                mistakes.append(Mistake(path, proven[path], domain, changed, given, true))
    return Trials(built, evaluations, outside, tuple(mistakes))


def try_costs(
    config: Mapping[str, Any], costs: Costs, build: Build, seed: str, wanted: int
) -> Trials:
    """Evaluate all formulas of multiply-adds on so many fresh configurations and sentences.

    What is right is counted while the model runs; that this is what torch's own counter says is
    shown in ``tests/core/symbolic``.
    """
    draw = random.Random(f"{seed} costs")
    formulas = {path: module.macs for path, module in costs.modules.items() if module.macs}
    codes = {text: compile(text, "formula", "eval") for text in formulas.values()}
    domain = compile(costs.domain or "True", "domain", "eval")
    symbols = symbols_of(config)
    real = _values(config, symbols)
    limited = names_in_conditions(costs.domain)
    others = [symbol for symbol in other_symbols_of(config) if symbol.name in limited]
    evaluations = outside = built = 0
    mistakes: list[Mistake] = []
    for variants, changed in configurations(config, draw):
        if built == wanted:
            break
        if (made := _built(variants, build)) is None:
            continue
        fresh, model = made
        values = _values(fresh, (*symbols, *others))
        is_known = all(
            values.get(letter, 0) * real[variable] == value * values.get(variable, 0)
            if (variable := costs.variables.get(letter)) in real
            else values.get(letter) == value
            for letter, value in real.items()
        )
        # A list of another length has no such entry.
        is_known = is_known and limited <= values.keys()
        if not is_known or not eval(domain, {"__builtins__": {}}, dict(values)):
            outside += len(formulas)
            continue
        longest = min(values.get("L", _LONGEST), _LONGEST)
        tokens = max(1, draw.choice((1, 7, longest // 2, longest * 3 // 4, longest - 5)))
        values |= {"B": draw.randint(1, 3), "S": tokens, "S_d": draw.choice((1, 5, tokens))}
        try:
            # LongT5's masks grow with the square of a configuration value.
            with budget.limited(no_progress):
                seen = read_forward(model, values)
        except Exception:  # noqa: BLE001 - models refuse a configuration with any kind of error
            continue
        built += 1
        for path, text in formulas.items():
            if path not in seen.sizes:
                continue
            evaluations += 1
            given, true = eval(codes[text], {"__builtins__": {}}, dict(values)), seen.sizes[path]
            if given != true:
                mistakes.append(Mistake(path, text, costs.domain, changed, given, true))
    return Trials(built, evaluations, outside, tuple(mistakes))


def _built(
    variants: Iterable[dict[str, Any]], build: Build
) -> tuple[dict[str, Any], torch.nn.Module] | None:
    """Return the first configuration that a model takes, and the model."""
    for config in variants:
        try:
            return config, build(config)
        except Exception:  # noqa: BLE001 - models refuse one with any kind of error
            continue
    return None


def _values(config: Mapping[str, Any], symbols: Iterable[Symbol]) -> dict[str, int]:
    values = {}
    for symbol in symbols:
        at: Any = config
        for part in symbol.key.split("."):
            if isinstance(at, Mapping):
                at = at.get(part)
            elif isinstance(at, list) and part.isdigit() and int(part) < len(at):
                at = at[int(part)]
            else:
                at = None
        if symbol.key == "num_labels" and at is None:
            at = len(config.get("id2label") or ())
        if isinstance(at, list) and len(set(map(str, at))) == 1:
            at = at[0]
        if isinstance(at, int) and not isinstance(at, bool):
            values[symbol.name] = at
    return values


def parameter_counts(model: torch.nn.Module) -> dict[str, int]:
    """Return the number of every module's parameters, a tied one at its first name."""
    counts = {path: 0 for path, _ in model.named_modules()}
    for name, parameter in model.named_parameters():
        size = 1
        for length in parameter.shape:
            size *= length
        path = name
        while path:
            path = path.rpartition(".")[0]
            counts[path] += size
    return counts
