"""Finds the conditions under which formulas hold, guided by counterexamples.

Models with many numbers changed are built, and each formula is compared with each of them. If one
is wrong, the change is reduced to a minimal counterexample, and its numbers are tried at further
values. Of the conditions that the minimal change breaks (a division is exact, two numbers are equal
or different, a number keeps its value) the formula gets the one that excludes the fewest models for
which it is right. This is repeated until no formula is wrong for a model that meets its conditions.
A formula without a suitable condition is dropped.
"""

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from math import gcd, lcm

from bertviewer.core.expressions.evaluation import evaluate, names_in, names_in_conditions
from bertviewer.core.expressions.polynomials import Polynomial
from bertviewer.core.schema.count_steps import readable
from bertviewer.core.symbolic.conditions import (
    ConditionCandidates,
    Conditions,
    divisibility_conditions,
    ratio,
)
from bertviewer.core.symbolic.models import (
    TENSOR,
    Change,
    ModelBuilder,
    ModelSizes,
    Values,
    enclosing_modules,
    refused_items,
    without_numbers,
)
from bertviewer.core.symbolic.observations import Observations
from bertviewer.core.symbolic.perturbations import (
    PROOFS,
    Perturbations,
    Probe,
    ProbePool,
    joined,
)
from bertviewer.core.util.budget import OverBudget

Formulas = Mapping[str, tuple[str, ...]]
"""Expressions by name: those of a tensor's dimensions, or that of a module's count."""

_MAX_BUILDS, _MIN_BUILDS, _MODULES = 200, 120, 40_000
"""Limits of models to build, for small and for large models, and of modules in all of them."""

_RANDOM = 8
"""Number of models with random values that meet the conditions found so far."""


class Solver:
    """Searches for the conditions under which formulas hold, and drops those without.

    Attributes:
        formulas: by name; those without a suitable condition are removed.
        conditions: by name; a module's include those of everything below it.
        reasons: why formulas were removed, by name.
        unfitted_depths: the depths with other values for which formulas were wrong.
    """

    def __init__(
        self,
        builder: ModelBuilder,
        observed: Observations,
        formulas: Formulas,
        sizes: Mapping[str, Iterable[Polynomial]],
        *,
        lengths: Mapping[str, int],
        unconditional: Collection[str] = (),
    ) -> None:
        """Require exact divisions and observed proportions.

        Args:
            builder: builds the models.
            observed: the models that formulas were fitted to.
            formulas: by name.
            sizes: the fitted polynomials, by names of the same modules.
            lengths: the numbers of blocks in the observed model; see ``template_path``.
            unconditional: symbols of the inputs of a forward pass: formulas must hold for any value
                of them, and all divisions must be exact for the pass to run.
        """
        self.formulas = dict(formulas)
        self.conditions: dict[str, dict[str, None]] = {}
        self.reasons: dict[str, str] = {}
        self.unfitted_depths: set[str] = set()
        self._observed = observed
        self._unconditional = frozenset(unconditional)
        self._counterexamples: list[Probe] = []
        self._refused: set[str] = set()
        self._untried: set[str] = set()
        modules = sum(not name.startswith(TENSOR) for name in formulas)
        most_builds = max(_MIN_BUILDS, min(_MAX_BUILDS, _MODULES // max(modules, 1)))
        self._probes = ProbePool(builder, observed, lengths, most_builds)
        symbols = {symbol.name: symbol for symbol in builder.symbols}
        divisible = {
            name: divisibility_conditions(some, builder.values, symbols)
            for name, some in sizes.items()
        }
        if unconditional:
            every = dict.fromkeys(text for texts in divisible.values() for text in texts)
            divisible = {name: [*every] for name in formulas}
        divisions = (text for texts in divisible.values() for text in texts)
        self._perturbations = Perturbations.of(observed, builder.symbols, divisions)
        self._candidates = ConditionCandidates(observed, symbols, self._perturbations)
        proportional = {
            x.name: [ratio(x.name, y.name, observed.values) for y in x.symbols[1:]]
            for x in observed.variables
        }
        self._initial = {name: list(divisible.get(name, ())) for name in (*divisible, *formulas)}
        for name, formula in formulas.items():
            for symbol in sorted(_names(formula)):
                self._initial[name] += proportional.get(symbol, ())
        self._reset()

    def refute(self, probes: Iterable[tuple[ModelSizes, Values]]) -> None:
        """Remove formulas that are wrong for a model, or describe nothing in it."""
        for model, values in probes:
            base = self._observed.values
            probe = self._probes.read({x: v for x, v in values.items() if v != base[x]}, model)
            for name, formula in list(self.formulas.items()):
                facts, result = probe.facts.get(name, frozenset()), probe.result(formula)
                if result is None or facts != {result}:
                    if facts:
                        self.reasons[name] = self._reason(name, probe)
                    del self.formulas[name]

    def search(self) -> None:
        """Compare formulas with models until none is wrong under its conditions.

        At a limit of time or memory the result so far is kept, if all kinds of changes were tried.
        At the limit of builds, refused changes are not split, and divisions in them must be exact.
        """
        for change in self._observed.mismatches:
            self._compare(change)
        for parts in self._perturbations.structured():
            self._compare_parts(parts)
        for change, _ in islice(self._perturbations.fresh(self._probes.variant), PROOFS):
            self._compare(change)
        with suppress(OverBudget):
            for seed in range(_RANDOM):
                known = {text for texts in self.conditions.values() for text in texts}
                self._compare_parts(self._perturbations.random(random.Random(seed), sorted(known)))
            self._minimize()
        self._require_tried_multiples()
        self._require_untried_divisions()
        for probe in self._probes:
            for name in self._wrong(probe):
                if name in self.formulas:  # not dropped with a part of it
                    self._drop(name, probe)  # at a limit before a condition was found

    def verified(self) -> Formulas:
        """Return the formulas that hold for enough models.

        A formula must hold for ``PROOFS`` models that change one of its symbols, and each symbol
        that need not keep its value must be changed in one of them. If models refuse that all
        numbers are changed, as many as possible are.
        """
        proven = self._proven()
        for change, _ in self._perturbations.partly_fresh(self._probes.at):
            if len(proven) == len(self.formulas):
                break
            self._compare(change)
            proven = self._proven()
        return proven

    def _proven(self) -> Formulas:
        probes = [probe for probe in self._probes if probe.changed and not probe.is_fitted]
        proven: dict[str, tuple[str, ...]] = {}
        for name, formula in self.formulas.items():
            names = _names(formula)
            right = [names & x.changed.keys() for x in probes if self._is_right(name, x)]
            support = [moved for moved in right if moved or not names]
            known = self.conditions.get(name, ())
            fixed = {x for x in names if f"{x} == {self._observed.values[x]}" in known}
            if len(support) >= PROOFS and names == fixed.union(*support):
                proven[name] = formula
        return proven

    def _is_right(self, name: str, probe: Probe) -> bool | None:
        """Return whether a formula is right for a model; ``None`` if it does not apply."""
        facts = probe.facts.get(name)
        if not facts or name not in self.formulas or not probe.meets(self.conditions.get(name, ())):
            return None
        result = probe.result(self.formulas[name])
        return None if result is None else facts == {result}

    def _wrong(self, probe: Probe) -> list[str]:
        return [name for name in probe.facts if self._is_right(name, probe) is False]

    def _compare_parts(self, parts: Iterable[Change]) -> None:
        """Compare formulas with a model that has all parts of a change, or those it accepts.

        Models that refused another value of a number probably refuse this one. So these parts are
        tried alone first.
        """
        alone: list[Change] = []
        together: list[Change] = []
        for part in filter(None, parts):
            (together if self._refused.isdisjoint(part) else alone).append(part)
        together += filter(self._compare, alone)

        def is_done(some: Sequence[Change]) -> bool:
            if self._compare(joined(some)):
                return True
            if not self._probes.has_room:
                self._untried |= joined(some).keys()
            return not self._probes.has_room

        for part in refused_items(together, is_done):
            self._refused |= part.keys()

    def _compare(self, change: Change) -> bool:
        """Add conditions until no formula is wrong for a model; return whether it exists."""
        probe = self._probes.at(change)
        if probe is None:
            return False
        while wrong := self._wrong(probe):
            least = self._minimal(probe, wrong[0])
            self._counterexamples.append(least)
            self._try_further_values(least.changed, least.changed)
            self._restrict(least)
        return True

    def _try_further_values(self, names: Iterable[str], change: Change) -> None:
        for name in names:
            for value in self._candidates.multiples_near(name):
                self._probes.at_within_limit({**change, name: value})

    def _minimal(self, probe: Probe, name: str) -> Probe:
        """Return the minimal part of a change for which some formula is wrong."""

        def wrong(change: Change) -> Probe | None:
            tried = self._probes.at_within_limit(change)
            return tried if tried is not None and self._wrong(tried) else None

        used = _names(self.formulas[name])
        own = {x: value for x, value in probe.changed.items() if x in used}
        if len(own) < len(probe.changed):
            probe = wrong(own) or probe
        size = len(probe.changed)
        while size > 1:
            size = (size + 1) // 2
            names = list(probe.changed)
            for start in range(0, len(names), size):
                without = names[start : start + size]
                left = {x: value for x, value in probe.changed.items() if x not in without}
                probe = wrong(left) or probe
            size = min(size, len(probe.changed))
        return probe

    def _restrict(self, probe: Probe) -> None:
        """Add a condition to each formula that is wrong for a model, or drop the formula."""
        chosen: dict[object, Conditions | None] = {}
        # Parts come first, as their conditions are also those of the whole.
        for name in sorted(self._wrong(probe), key=_depth, reverse=True):
            if self._is_right(name, probe) is not False:
                continue
            names = _names(self.formulas[name])
            verdicts = tuple(self._is_right(name, other) for other in self._probes)
            key = names, verdicts
            if key not in chosen:
                chosen[key] = self._condition(probe, names, verdicts)
            if (conditions := chosen[key]) is None:
                self._drop(name, probe)
                continue
            self._require(name, conditions)
            self._try_further_values(
                sorted(names_in_conditions(conditions[-1]) - probe.changed.keys()), {}
            )
            symbol, _, fixed = conditions[-1].partition(" == ")
            if fixed.isdigit() and symbol in probe.changed and symbol not in names:
                # A number that selects blocks may select any of them in other models.
                pattern = without_numbers(name)
                for other in self.formulas:
                    if without_numbers(other) == pattern:
                        self._require(other, conditions)

    def _condition(
        self, probe: Probe, names: Collection[str], verdicts: Iterable[bool | None]
    ) -> Conditions | None:
        """Return the condition that excludes the fewest models with a right formula.

        Of equal ones, the one that excludes most models with a wrong formula and changes that are
        not larger: others may be wrong for other reasons.
        """
        tried = list(zip(self._probes, verdicts, strict=True))
        right = [other for other, verdict in tried if verdict]
        wrong = [other for other, verdict in tried if verdict is False]
        wrong = [other for other in wrong if len(other.changed) <= len(probe.changed)]

        def cost(conditions: Conditions) -> tuple[int, int]:
            lost = sum(not other.meets(conditions) for other in right)
            return lost, sum(other.meets(conditions) for other in wrong)

        def is_allowed(conditions: Conditions) -> bool:
            if not all(
                self._unconditional.isdisjoint(names_in_conditions(text)) for text in conditions
            ):
                return False
            # A minimum must exclude all values for which the formula is wrong.
            same = [other for other in wrong if other.changed.keys() == probe.changed.keys()]
            return ">=" not in conditions[-1] or not any(x.meets(conditions) for x in same)

        broken = self._candidates.broken_by(probe, names)
        return min(filter(is_allowed, broken), key=cost, default=None)

    def _minimize(self) -> None:
        """Choose all conditions again, as later ones may make early ones superfluous."""
        self._reset()
        for probe in sorted(self._counterexamples, key=lambda probe: len(probe.changed)):
            self._restrict(probe)
        for _ in range(2):
            for probe in self._probes:
                self._compare(probe.changed)

    def _require_tried_multiples(self) -> None:
        """Require a size to be a multiple of a number, as in all models that prove a formula.

        Models may round sizes to multiples, and large models are tried with few changes.
        """
        for variable in self._observed.variables:
            symbol = variable.name
            is_size = variable.kind in ("width", "size") and len(variable.symbols) == 1
            if not is_size or symbol in self._unconditional or self._candidates.is_depth(symbol):
                continue
            if not any(self._multiples(symbol).values()):
                continue
            self._compare({symbol: self._observed.values[symbol] + 1})
            for name, multiple in self._multiples(symbol).items():
                if multiple:
                    self._require(name, (f"{symbol} % {multiple} == 0",))

    def _multiples(self, symbol: str) -> dict[str, int]:
        """Return the number of which a size was always a multiple, by formula with the size.

        It is 0 where nothing has to be required: sizes had no common factor, or conditions that are
        known already imply it.
        """
        known: dict[object, int] = {}
        found: dict[str, int] = {}
        for name, formula in self.formulas.items():
            if symbol not in _names(formula):
                continue
            conditions = tuple(self.conditions.get(name, ()))
            key = formula, conditions
            if key not in known:
                right = [probe for probe in self._probes if self._is_right(name, probe)]
                tried = gcd(*(probe.values[symbol] for probe in right))
                known[key] = 0 if self._implies(conditions, symbol, tried) else tried
            found[name] = known[key]
        return found

    def _implies(self, conditions: Iterable[str], symbol: str, multiple: int) -> bool:
        """Return whether conditions make a symbol a multiple of a number, or fix its value."""
        values, implied = self._observed.values, self._perturbations.step(symbol)
        for text in conditions:
            whole, _, part = text.removesuffix(" == 0").partition(" % ")
            if whole == symbol and part:
                implied = lcm(implied, evaluate(part, values))
            elif text.startswith(f"{symbol} == ") and text.rpartition(" ")[2].isdigit():
                return True
            elif symbol in names_in_conditions(text) and " == " in text and not part:
                return True  # in proportion to another
        return implied % multiple == 0

    def _require_untried_divisions(self) -> None:
        """Require known divisions to be exact if the limit of builds left no room to try others."""
        for whole, divisors in self._perturbations.divisors.items():
            exact = [f"{whole} % {x} == 0" for x in sorted(divisors & self._untried)]
            for name, formula in self.formulas.items() if exact else ():
                if whole in _names(formula):
                    self._require(name, exact)

    def _reset(self) -> None:
        self.conditions = {}
        for name, texts in self._initial.items():
            self._require(name, texts)

    def _require(self, name: str, conditions: Iterable[str]) -> None:
        """Add conditions to a formula and to those of all modules around it."""
        for path in (name, *enclosing_modules(name)):
            self.conditions.setdefault(path, {}).update(dict.fromkeys(conditions))

    def _drop(self, name: str, probe: Probe) -> None:
        """Remove a formula and those of the modules around it."""
        reason = self._reason(name, probe)
        self.unfitted_depths |= set(filter(self._candidates.is_depth, probe.changed))
        for path in (name, *enclosing_modules(name)):
            if self.formulas.pop(path, None) is not None:
                self.reasons[path] = reason

    def _reason(self, name: str, probe: Probe) -> str:
        formula = self.formulas[name]
        result, names = probe.result(formula), _names(formula)
        true = min(fact for fact in probe.facts[name] if fact != result)
        moved = [x for x in probe.changed if x in names] or list(probe.changed)
        return (
            f"{_text(map(readable, formula))} gives "
            f"{'a non-integer' if result is None else _text(f'{x:,}' for x in result)} for "
            f"{', '.join(f'{x} = {probe.values[x]}' for x in moved)} in a model that was tried, "
            f"where {_text(f'{x:,}' for x in true)} is correct"
        )


def _names(formula: Iterable[str]) -> frozenset[str]:
    return frozenset[str]().union(*map(names_in, formula))


def _depth(name: str) -> tuple[bool, int]:
    return name.startswith(TENSOR), name.count(".") + bool(name)


def _text(parts: Iterable[str]) -> str:
    first, *others = parts
    return f"[{', '.join((first, *others))}]" if others else first
